"""Problem files into problems: every fault with its place, what was expected, and the cure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck.documents import Document, read_yaml
from gradcheck.errors import Complaint, TextError
from gradcheck.language.program import leaves
from gradcheck.language.vocabulary import nearest
from gradcheck.problem.asked import Asked
from gradcheck.problem.record import USUAL, Known, Problem, ProblemSet
from gradcheck.problem.section import Inputs, Place, Section

if TYPE_CHECKING:  # a question without a file needs no pydantic
    from gradcheck.problem.model import ProblemModel, SetModel


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
            problems.append(_Reader(Section(document, at), entry, model).problem())
        except TextError as error:
            complaints += error.complaints
    complaints += _uncredited(document, (), model.credit)
    if complaints:
        raise TextError(complaints)
    kept = text.encode() if isinstance(text, str) else text
    return ProblemSet(model.title, tuple(problems), file, kept, model.late)


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


def mistake_ids() -> frozenset[str]:
    """The ids of all mistakes there are: of formulas, of training loops, of typing."""
    from gradcheck.mistakes import CATALOGUE  # noqa: PLC0415
    from gradcheck.mistakes.training import TRAINING  # noqa: PLC0415
    from gradcheck.mistakes.typing import TYPING  # noqa: PLC0415

    return frozenset(row.id for row in (*CATALOGUE, *TRAINING, *TYPING))


def misspelled(mistake: str) -> str:
    """`did you mean ...?` for an id that is nearly a mistake's."""
    known = mistake_ids()
    return "" if mistake in known else nearest(mistake, known, 0.8)


def _credit(asked: Mapping[str, float] | str) -> Mapping[str, float]:
    """What is left of the points, by mistake; of `usual` by their kind."""
    return USUAL if isinstance(asked, str) else asked


def _tolerance(asked: float | str | None) -> float:
    """How far a decimal may be off, relatively; half a unit of the last of so many digits."""
    if isinstance(asked, str):
        return 5.0 * 10.0 ** -int(asked[0])
    return asked or 0.0


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
    """Reads one validated problem; complaints are collected and raised together."""

    def __init__(self, section: Section, model: "ProblemModel", whole: "SetModel") -> None:
        self.section, self.model, self.whole = section, model, whole

    def problem(self) -> Problem:
        """The problem; raises TextError with everything that is wrong in its section."""
        model, section = self.model, self.section
        reading, asked = Inputs(section), Asked(section, model)
        inputs = {name: reading.read(name, value) for name, value in model.inputs.items()}
        program = None
        if not section.complaints:  # what the program says of unread names would be no news
            names, valued = tuple(inputs), model.ask is None
            program = section.program(("program",), model.program, names, valued=valued)
        own = () if program is None or inputs else leaves(program)
        made = asked.made(inputs, program)
        wrt = asked.wrt(inputs, made, bool(own))
        parts = asked.parts(wrt, program, inputs, own)
        section.complaints += _uncredited(section.document, section.at, model.credit)
        cotangent = section.array(("cotangent",)) if model.cotangent is not None else None
        right, wrong = self._self_tests([part.name for part in parts])
        known = self._known([part.name for part in parts])
        domain = None
        if model.domain is not None:
            domain = section.program(("domain",), model.domain, tuple(inputs), valued=True)
        if section.complaints or program is None:
            raise TextError(section.complaints)
        problem = self._with_settings(
            inputs=inputs,
            program=program,
            wrt=wrt,
            parts=parts,
            cotangent=cotangent,
            right=right,
            wrong=(*wrong, *((each.answer, each.id) for each in known)),
            known_answers=known,
            domain=domain,
            choices=reading.choices,
        )
        given = {n: i.value for n, i in problem.inputs.items() if i.value is not None}
        if len(given) == len(problem.inputs) and not problem.admits(given):
            words = "the given point lies outside of the domain"
            section.complain(("domain",), words, "move the point, or widen the domain")
            raise TextError(section.complaints)
        return asked.with_made(problem, made)

    def _with_settings(self, **read: Any) -> Problem:
        """The record of what was read, with what the problem and its set say besides."""
        model, whole = self.model, self.whole
        followed = model.follow_through
        return Problem(
            **read,
            id=model.id,
            title=model.title,
            prompt=model.prompt,
            order=model.order,
            jacobian=model.jacobian,
            points=model.points,
            form=model.form,
            tolerance=_tolerance(model.tolerance),
            credit={
                **_credit(whole.credit),
                **_credit(model.credit),
                **{id: k.credit for id, k in zip(self._ids(), model.known, strict=True)},
            },
            brackets=model.brackets or whole.brackets,
            chain=model.chain or whole.chain,
            follow_through=whole.follow_through if followed is None else followed,
            file=self.section.document.file,
            line=self.section.document.place(self.section.at)[0],
        )

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
                self.section.complain(("wrong", k, "mistake"), words, cure)
            wrong.append((answer, each.mistake))
        return tuple(right), tuple(wrong)

    def _ids(self) -> list[str]:
        """What the known answers are called: those without a name of their own are numbered."""
        several = len(self.model.known) > 1
        return [
            f"{k.id}-{n}" if k.id == "known" and several else k.id
            for n, k in enumerate(self.model.known, 1)
        ]

    def _known(self, names: Sequence[str]) -> tuple[Known, ...]:
        """The wrong answers for which the teacher has words."""
        return tuple(
            Known(self._by_part(("known", k, "answer"), each.answer, names), each.says, id)
            for k, (id, each) in enumerate(zip(self._ids(), self.model.known, strict=True))
        )

    def _by_part(self, path: Place, answer: Any, names: Sequence[str]) -> Mapping[str, Any]:
        """An answer by the names of its parts; of the only part it may stand alone."""
        if isinstance(answer, dict):
            for name in answer.keys() - set(names):
                cure = f"one of {', '.join(sorted(names))}"
                self.section.complain((*path, name), f"`{name}` is not a part", cure, key=True)
            return answer
        if len(names) == 1 and answer is not None:
            return {names[0]: answer}
        each = ", ".join(f"{name}: ..." for name in names)
        self.section.complain(path, "an answer to each part was expected", f"write {{{each}}}")
        return {}


HERE = Path(__file__).parents[1]
HOME = HERE / "sets" if (HERE / "sets").is_dir() else HERE.parent / "problems"  # a checkout


def list_sets() -> list[Path]:
    """List the shipped sets, in the order of their names."""
    return sorted(HOME.glob("*.yaml"))


def find_set(name: str) -> Path | None:
    """Find the shipped set of that name, None where there is none."""
    return next((path for path in list_sets() if path.stem == name.removesuffix(".yaml")), None)


@cache
def shipped_problems() -> dict[str, Problem]:
    """Read all shipped problems, by id."""
    return {problem.id: problem for path in list_sets() for problem in load(path).problems}
