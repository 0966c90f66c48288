"""Problem files into problems: every fault with its place, what was expected, and the cure."""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck.documents import Document, read_yaml
from gradcheck.errors import Complaint, TextError
from gradcheck.problem.record import Problem, ProblemSet
from gradcheck.problem.section import Place, Section, check_credit
from gradcheck.values import Value

if TYPE_CHECKING:  # a question without a file needs no pydantic
    from gradcheck.problem.model import SetModel


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
        words = "the file is empty" if root is None else "a mapping was expected"
        raise TextError([document.complaint((), words, cure)])
    if {"student", "answers"} <= root.keys() and not {"problems", "program"} & root.keys():
        cure = f"`gradcheck grade PROBLEMS {file or 'ANSWERS'}` judges them"
        raise TextError([document.complaint((), "these are a student's answers", cure)])
    single = "problems" not in root
    model = _validate(document, single)
    base: Place = () if single else ("problems",)
    problems: list[Problem] = []
    complaints: list[Complaint] = []
    places = [base if single else (*base, k) for k in range(len(model.problems))]
    ids = [problem.id for problem in model.problems]
    for k, id in enumerate(ids):
        if id in ids[:k]:
            words = f"the id `{id}` is used twice"
            complaints.append(document.complaint((*places[k], "id"), words, "rename it"))
    for at, entry in zip(places, model.problems, strict=True):
        try:
            problems.append(Section(document, at, entry, model).problem())
        except TextError as error:
            complaints += error.complaints
    complaints += check_credit(document, (), model.credit)
    if complaints:
        raise TextError(complaints)
    kept = text.encode() if isinstance(text, str) else text
    return ProblemSet(model.title, tuple(problems), file, kept, model.late)


def _validate(document: Document, single: bool) -> "SetModel":
    """The text in its form; raises TextError with what is wrong, one complaint a place."""
    from pydantic import ValidationError  # noqa: PLC0415

    from gradcheck.problem.faults import faults  # noqa: PLC0415
    from gradcheck.problem.model import ProblemModel, SetModel  # noqa: PLC0415

    value: Value = document.value
    try:
        if single:
            named = {"id": NAME.sub("-", Path(document.file).stem).strip("-") or "problem", **value}
            return SetModel(problems=[ProblemModel.model_validate(named)])
        return SetModel.model_validate(value)
    except ValidationError as error:
        raise TextError(faults(document, error)) from None


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
