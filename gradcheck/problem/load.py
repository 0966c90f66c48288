"""Problem files into problems: every fault with its place, what was expected, and the cure."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.documents import Document, read_yaml
from gradcheck.errors import Complaint, TextError
from gradcheck.language import (
    Program,
    Vocabulary,
    check_program,
)
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.leaves import leaves
from gradcheck.language.rules.classes import members
from gradcheck.language.rules.vocabulary import nearest
from gradcheck.opinions.opinion import Array, pair
from gradcheck.problem.arrays import exact_array, exact_number
from gradcheck.problem.made import assigned, shapes, with_made
from gradcheck.problem.record import USUAL, Input, Part, Problem, ProblemSet, too_large, unnameable

if TYPE_CHECKING:  # a question without a file needs no pydantic
    from gradcheck.problem.model import ProblemModel, SetModel

Place = tuple[str | int, ...]
# What `ask` can read besides the variables.
RECORDED, PRINTED, ERROR = READABLE = ("recorded", "printed", "error")

MOST = 1_000  # values of an input: more than any class has students
NAME = re.compile(r"[^A-Za-z0-9._-]+")  # what may not stand in an id


def load(path: str | Path) -> ProblemSet:
    """The problem set in a file; raises TextError with all complaints, or OSError."""
    file = Path(path)
    return load_text(file.read_bytes(), str(file))


def load_text(text: str | bytes, file: str = "") -> ProblemSet:
    """The problem set in a text."""
    document = read_yaml(text, file)
    root = document.value
    if not isinstance(root, dict):
        listed = isinstance(root, list)
        cure = "write `problems:` on a line before the list" if listed else "start with `id:`"
        raise TextError([document.complaint((), "a mapping was expected", cure)])
    single = "problems" not in root
    model = _validated(document, single)
    base: Place = () if single else ("problems",)
    problems, complaints = [], list(_repeated(document, model.problems, base))
    for k, entry in enumerate(model.problems):
        at = base if single else (*base, k)
        try:
            problems.append(_Reader(document, at, entry, model).problem())
        except TextError as error:
            complaints += error.complaints
    complaints += _uncredited(document, (), model.credit)
    if complaints:
        raise TextError(complaints)
    kept = text.encode() if isinstance(text, str) else text
    return ProblemSet(model.title, tuple(problems), file, kept)


def _validated(document: Document, single: bool) -> "SetModel":
    """The text in its form; raises TextError with what is wrong, one complaint a place."""
    from pydantic import ValidationError  # noqa: PLC0415

    from gradcheck.problem.faults import faults  # noqa: PLC0415
    from gradcheck.problem.model import ProblemModel, SetModel  # noqa: PLC0415

    value: Any = document.value
    try:
        if single:
            named = {"id": NAME.sub("-", Path(document.file).stem).strip("-") or "problem", **value}
            return SetModel(problems=[ProblemModel.model_validate(named)])
        return SetModel.model_validate(value)
    except ValidationError as error:
        raise TextError(faults(document, error)) from None


def misspelled(mistake: str) -> str:
    """`did you mean ...?` for an id that is nearly a mistake's."""
    from gradcheck.mistakes import CATALOGUE  # noqa: PLC0415
    from gradcheck.mistakes.training import TRAINING  # noqa: PLC0415
    from gradcheck.mistakes.typing import TYPING  # noqa: PLC0415

    known = {row.id for row in (*CATALOGUE, *TRAINING, *TYPING)}
    return "" if mistake in known else nearest(mistake, known, 0.8)


def _credit(asked: Mapping[str, float] | str) -> Mapping[str, float]:
    """What is left of the points, by mistake; of `usual` by their kind."""
    return USUAL if isinstance(asked, str) else asked


def _uncredited(
    document: Document, at: Place, credit: Mapping[str, float] | str
) -> Iterator[Complaint]:
    """Names in a `credit:` that are nearly a mistake's."""
    for name in _credit(credit):
        if cure := misspelled(name):
            words = f"`{name}` is no mistake of the catalogue"
            yield document.complaint((*at, "credit", name), words, cure, key=True)


def _repeated(
    document: Document, problems: "Sequence[ProblemModel]", base: Place
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
        self, document: Document, at: Place, model: "ProblemModel", whole: "SetModel"
    ) -> None:
        self.document, self.at, self.model, self.whole = document, at, model, whole
        self.complaints: list[Complaint] = []
        self.choices: dict[str, tuple[Array, ...]] = {}

    def problem(self) -> Problem:
        model = self.model
        inputs = {name: self._input(name, value) for name, value in model.inputs.items()}
        unnamed = bool(self.complaints)  # what the program says of names would be no news
        program = (
            None
            if unnamed
            else self._program(("program",), model.program, tuple(inputs), valued=model.ask is None)
        )
        own = () if program is None or inputs else leaves(program)
        made = self._made(inputs, program)
        wrt = self._wrt(inputs, made, bool(own))
        parts = self._parts(wrt, program, inputs, own)
        self.complaints += _uncredited(self.document, self.at, model.credit)
        cotangent = self._array(("cotangent",)) if model.cotangent is not None else None
        right, wrong = self._self_tests([part.name for part in parts])
        if self.complaints or program is None:
            raise TextError(self.complaints)
        followed = model.follow_through
        problem = Problem(
            model.id,
            model.title,
            model.prompt,
            inputs,
            program,
            wrt,
            parts,
            cotangent,
            model.order,
            model.jacobian,
            model.points,
            {**_credit(self.whole.credit), **_credit(model.credit)},
            model.brackets or self.whole.brackets,
            self.whole.follow_through if followed is None else followed,
            right,
            wrong,
            self.document.file,
            self.document.place(self.at)[0],
            self.choices,
        )
        return self._with_made(problem, made)

    def _complain(self, path: Place, words: str, cure: str, *, key: bool = False) -> None:
        self.complaints.append(self.document.complaint((*self.at, *path), words, cure, key=key))

    def _input(self, name: str, value: Any) -> Input:
        if cure := unnameable(name):
            self._complain(("inputs", name), f"`{name}` is not a name", cure, key=True)
        if isinstance(value, int | float | list):
            array = self._array(("inputs", name))
            return Input(name, array, array.shape, True)
        ways = (value.shape, value.value, value.choose, value.integers, value.decimals)
        if sum(way is not None for way in ways) != 1:
            words = "one of `shape`, `value`, `choose`, `integers` and `decimals` was expected"
            self._complain(("inputs", name), words, "give one")
        if value.shape is not None:
            if words := too_large(value.shape):
                self._complain(("inputs", name, "shape"), words, "make it smaller")
            return Input(name, None, tuple(value.shape), value.requires_grad)
        if value.value is None:
            first = self._choices(name, value)[0]
            return Input(name, first, first.shape, value.requires_grad)
        array = self._array(("inputs", name, "value"))
        return Input(name, array, array.shape, value.requires_grad)

    def _choices(self, name: str, value: Any) -> tuple[Array, ...]:
        """The values of which a student gets one; complains where there is no choice."""
        at = ("inputs", name)
        if value.choose is not None:
            found = [self._array((*at, "choose", k)) for k in range(len(value.choose))]
            path: Place = (*at, "choose")
        else:
            path = (*at, "integers" if value.integers is not None else "decimals")
            found = self._between(path)
        if len({each.shape for each in found}) > 1:
            self._complain(path, "the values have different shapes", "even them out")
        if len({str(each.tolist()) for each in found}) < len(found):
            self._complain(path, "a value stands here twice", "keep one: all are drawn alike")
        if not 2 <= len(found) <= MOST:
            many = f"more than {MOST:,}" if len(found) > MOST else len(found)
            words = f"{many} values: from 2 to {MOST:,} were expected"
            self._complain(path, words, "`value:` gives one value to all")
        self.choices[name] = tuple(found)
        return (*found, np.zeros((), dtype=object))

    def _between(self, path: Place) -> list[Array]:
        """From the first number to the second, in steps of one, or of the last decimal place."""
        entries: Any = self.document.node((*self.at, *path)).value
        low, high, *places = map(exact_number, entries)
        step = Fraction(1, 10 ** int(places[0])) if places else Fraction(1)
        count = min(MOST, int((high - low) // step)) + 1
        return [np.array(low + k * step, dtype=object) for k in range(count)]

    def _array(self, path: Place) -> Array:
        """Nested lists of numbers at a path, exact; ragged ones and words are complained of."""
        value: Any = self.document.node((*self.at, *path)).value
        found = exact_array(value)
        if found is None and isinstance(value, str):
            self._complain(path, "a number was expected, a text came", "write it without quotes")
        elif found is None:
            words = "numbers in nested lists of equal lengths were expected"
            self._complain(path, words, "even them out")
        if found is None:
            return np.zeros((), dtype=object)
        return found

    def _program(
        self,
        path: Place,
        source: str,
        declared: Sequence[str],
        vocabulary: Vocabulary = VOCABULARY,
        kept: Collection[str] = (),
        *,
        valued: bool = False,
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
                kept=kept,
                valued=valued,
            )
        except TextError as error:
            self.complaints += error.complaints
            return None

    def _self_tests(
        self, names: Sequence[str]
    ) -> tuple[tuple[Mapping[str, Any], ...], tuple[tuple[Mapping[str, Any], str], ...]]:
        """The answers judged right, and those judged wrong, each with the mistake to be named."""
        right = [self._by_part(("right", k), a, names) for k, a in enumerate(self.model.right)]
        wrong = []
        for k, each in enumerate(self.model.wrong):
            answer = self._by_part(("wrong", k, "answer"), each.answer, names)
            if cure := misspelled(each.mistake):
                words = f"`{each.mistake}` is no mistake of the catalogue"
                self._complain(("wrong", k, "mistake"), words, cure)
            wrong.append((answer, each.mistake))
        return tuple(right), tuple(wrong)

    def _by_part(self, path: Place, answer: Any, names: Sequence[str]) -> Mapping[str, Any]:
        """An answer by the names of its parts; of the only part it may stand alone."""
        if isinstance(answer, dict):
            for name in answer.keys() - set(names):
                cure = f"one of {', '.join(sorted(names))}"
                self._complain((*path, name), f"`{name}` is not a part", cure, key=True)
            return answer
        if len(names) == 1 and answer is not None:
            return {names[0]: answer}
        each = ", ".join(f"{name}: ..." for name in names)
        self._complain(path, "an answer to each part was expected", f"write {{{each}}}")
        return {}

    def _made(self, inputs: Mapping[str, Input], program: Program | None) -> frozenset[str]:
        """The names of `wrt` that the program assigns; complained of, if more than once."""
        stored = assigned(program) if program else {}
        made = frozenset(self.model.wrt or ()) - inputs.keys() & stored.keys()
        for k, name in enumerate(self.model.wrt or ()):
            if name in made and not stored[name]:
                words = f"`{name}` is not assigned just once, on the program's own level"
                self._complain(("wrt", k), words, "give the value that is meant its own name")
        return made

    def _with_made(self, problem: Problem, made: Collection[str]) -> Problem:
        """A problem that is differentiated by values of its program too."""
        known = shapes(problem) if made else {}
        for k, name in enumerate(problem.wrt):
            if name in made and name not in known:
                words = f"`{name}` is no number and no array of numbers"
                self._complain(("wrt", k), words, "drop it here")
        if self.complaints:
            raise TextError(self.complaints)
        return with_made(problem, {name: known[name] for name in made}) if made else problem

    def _wrt(
        self, inputs: Mapping[str, Input], made: Collection[str], has_own: bool
    ) -> tuple[str, ...]:
        tracked = tuple(name for name, i in inputs.items() if i.requires_grad)
        if self.model.wrt is None:
            if not tracked and self.model.ask is None and not has_own:
                self._complain(("inputs",), "no input requires grad", "let one do so", key=True)
            return tracked
        if not self.model.wrt and self.model.ask is None:
            self._complain(("wrt",), "no input is differentiated", "name one, or leave `wrt:` out")
        for k, name in enumerate(self.model.wrt):
            if name in self.model.wrt[:k]:
                self._complain(("wrt", k), f"`{name}` stands here twice", "keep one")
            elif name in made:
                if self.model.ask is not None:
                    words = f"`{name}` is no input, and `ask:` says what is asked"
                    self._complain(("wrt", k), words, f"ask for `{name}.grad`, after retain_grad")
            elif name not in inputs:
                cure = f"one of {', '.join(inputs)}, or of the names that the program assigns"
                self._complain(("wrt", k), f"`{name}` is not an input", cure)
            elif not inputs[name].requires_grad:
                self._complain(("wrt", k), f"`{name}` does not require grad", "drop it here")
        return tuple(self.model.wrt)

    def _asked(self, wrt: tuple[str, ...]) -> Sequence[str]:
        """What is asked by default: the gradients by inputs, or the blocks of a Hessian."""
        if self.model.order == 1:
            return wrt
        return [pair(a, b) for k, a in enumerate(wrt) for b in wrt[k:]]

    def _check_order(self, has_own: bool, has_made: bool) -> None:
        """Complain of derivatives of derivatives where they are not followed."""
        for key, given in (("order", self.model.order == 2), ("jacobian", self.model.jacobian)):
            if given and has_own:
                words = "a program that goes back by itself is asked for what it leaves"
                self._complain((key,), words, "drop it here", key=True)
            elif given and self.model.cotangent is not None:
                words = f"`{key}` asks for every entry, and `cotangent` for one sum of them"
                self._complain((key,), words, "keep one of them", key=True)
            elif given and has_made:
                words = f"`{key}` is asked by inputs, not by values that the program assigns"
                self._complain((key,), words, "name inputs in `wrt:`", key=True)
        if self.model.order == 2 and self.model.jacobian:
            words = "a Jacobian of second derivatives is not followed"
            self._complain(("order",), words, "keep `order: 2` or `jacobian: true`", key=True)

    def _parts(
        self,
        wrt: tuple[str, ...],
        program: Program | None,
        inputs: Mapping[str, Input],
        own: Sequence[str],
    ) -> tuple[Part, ...]:
        asks = self.model.ask or {f"{leaf}.grad": f"{leaf}.grad" for leaf in own}
        names = list(asks or self._asked(wrt))
        for name in self.model.weights:
            if name not in names:
                cure = f"one of {', '.join(names)}"
                self._complain(("weights", name), f"`{name}` is not a part", cure, key=True)
        total = sum(self.model.weights.get(name, 1.0) for name in names) or 1.0
        share = {name: self.model.weights.get(name, 1.0) / total for name in names}
        self._check_order(bool(asks), bool(set(wrt) - inputs.keys()))
        if not asks:
            return tuple(Part(name, share[name]) for name in names)
        known = (*inputs, *(_assigned(program) if program else ()), *READABLE)
        asking, kept = _asking(program), set(members(program.tree.body)) if program else set()
        parts = []
        for name, asked in asks.items():
            if isinstance(asked, str):
                read = self._program(("ask", name), asked, known, asking, kept)
                parts.append(Part(name, share[name], read))
            else:
                read = self._program(("ask", name, "read"), asked.read, known, asking, kept)
                parts.append(Part(name, share[name], read, asked.form))
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
