"""`%gradcheck FILE` opens problem sets in a notebook, `%gradcheck PROBLEM` asks, a cell answers."""

import shlex
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gradcheck.errors import GradcheckError
from gradcheck.grading.key import Key, find_variant, make_key
from gradcheck.grading.marking import gather_among, mark
from gradcheck.problem import Problem, load
from gradcheck.problem.load import find_set, load_shipped
from gradcheck.problem.record import Part
from gradcheck.report.figures import format_value
from gradcheck.report.judgements import locate_mistake, make_line, restrict
from gradcheck.report.pages import make_environment

OPENS = "`%gradcheck FILE.yaml` opens a set of problems"


@dataclass(eq=False)
class Shown:
    """What a cell leaves: HTML for the notebook, plain words for a terminal."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass(eq=False)
class OpenProblem:
    """A problem as one student has it, and the last answer to each of its parts."""

    problem: Problem
    student: str = ""
    answers: dict[str, str] = field(default_factory=dict)

    @cached_property
    def key(self) -> Key:
        return make_key(find_variant(self.problem, self.student))


@dataclass(eq=False)
class NotebookPractice:
    """The problems that a notebook has opened, by their ids."""

    opened: dict[str, OpenProblem] = field(default_factory=dict)

    def open(self, given: str) -> Shown:
        """`%gradcheck FILE... [--student NAME]` opens sets; `%gradcheck PROBLEM` asks one."""
        try:
            files, student = _read(given)
            if not files:
                raise GradcheckError(f"no file was named - {OPENS}")
            if len(files) == 1 and not Path(files[0]).exists() and (asked := self._find(files[0])):
                return _show_question(asked.key)
            for file in files:
                for problem in load(find_set(file) or file).problems:
                    self.opened[problem.id] = OpenProblem(problem, student)
        except OSError as error:
            words = f"{error.filename}: {error.strerror}, and no problem is called so"
            return _render_complaint(f"{words} - {OPENS}")
        except (GradcheckError, ValueError) as error:
            return _render_complaint(str(error))
        html = _get_cell().listed([asked.problem for asked in self.opened.values()])
        return Shown(str(html), "\n".join(self.opened))

    def answer(self, given: str, cell: str) -> Shown:
        """`%%gradcheck PROBLEM` or `PROBLEM.PART`: judge the cell."""
        try:
            asked, part = self._find_asked(given.strip())
            ready = asked.key
            source = ready.problem.program.source
            asked.answers[part.name] = cell.strip()
            answer = gather_among(ready.problem, part.name, asked.answers)
            said = restrict(make_line(mark(ready, part, answer), source), "full")
        except (GradcheckError, OSError, ValueError) as error:
            return _render_complaint(str(error))
        place = locate_mistake(ready, part, said)
        html = _get_cell().judged(said, source, place)
        named = ", ".join(m["id"] for m in said["mistakes"] or ())
        return Shown(str(html), f"{said['verdict']}: {named}" if named else said["verdict"])

    def _find_asked(self, name: str) -> tuple[OpenProblem, Part]:
        asked = self._find(name)
        if asked is None:
            known = ", ".join(self.opened)
            raise GradcheckError(f"no problem is called `{name}` - " + (known or OPENS))
        id = asked.problem.id
        part = asked.problem.part(name[len(id) + 1 :])
        if part is None:
            names = ", ".join(f"`{id}.{each.name}`" for each in asked.problem.parts)
            raise GradcheckError(f"which part of `{id}` is answered? - one of {names}")
        return asked, part

    def _find(self, name: str) -> OpenProblem | None:
        """The problem that is named, with its part or without; opened, or shipped."""
        shipped = load_shipped()
        for known in (self.opened, shipped):
            fitting = [id for id in known if name == id or name.startswith(f"{id}.")]
            if fitting:
                id = max(fitting, key=len)
                return self.opened.get(id) or self.opened.setdefault(id, OpenProblem(shipped[id]))
        return None


def _show_question(ready: Key) -> Shown:
    from gradcheck.web.drawing import draw_graphs  # noqa: PLC0415

    problem = ready.problem
    given = {name: format_value(value) for name, value in ready.points[0].items()}
    html = _get_cell().asked(problem, given.items(), Markup(draw_graphs(ready)[0] or ""))
    at = ", ".join(f"{name} = {value}" for name, value in given.items())
    said = problem.title, problem.prompt, problem.program.source, f"at {at}"
    return Shown(str(html), "\n".join(each.strip() for each in said if each))


def _get_cell() -> Any:
    return make_environment().get_template("cell.html").module


def _read(given: str) -> tuple[list[str], str]:
    words = shlex.split(given)
    student = ""
    if "--student" in words[:-1]:
        k = words.index("--student")
        student = words[k + 1]
        del words[k : k + 2]
    return words, student


def _render_complaint(words: str) -> Shown:
    return Shown(str(Markup("<p><code>{}</code></p>").format(words)), words)
