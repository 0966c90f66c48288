"""Problem files into problems: every fault with its place, what was expected, and the cure."""

import re
from functools import cache
from pathlib import Path

from gradcheck.documents import Document, read_yaml
from gradcheck.errors import Complaint, TextError
from gradcheck.problem.record import Problem, ProblemSet
from gradcheck.values import Value

NAME = re.compile(r"[^A-Za-z0-9._-]+")  # what may not stand in an id


def load(path: str | Path) -> ProblemSet:
    """The problem set in a file; raises TextError with all complaints, or OSError."""
    file = Path(path)
    return load_text(file.read_bytes(), str(file))


def load_text(text: str | bytes, file: str = "") -> ProblemSet:
    from gradcheck.problem.faults import check  # noqa: PLC0415 - a question needs no pydantic
    from gradcheck.problem.model import ProblemModel, SetModel  # noqa: PLC0415
    from gradcheck.problem.section import Section  # noqa: PLC0415

    document = read_yaml(text, file)
    root = _find_mapping(document)
    complaints: list[Complaint] = []
    single = "problems" not in root
    whole, entries = SetModel.model_construct(), [root]
    if single:
        root.setdefault("id", NAME.sub("-", Path(file).stem).strip("-")[:64] or "problem")
    else:
        whole = check(SetModel, root, document, (), complaints) or whole
        entries = root["problems"] if isinstance(root["problems"], list) else []
    problems: list[Problem] = []
    ids: set[str] = set()
    for k, entry in enumerate(entries):
        at = () if single else ("problems", k)
        model = check(ProblemModel, entry, document, at, complaints)
        if model is None:
            continue
        if model.id in ids:
            words = f"the id `{model.id}` is used twice"
            complaints.append(document.complaint((*at, "id"), words, "rename it"))
        ids.add(model.id)
        try:
            problems.append(Section(document, at, model, whole).problem())
        except TextError as error:
            complaints += error.complaints
    if complaints:
        raise TextError(sorted(complaints, key=lambda each: (each.line, each.column)))
    kept = text.encode() if isinstance(text, str) else text
    return ProblemSet(whole.title, tuple(problems), file, kept, whole.late)


def _find_mapping(document: Document) -> dict[str, Value]:
    root = document.value
    if not isinstance(root, dict):
        listed = isinstance(root, list)
        cure = "write `problems:` on a line before the list" if listed else "start with `id:`"
        words = "the file is empty" if root is None else "a mapping was expected"
        raise TextError([document.complaint((), words, cure)])
    if {"student", "answers"} <= root.keys() and not {"problems", "program"} & root.keys():
        cure = f"`gradcheck grade PROBLEMS {document.file or 'ANSWERS'}` judges them"
        raise TextError([document.complaint((), "these are a student's answers", cure)])
    return root


HERE = Path(__file__).parents[1]
HOME = HERE / "sets" if (HERE / "sets").is_dir() else HERE.parent / "problems"  # a checkout


def list_sets() -> list[Path]:
    return sorted(HOME.glob("*.yaml"))


def find_set(name: str) -> Path | None:
    """Find the shipped set of that name, None where there is none."""
    return next((path for path in list_sets() if path.stem == name.removesuffix(".yaml")), None)


@cache
def shipped_problems() -> dict[str, Problem]:
    return {problem.id: problem for path in list_sets() for problem in load(path).problems}
