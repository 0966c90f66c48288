"""A problem's section of its file: the problem in it, and everything that is wrong in it."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.documents import Document
from gradcheck.errors import Complaint, GradcheckError, TextError
from gradcheck.language import Program, Vocabulary, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.program import assigned_names, leaves
from gradcheck.language.vocabulary import nearest
from gradcheck.opinions.opinion import pair
from gradcheck.problem.arrays import exact_array, exact_number
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import USUAL, Input, Known, Part, Problem, too_large, unnameable
from gradcheck.values import Array, Params, Value

if TYPE_CHECKING:  # a question without a file needs no pydantic
    from gradcheck.problem.model import InputModel, ProblemModel, SetModel

Place = tuple[str | int, ...]
ERROR = "error"
READABLE = ("recorded", ERROR)
"""What `ask` can read besides the variables."""
WAYS = ("choose", "integers", "decimals")
MOST = 1_000  # values of an input: more than any class has students
NUMBERS = (np.ndarray, np.floating, int, float, Fraction)


@dataclass
class Section:
    """Where a problem stands in its document; complaints are collected, to be raised together.

    `choices` are the values of an input of which a student gets one.
    """

    document: Document
    at: Place
    model: "ProblemModel"
    whole: "SetModel"
    complaints: list[Complaint] = field(default_factory=list)
    choices: dict[str, tuple[Array, ...]] = field(default_factory=dict)

    def complain(self, path: Place, words: str, cure: str, *, key: bool = False) -> None:
        """Note what is wrong at a path, or at its key, and what would mend it."""
        self.complaints.append(self.document.complaint((*self.at, *path), words, cure, key=key))

    def problem(self) -> Problem:
        """The problem; raises TextError with everything that is wrong in its section."""
        model, whole = self.model, self.whole
        inputs = {name: self.input(name, value) for name, value in model.inputs.items()}
        program = None
        if not self.complaints:  # what the program says of unread names would be no news
            valued = model.ask is None
            program = self.program(("program",), model.program, tuple(inputs), valued=valued)
        own = () if program is None or inputs else leaves(program)
        made = self.find_made(inputs, program)
        wrt = self.wrt(inputs, made, bool(own))
        parts = self.parts(wrt, program, inputs, own)
        self.complaints += check_credit(self.document, self.at, model.credit)
        cotangent = self.array(("cotangent",)) if model.cotangent is not None else None
        names = [part.name for part in parts]
        right = [self.by_part(("right", k), a, names) for k, a in enumerate(model.right)]
        wrong, known = list(self.wrong(names)), list(self.known(names))
        domain = None
        if model.domain is not None:
            domain = self.program(("domain",), model.domain, tuple(inputs), valued=True)
        if self.complaints or program is None:
            raise TextError(self.complaints)
        own_credit = {each.id: asked.credit for each, asked in zip(known, model.known, strict=True)}
        asis = ("id", "title", "prompt", "order", "jacobian", "points", "form")
        followed = model.follow_through
        problem = Problem(
            **{name: getattr(model, name) for name in asis},
            inputs=inputs,
            program=program,
            wrt=wrt,
            parts=parts,
            cotangent=cotangent,
            credit={**_credit(whole.credit), **_credit(model.credit), **own_credit},
            brackets=model.brackets or whole.brackets,
            chain=model.chain or whole.chain,
            follow_through=whole.follow_through if followed is None else followed,
            right=tuple(right),
            wrong=(*wrong, *((each.answer, each.id) for each in known)),
            known_answers=tuple(known),
            tolerance=_tolerance(model.tolerance),
            domain=domain,
            file=self.document.file,
            line=self.document.spot(self.at).line,
            choices=self.choices,
        )
        given = {n: i.value for n, i in problem.inputs.items() if i.value is not None}
        if len(given) == len(problem.inputs) and not problem.admits(given):
            words = "the given point lies outside of the domain"
            self.complain(("domain",), words, "move the point, or widen the domain")
        sizes = shapes(problem) if made and not self.complaints else {}
        for name in made if not self.complaints else ():
            if name not in sizes:
                words = f"`{name}` is no number and no array of numbers"
                self.complain(("wrt", wrt.index(name)), words, "drop it here")
                break
        if self.complaints:
            raise TextError(self.complaints)
        return with_made(problem, {name: sizes[name] for name in made}) if made else problem

    # -- numbers and programs ----------------------------------------------------------------------

    def array(self, path: Place) -> Array:
        """Nested lists of numbers at a path, exact; ragged ones and words are complained of."""
        value: Value = self.document.node((*self.at, *path)).value
        found = exact_array(value)
        if found is None:
            words, cure = "numbers in nested lists of equal lengths were expected", "even them out"
            if isinstance(value, str):
                words, cure = "a number was expected, a text came", "write it without quotes"
            self.complain(path, words, cure)
        return np.zeros((), dtype=object) if found is None else found

    def program(
        self,
        path: Place,
        source: str,
        declared: Sequence[str],
        vocabulary: Vocabulary = VOCABULARY,
        *,
        valued: bool = False,
    ) -> Program | None:
        """The program at a path, checked; None, and its complaints are noted."""
        line, column = self.document.origin((*self.at, *path))
        try:
            return check_program(
                source,
                declared=declared,
                vocabulary=vocabulary,
                file=self.document.file,
                line=line,
                column=column,
                valued=valued,
            )
        except TextError as error:
            self.complaints += error.complaints
            return None

    # -- inputs ------------------------------------------------------------------------------------

    def input(self, name: str, value: "InputModel | float | list[Value]") -> Input:
        """One input; what is wrong with it is complained of."""
        at: Place = ("inputs", name)
        if cure := unnameable(name):
            self.complain(at, f"`{name}` is not a name", cure, key=True)
        if isinstance(value, int | float | list):
            array = self.array(at)
            return Input(name, array, array.shape, True)
        ways = (value.shape, value.value, value.choose, value.integers, value.decimals)
        if sum(way is not None for way in ways) != 1:
            words = "one of `shape`, `value`, `choose`, `integers` and `decimals` was expected"
            self.complain(at, words, "give one")
            return Input(name, None, (), value.requires_grad)
        if value.shape is not None:
            if words := too_large(value.shape):
                self.complain((*at, "shape"), words, "make it smaller")
            return Input(name, None, tuple(value.shape), value.requires_grad)
        array = self.choice(name, value) if value.value is None else self.array((*at, "value"))
        return Input(name, array, array.shape, value.requires_grad)

    def choice(self, name: str, value: "InputModel") -> Array:
        """The first of the values of which a student gets one; they are kept as choices."""
        way = next(way for way in WAYS if getattr(value, way) is not None)
        path: Place = ("inputs", name, way)
        if way == "choose":
            found = [self.array((*path, k)) for k in range(len(value.choose or ()))]
        else:  # from the first number to the second, in steps of one, or of the last decimal place
            given: Value = self.document.node((*self.at, *path)).value
            low, high, *places = (exact_number(each) or Fraction() for each in given)
            step = Fraction(1, 10 ** int(places[0])) if places else Fraction(1)
            count = min(MOST, int((high - low) // step)) + 1
            found = [np.array(low + k * step, dtype=object) for k in range(count)]
        if len({each.shape for each in found}) > 1:
            self.complain(path, "the values have different shapes", "even them out")
        if len({str(each.tolist()) for each in found}) < len(found):
            self.complain(path, "a value stands here twice", "keep one: all are drawn alike")
        if not 2 <= len(found) <= MOST:
            many = f"more than {MOST:,}" if len(found) > MOST else len(found)
            words = f"{many} values: from 2 to {MOST:,} were expected"
            self.complain(path, words, "`value:` gives one value to all")
        self.choices[name] = tuple(found)
        return found[0] if found else np.zeros((), dtype=object)

    # -- what is asked -----------------------------------------------------------------------------

    def find_made(self, inputs: Mapping[str, Input], program: Program | None) -> tuple[str, ...]:
        """The names in `wrt` of values that the program assigns."""
        stored, asked = assigned_names(program.tree) if program else {}, self.model.wrt or ()
        made = dict.fromkeys(name for name in asked if name not in inputs and name in stored)
        for k, name in enumerate(asked):
            if name in made and not stored[name]:
                words = f"`{name}` is not assigned just once, on the program's own level"
                self.complain(("wrt", k), words, "give the value that is meant its own name")
        return tuple(made)

    def wrt(
        self, inputs: Mapping[str, Input], made: Collection[str], has_own: bool
    ) -> tuple[str, ...]:
        """The names to differentiate by: those of `wrt`, or all inputs that require grad."""
        tracked = tuple(name for name, i in inputs.items() if i.requires_grad)
        asked, reads = self.model.wrt, self.model.ask is not None
        if asked is None:
            if not (tracked or reads or has_own):
                self.complain(("inputs",), "no input requires grad", "let one do so", key=True)
            return tracked
        if not asked and not reads:
            words = "no input is differentiated"
            self.complain(("wrt",), words, "name one, or leave `wrt:` out")
        among = f"one of {', '.join(inputs)}, or of the names that the program assigns"
        for k, name in enumerate(asked):
            words, cure = "", among
            if name in asked[:k]:
                words, cure = f"`{name}` stands here twice", "keep one"
            elif name in made and reads:
                words = f"`{name}` is no input, and `ask:` says what is asked"
                cure = f"ask for `{name}.grad`, after retain_grad"
            elif name not in made and name not in inputs:
                words = f"`{name}` is not an input"
            elif name not in made and not inputs[name].requires_grad:
                words, cure = f"`{name}` does not require grad", "drop it here"
            if words:
                self.complain(("wrt", k), words, cure)
        return tuple(asked)

    def parts(
        self,
        wrt: tuple[str, ...],
        program: Program | None,
        inputs: Mapping[str, Input],
        own: Sequence[str],
    ) -> tuple[Part, ...]:
        """What is to be answered, each with its share of the points; `own` are leaves."""
        asks = self.model.ask or {f"{leaf}.grad": f"{leaf}.grad" for leaf in own}
        blocks = [pair(a, b) for k, a in enumerate(wrt) for b in wrt[k:]]  # of a Hessian
        names = list(asks or (wrt if self.model.order == 1 else blocks))
        weights = self.model.weights
        for name in weights:
            if name not in names:
                cure = f"one of {', '.join(names)}"
                self.complain(("weights", name), f"`{name}` is not a part", cure, key=True)
        total = sum(weights.get(name, 1.0) for name in names) or 1.0
        share = {name: weights.get(name, 1.0) / total for name in names}
        self.check_rows(bool(asks), bool(set(wrt) - inputs.keys()))
        if not asks:
            return tuple(Part(name, share[name]) for name in names)
        known = (*inputs, *(assigned_names(program.tree) if program else ()), *READABLE)
        asking = _asking(program)
        parts = []
        for name, asked in asks.items():
            text, at = (asked, ()) if isinstance(asked, str) else (asked.read, ("read",))
            read = self.program(("ask", name, *at), text, known, asking)
            parts.append(Part(name, share[name], read, getattr(asked, "form", "value")))
        return tuple(parts)

    def check_rows(self, has_own: bool, has_made: bool) -> None:
        """Complain of derivatives of derivatives where they are not followed."""
        model, key = self.model, "order" if self.model.order == 2 else "jacobian"
        why = {
            "a program that goes back by itself is asked for what it leaves": has_own,
            f"`{key}` asks for every entry, and `cotangent` for one sum": model.cotangent,
            f"`{key}` is asked by inputs, not by values that the program assigns": has_made,
            "a Jacobian of second derivatives is not followed": key == "order" and model.jacobian,
        }
        words = next((words for words, true in why.items() if true not in (None, False)), "")
        if words and (key == "order" or model.jacobian):
            self.complain((key,), words, "drop one of them", key=True)

    # -- answers -----------------------------------------------------------------------------------

    def wrong(self, names: Sequence[str]) -> Iterator[tuple[Params, str]]:
        """The answers judged wrong, each with the mistake to be named."""
        for k, each in enumerate(self.model.wrong):
            answer = self.by_part(("wrong", k, "answer"), each.answer, names)
            if cure := suggest_id(each.mistake):
                words = f"`{each.mistake}` is no mistake of the catalogue"
                self.complain(("wrong", k, "mistake"), words, cure)
            yield answer, each.mistake

    def known(self, names: Sequence[str]) -> Iterator[Known]:
        """The wrong answers for which the teacher has words; those without a name are numbered."""
        several = len(self.model.known) > 1
        for k, each in enumerate(self.model.known):
            answer = self.by_part(("known", k, "answer"), each.answer, names)
            id = f"{each.id}-{k + 1}" if each.id == "known" and several else each.id
            yield Known(answer, each.says, id)

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


# -- credit, tolerance, mistakes -------------------------------------------------------------------


def mistake_ids() -> frozenset[str]:
    """The ids of all mistakes there are: of formulas, of training loops, of typing."""
    from gradcheck.mistakes import CATALOGUE  # noqa: PLC0415
    from gradcheck.mistakes.training import TRAINING, WRITTEN  # noqa: PLC0415
    from gradcheck.mistakes.typing import TYPING  # noqa: PLC0415

    return frozenset(row.id for row in (*CATALOGUE, *TRAINING, *WRITTEN.values(), *TYPING))


def suggest_id(mistake: str) -> str:
    """`did you mean ...?` for an id that is nearly a mistake's."""
    known = mistake_ids()
    return "" if mistake in known else nearest(mistake, known, 0.8)


def check_credit(
    document: Document, at: Place, credit: Mapping[str, float] | str
) -> Iterator[Complaint]:
    """Names in a `credit:` that are nearly a mistake's."""
    for name in _credit(credit):
        if cure := suggest_id(name):
            words = f"`{name}` is no mistake of the catalogue"
            yield document.complaint((*at, "credit", name), words, cure, key=True)


def _credit(asked: Mapping[str, float] | str) -> Mapping[str, float]:
    """What is left of the points, by mistake; of `usual` by their kind."""
    return USUAL if isinstance(asked, str) else asked


def _tolerance(asked: float | str | None) -> float:
    if isinstance(asked, str):
        return 5.0 * 10.0 ** -int(asked[0])
    return asked or 0.0


# -- values that the program assigns, `wrt: [z, W]` ------------------------------------------------


def shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """The shapes of the program's values at the given point; none where it has no such point."""
    problem = replace(problem, wrt=tuple(name for name in problem.wrt if name in problem.inputs))
    try:
        inputs = {n: np.array(v, dtype=np.float64) for n, v in given_point(problem).items()}
        found = problem.outcome_on("float", inputs).names
    except GradcheckError:
        return {}
    return {n: np.asarray(v).shape for n, v in found.items() if isinstance(v, NUMBERS)}


def with_made(problem: Problem, made: Mapping[str, tuple[int, ...]]) -> Problem:
    """The problem with an input of zeros for each value, by name and shape, of its program.

    The gradient by such a value is the gradient by what is added to it where it is assigned, at
    zero: an input like any other, so that each opinion forms its own view of it.
    """
    passage = problem.program.passage
    program = check_program(
        passage.source,
        declared=[*problem.inputs, *made],
        vocabulary=VOCABULARY,
        file=passage.file,
        line=passage.line,
        column=passage.column,
        moved=made,
        valued=True,
    )
    zeros = {name: np.full(shape, Fraction(0), dtype=object) for name, shape in made.items()}
    more = {n: Input(n, z, z.shape, requires_grad=True, made=True) for n, z in zeros.items()}
    return replace(problem, program=program, inputs={**problem.inputs, **more})
