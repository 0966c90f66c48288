"""A problem's section of its file: the problem in it, and everything that is wrong in it."""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from gradcheck.documents import Document
from gradcheck.documents.document import Passage
from gradcheck.errors import Complaint, GradcheckError, TextError
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.program import Program, check_program, find_assignments, find_leaves
from gradcheck.opinions.opinion import pair
from gradcheck.problem.draw import draw_given_point
from gradcheck.problem.model import Credit, InputModel, ProblemModel, SetModel
from gradcheck.problem.record import ERROR, USUAL, Input, Known, Part, Problem
from gradcheck.values import Params, Value

Place = tuple[str | int, ...]
READABLE = ("recorded", ERROR)
"""What `ask` can read besides the variables."""
AS_WRITTEN = {"id", "title", "prompt", "order", "jacobian", "points", "form", "cotangent"}
OF_SET = {"brackets", "chain", "follow_through"}
"""What a problem has as its set has it, unless it says otherwise."""
RECORDED = re.compile(r"\brecorded\.(\w+)")
NUMBERS = (np.ndarray, np.floating, int, float, Fraction)


@dataclass
class Section:
    """Where a problem stands in its document; complaints are collected, to be raised together."""

    document: Document
    at: Place
    model: ProblemModel
    whole: SetModel
    complaints: list[Complaint] = field(default_factory=list)

    def complain(self, path: Place, words: str, cure: str, *, key: bool = False) -> None:
        self.complaints.append(self.document.complaint((*self.at, *path), words, cure, key=key))

    def problem(self) -> Problem:
        """The problem; raises TextError with everything that is wrong in its section."""
        model = self.model
        inputs = {name: _make_input(name, each) for name, each in model.inputs.items()}
        program = self.program(self.passage("program"), inputs, valued=model.ask is None)
        if program is not None and not program.tree.body:
            self.complain(("program",), "the program is empty", "write an expression: x**2")
        own = () if program is None or inputs or model.ask else find_leaves(program)
        wrt, made = self.wrt(inputs, program, own)
        parts = self.parts(wrt, program, inputs, own)
        answers = self.answers([part.name for part in parts])
        domain = None
        if model.domain is not None:
            domain = self.program(self.passage("domain"), inputs, valued=True)
        if self.complaints or program is None:
            raise TextError(self.complaints)
        found = Problem(
            **self.whole.model_dump(include=OF_SET)
            | model.model_dump(include=OF_SET | AS_WRITTEN, exclude_none=True)
            | answers,
            inputs=inputs,
            program=program,
            wrt=wrt,
            parts=parts,
            tolerance=_read_tolerance(model.tolerance),
            domain=domain,
            file=self.document.file,
            line=self.document.spot(self.at).line,
            choices={name: each.choices for name, each in model.inputs.items() if each.choices},
        )
        return self.add_made(found, made)

    def passage(self, *path: str | int) -> Passage:
        return self.document.passage((*self.at, *path))

    def program(self, passage: Passage, declared: Collection[str], **how: Value) -> Program | None:
        try:
            return check_program(passage, declared=declared, **how)
        except TextError as error:
            self.complaints += error.complaints
            return None

    # -- what is asked -----------------------------------------------------------------------------

    def wrt(
        self, inputs: Mapping[str, Input], program: Program | None, own: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names to differentiate by, or all inputs that require grad; what is made of them."""
        tracked = tuple(name for name, i in inputs.items() if i.requires_grad)
        asked, reads = self.model.wrt, self.model.ask is not None
        if asked is None:
            if not (tracked or reads or own):
                cure = "let one do so, or say by `ask:` what is read at the end"
                self.complain(("inputs",), "no input requires grad", cure, key=True)
            return tracked, ()
        if not asked and not reads:
            self.complain(("wrt",), "no input is differentiated", "name one, or leave `wrt:` out")
        stored = find_assignments(program.tree) if program else {}
        for k, name in enumerate(asked):
            words, cure = "", "give the value that is meant its own name"
            if name in asked[:k]:
                words, cure = f"`{name}` stands here twice", "keep one"
            elif name in inputs and not inputs[name].requires_grad:
                words, cure = f"`{name}` does not require grad", "drop it here"
            elif name not in inputs and name not in stored:
                words = f"`{name}` is not an input"
                cure = f"one of {', '.join(inputs)}, or of the names that the program assigns"
            elif name not in inputs and reads:
                words = f"`{name}` is no input, and `ask:` says what is asked"
                cure = f"ask for `{name}.grad`, after retain_grad"
            elif name not in inputs and not stored[name]:
                words = f"`{name}` is not assigned just once, on the program's own level"
            if words:
                self.complain(("wrt", k), words, cure)
        return tuple(asked), tuple(name for name in asked if name in stored.keys() - inputs.keys())

    def parts(
        self,
        wrt: tuple[str, ...],
        program: Program | None,
        inputs: Mapping[str, Input],
        own: Sequence[str],
    ) -> tuple[Part, ...]:
        """What is to be answered, each with its share of the points; of `own` leaves `.grad`."""
        asks = self.model.ask or {f"{leaf}.grad": f"{leaf}.grad" for leaf in own}
        blocks = [pair(a, b) for k, a in enumerate(wrt) for b in wrt[k:]]  # of a Hessian
        names = list(asks or (wrt if self.model.order == 1 else blocks))
        weights = self.model.weights
        for name in weights.keys() - set(names):
            cure = f"one of {', '.join(names)}"
            self.complain(("weights", name), f"`{name}` is not a part", cure, key=True)
        total = sum(weights.get(name, 1.0) for name in names) or 1.0
        share = {name: weights.get(name, 1.0) / total for name in names}
        self.check_rows(bool(asks), bool(set(wrt) - inputs.keys()))
        if not asks:
            return tuple(Part(name, share[name]) for name in names)
        known = (*inputs, *(find_assignments(program.tree) if program else ()), *READABLE)
        recorded = _list_recorded(program)
        asking = replace(VOCABULARY, attributes=VOCABULARY.attributes | recorded)
        parts = []
        for name, asked in asks.items():
            at = () if isinstance(asked, str) else ("read",)
            text = Passage(name) if own else self.passage("ask", name, *at)
            absent = [n for n in RECORDED.findall(text.source) if n not in recorded]
            for series in absent[:1]:
                cure = f"write `record({series}=...)` in the program"
                self.complain(("ask", name, *at), f"nothing is recorded as `{series}`", cure)
            read = None if absent else self.program(text, known, vocabulary=asking)
            parts.append(Part(name, share[name], read, getattr(asked, "form", "value")))
        return tuple(parts)

    def check_rows(self, has_own: bool, has_made: bool) -> None:
        """Complain of derivatives of derivatives where they are not followed."""
        model, key = self.model, "order" if self.model.order == 2 else "jacobian"
        why = {
            "a program that goes back by itself is asked for what it leaves": has_own,
            f"`{key}` asks for every entry, and `cotangent` for one sum": model.cotangent
            is not None,
            f"`{key}` is asked by inputs, not by values that the program assigns": has_made,
            "a Jacobian of second derivatives is not followed": key == "order" and model.jacobian,
        }
        words = next((words for words, true in why.items() if true), "")
        if words and (key == "order" or model.jacobian):
            self.complain((key,), words, "drop one of them", key=True)

    def add_made(self, problem: Problem, made: Collection[str]) -> Problem:
        """The problem, with inputs of zeros for values of its program; asked at its own point."""
        given = {n: i.value for n, i in problem.inputs.items() if i.value is not None}
        if len(given) == len(problem.inputs) and not problem.admits(given):
            words = "the given point lies outside of the domain"
            self.complain(("domain",), words, "move the point, or widen the domain")
        sizes = find_shapes(problem) if made and not self.complaints else {}
        if lost := [name for name in made if name not in sizes and not self.complaints]:
            words = f"`{lost[0]}` is no number and no array of numbers"
            self.complain(("wrt", problem.wrt.index(lost[0])), words, "drop it here")
        if self.complaints:
            raise TextError(self.complaints)
        return with_made(problem, {name: sizes[name] for name in made}) if made else problem

    # -- answers -----------------------------------------------------------------------------------

    def answers(self, names: Sequence[str]) -> dict[str, Value]:
        """The answers that stand in the file, with mistakes and credit; known ones are wrong."""
        model, several = self.model, len(self.model.known) > 1
        right = [self.by_part(("right", k), each, names) for k, each in enumerate(model.right)]
        wrong = [
            (self.by_part(("wrong", k, "answer"), each.answer, names), each.mistake)
            for k, each in enumerate(model.wrong)
        ]
        credit, known = {**_read_credit(self.whole.credit), **_read_credit(model.credit)}, []
        for k, each in enumerate(model.known):
            answer = self.by_part(("known", k, "answer"), each.answer, names)
            id = f"{each.id}-{k + 1}" if each.id == "known" and several else each.id
            known.append(Known(answer, each.says, id))
            credit[id] = each.credit
        wrong += [(each.answer, each.id) for each in known]
        answers = {"right": tuple(right), "wrong": tuple(wrong), "known_answers": tuple(known)}
        return {**answers, "credit": credit}

    def by_part(self, path: Place, answer: Value, names: Sequence[str]) -> Params:
        """An answer by the names of its parts; of the only part it may stand alone."""
        if isinstance(answer, dict):
            for name in answer.keys() - set(names):
                cure = f"one of {', '.join(sorted(names))}"
                self.complain((*path, name), f"`{name}` is not a part", cure, key=True)
            return answer
        if len(names) == 1 and answer is not None:
            return {names[0]: answer}
        each = ", ".join(f"{name}: ..." for name in names)
        self.complain(path, "an answer to each part was expected", f"write {{{each}}}")
        return {}


def _make_input(name: str, given: InputModel) -> Input:
    value = given.choices[0] if given.choices else given.value
    shape = tuple(given.shape or ()) if value is None else value.shape
    return Input(name, value, shape, given.requires_grad)


def _read_credit(asked: Credit) -> Mapping[str, float]:
    """What is left of the points, by mistake; of `usual` by their kind."""
    return USUAL if isinstance(asked, str) else asked


def _read_tolerance(asked: float | str | None) -> float:
    return 5.0 * 10.0 ** -int(asked[0]) if isinstance(asked, str) else asked or 0.0


def _list_recorded(program: Program | None) -> set[str]:
    """The series that the program records: `ask:` may read them of `recorded`."""
    calls = [n for n in ast.walk(program.tree) if isinstance(n, ast.Call)] if program else []
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "record"]
    return {keyword.arg for call in named for keyword in call.keywords if keyword.arg}


# -- values that the program assigns, `wrt: [z, W]` ------------------------------------------------


def find_shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """The shapes of the program's values at the given point; none where it has no such point."""
    problem = replace(problem, wrt=tuple(name for name in problem.wrt if name in problem.inputs))
    try:
        found = problem.outcome_on("float", draw_given_point(problem)).names
    except GradcheckError:
        return {}
    return {n: np.asarray(v).shape for n, v in found.items() if isinstance(v, NUMBERS)}


def with_made(problem: Problem, made: Mapping[str, tuple[int, ...]]) -> Problem:
    """The problem with an input of zeros for each value, by name and shape, of its program.

    The gradient by such a value is the gradient by what is added to it where it is assigned, at
    zero: an input like any other, so that each opinion forms its own view of it.
    """
    declared = (*problem.inputs, *made)
    program = check_program(problem.program.passage, declared=declared, moved=made, valued=True)
    zeros = {name: np.full(shape, Fraction(0), dtype=object) for name, shape in made.items()}
    more = {n: Input(n, z, z.shape, requires_grad=True, made=True) for n, z in zeros.items()}
    return replace(problem, program=program, inputs={**problem.inputs, **more})
