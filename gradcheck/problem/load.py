"""Problem files into problems: every fault with its place, what was expected, and the cure."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from keyword import iskeyword
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from gradcheck.documents import Document, read_yaml
from gradcheck.errors import Complaint, TextError
from gradcheck.language import (
    Program,
    Vocabulary,
    check_program,
)
from gradcheck.language.kinds import VOCABULARY
from gradcheck.opinions.opinion import Array
from gradcheck.problem.model import InputModel, ProblemModel, ProgramModel, SetModel
from gradcheck.problem.record import Input, Part, Problem, ProblemSet

PathTo = tuple[str | int, ...]

# By what pydantic calls the place (an `expression` is an entry of `ask:`), or else the fault.
CURES: Mapping[str | int, str] = {
    "id": "use letters, digits, `.`, `_` and `-`",
    "expression": "write an expression as a text, or {form: program, read: ...}",
    "literal_error": "write `form: program`, or the expression alone",
    "model_type": "write `x: 2.0`, `x: [1.0, 2.0]` or `x: {shape: [3, 2]}`",
    "too_short": "write at least one",
    "list_type": "write `[...]`, or lines that begin with `- `",
    "string_type": "put it in quotes, or write it as a block after `|`",
}
# In our words what pydantic says of a value, by its kind of fault.
DUE: Mapping[str, str] = {
    "model_type": "a number, nested lists of numbers, or a mapping was expected",
    "string_type": "a text was expected",
    "list_type": "a list was expected",
    "dict_type": "a mapping was expected",
    "too_short": "an empty list came",
    "float_parsing": "a number was expected",
    "int_from_float": "a whole number was expected",
}
# An input may be a number, a list or a mapping: of a mapping, only what is wrong in it is said.
MEMBERS = frozenset({"float_type", "list_type"})


def load(path: str | Path) -> ProblemSet:
    """The problem set in a file; raises TextError with all complaints, or OSError."""
    file = Path(path)
    return load_text(file.read_bytes(), str(file))


def load_text(text: str | bytes, file: str = "") -> ProblemSet:
    """The problem set in a text."""
    document = read_yaml(text, file)
    root = document.value
    if not isinstance(root, dict):
        raise TextError([document.complaint((), "a mapping was expected", "start with `id:`")])
    single = "problems" not in root
    model = _validated(document, single)
    base: PathTo = () if single else ("problems",)
    problems, complaints = [], list(_repeated(document, model.problems, base))
    for k, entry in enumerate(model.problems):
        at = base if single else (*base, k)
        try:
            problems.append(_Reader(document, at, entry, model.credit).problem())
        except TextError as error:
            complaints += error.complaints
    if complaints:
        raise TextError(complaints)
    kept = text.encode() if isinstance(text, str) else text
    return ProblemSet(model.title, tuple(problems), file, kept)


def _validated(document: Document, single: bool) -> SetModel:
    value: Any = document.value
    try:
        if single:
            return SetModel(problems=[ProblemModel.model_validate(value)])
        return SetModel.model_validate(value)
    except ValidationError as error:
        raise TextError(list(_complaints(document, error))) from None


def _complaints(document: Document, error: ValidationError) -> list[Complaint]:
    """The findings of pydantic in our words, each at its place; one a place."""
    found: dict[PathTo, Complaint] = {}
    for fault in error.errors():
        path = _real(document, fault["loc"])
        extra = fault["type"] == "extra_forbidden"
        name = path[-1] if path else "the file"
        if extra:
            words, cure = f"`{name}` is not a key here", "remove it, or see `gradcheck schema`"
        elif fault["type"] == "missing":
            words, cure = f"`{fault['loc'][-1]}` is missing", f"add `{fault['loc'][-1]}:`"
        elif fault["type"] in MEMBERS and isinstance(document.node(path).value, dict):
            continue
        else:
            label = f"entry {name}" if isinstance(name, int) else f"`{name}`"
            said = DUE.get(fault["type"]) or f"{fault['msg'][0].lower()}{fault['msg'][1:]}"
            words = f"{label}: {said}"
            cure = CURES.get(fault["loc"][-1], CURES.get(fault["type"], ""))
        found.setdefault(path, document.complaint(path, words, cure, key=extra))
    return list(found.values())


def _real(document: Document, location: Sequence[str | int]) -> PathTo:
    """The part of pydantic's location that is in the file: names of union members are not."""
    path: list[str | int] = []
    node = document.root
    for step in location:
        inner = node.entry(step)
        if inner is not None:
            path.append(step)
            node = inner
    return tuple(path)


def _repeated(
    document: Document, problems: Sequence[ProblemModel], base: PathTo
) -> list[Complaint]:
    seen: set[str] = set()
    found = []
    for k, problem in enumerate(problems):
        if problem.id in seen:
            path = (*base, k, "id")
            words = f"the id `{problem.id}` is used twice"
            found.append(document.complaint(path, words, "rename it"))
        seen.add(problem.id)
    return found


class _Reader:
    """Reads one validated problem; collects complaints and raises them together."""

    def __init__(
        self, document: Document, at: PathTo, model: ProblemModel, credit: Mapping[str, float]
    ) -> None:
        self.document, self.at, self.model, self.credit = document, at, model, credit
        self.complaints: list[Complaint] = []

    def problem(self) -> Problem:
        model = self.model
        inputs = {name: self._input(name, value) for name, value in model.inputs.items()}
        program = self._program(("program",), model.program, tuple(inputs))
        wrt = self._wrt(inputs)
        parts = self._parts(wrt, program, inputs)
        cotangent = self._array(("cotangent",)) if model.cotangent is not None else None
        if self.complaints or program is None:
            raise TextError(self.complaints)
        return Problem(
            model.id,
            model.title,
            model.prompt,
            inputs,
            program,
            wrt,
            parts,
            cotangent,
            model.points,
            self.credit,
            tuple(model.right),
            tuple((wrong.answer, wrong.mistake) for wrong in model.wrong),
            self.document.file,
            self.document.place(self.at)[0],
        )

    def _complain(self, path: PathTo, words: str, cure: str, *, key: bool = False) -> None:
        self.complaints.append(self.document.complaint((*self.at, *path), words, cure, key=key))

    def _input(self, name: str, value: Any) -> Input:
        if not name.isidentifier() or name.startswith("_") or iskeyword(name):
            cure = "choose another" if iskeyword(name) else "use letters and digits"
            self._complain(("inputs", name), f"`{name}` is not a name", cure, key=True)
        if not isinstance(value, InputModel):
            array = self._array(("inputs", name))
            return Input(name, array, array.shape, True)
        if (value.shape is None) == (value.value is None):
            self._complain(("inputs", name), "one of `shape` and `value` was expected", "give one")
        if value.shape is not None:
            return Input(name, None, tuple(value.shape), value.requires_grad)
        array = self._array(("inputs", name, "value"))
        return Input(name, array, array.shape, value.requires_grad)

    def _array(self, path: PathTo) -> Array:
        """Nested lists of numbers at a path, exact; ragged ones and words are complained of."""
        value: Any = self.document.node((*self.at, *path)).value
        shape = _shape(value)
        if shape is None:
            words = "numbers in nested lists of equal lengths were expected"
            self._complain(path, words, "even them out")
            return np.zeros((), dtype=object)
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            entry: Any = value
            for k in index:
                entry = entry[k]
            out[index] = exact_number(entry)
        return out

    def _program(
        self,
        path: PathTo,
        source: str,
        declared: Sequence[str],
        vocabulary: Vocabulary = VOCABULARY,
    ) -> Program | None:
        line, column = self.document.origin((*self.at, *path))
        try:
            return check_program(
                source,
                declared=declared,
                vocabulary=vocabulary,
                file=self.document.file,
                line=line,
                column=column,
            )
        except TextError as error:
            self.complaints += error.complaints
            return None

    def _wrt(self, inputs: Mapping[str, Input]) -> tuple[str, ...]:
        tracked = tuple(name for name, i in inputs.items() if i.requires_grad)
        if self.model.wrt is None:
            if not tracked and self.model.ask is None:
                self._complain(("inputs",), "no input requires grad", "let one do so", key=True)
            return tracked
        if not self.model.wrt and self.model.ask is None:
            self._complain(("wrt",), "no input is differentiated", "name one, or leave `wrt:` out")
        for k, name in enumerate(self.model.wrt):
            if name in self.model.wrt[:k]:
                self._complain(("wrt", k), f"`{name}` stands here twice", "keep one")
            elif name not in inputs:
                cure = f"one of {', '.join(inputs)}"
                self._complain(("wrt", k), f"`{name}` is not an input", cure)
            elif not inputs[name].requires_grad:
                self._complain(("wrt", k), f"`{name}` does not require grad", "drop it here")
        return tuple(self.model.wrt)

    def _parts(
        self, wrt: tuple[str, ...], program: Program | None, inputs: Mapping[str, Input]
    ) -> tuple[Part, ...]:
        names = list(self.model.ask or wrt)
        for name in self.model.weights:
            if name not in names:
                cure = f"one of {', '.join(names)}"
                self._complain(("weights", name), f"`{name}` is not a part", cure, key=True)
        total = sum(self.model.weights.get(name, 1.0) for name in names) or 1.0
        share = {name: self.model.weights.get(name, 1.0) / total for name in names}
        if self.model.ask is None:
            return tuple(Part(name, share[name]) for name in names)
        known = (*inputs, *(_assigned(program) if program else ()), "recorded")
        asking = _asking(program)
        parts = []
        for name, asked in self.model.ask.items():
            if isinstance(asked, ProgramModel):
                read = self._program(("ask", name, "read"), asked.read, known, asking)
                parts.append(Part(name, share[name], read, asked.form))
            else:
                read = self._program(("ask", name), asked, known, asking)
                parts.append(Part(name, share[name], read))
        return tuple(parts)


def _assigned(program: Program) -> set[str]:
    names = (n for n in ast.walk(program.tree) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _asking(program: Program | None) -> Vocabulary:
    """The vocabulary of `ask:`: what the program recorded may be read of `recorded`."""
    calls = [n for n in ast.walk(program.tree) if isinstance(n, ast.Call)] if program else []
    recorded = {
        keyword.arg
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "record"
        for keyword in call.keywords
        if keyword.arg
    }
    return replace(VOCABULARY, attributes=VOCABULARY.attributes | recorded)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of nested lists of numbers; None where they are ragged or hold anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return None
    if not isinstance(value, list):
        return ()
    shapes = {_shape(entry) for entry in value}
    if len(shapes) > 1 or None in shapes:
        return None
    inner = next(iter(shapes), ())
    return (len(value), *(inner or ()))


def exact_number(value: Any) -> Fraction:
    """One tenth for 0.1: the number that was written, not the float nearest to it."""
    if hasattr(value, "exact"):
        return Fraction(value.exact)
    return Fraction(repr(value) if isinstance(value, float) else value)
