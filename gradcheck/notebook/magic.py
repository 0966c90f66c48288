"""`%gradcheck FILE` opens problem sets in a notebook, `%gradcheck PROBLEM` asks, a cell answers."""

import shlex
from dataclasses import dataclass, field
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
class NotebookPractice:
    """The problems that a notebook has opened, and the keys to those that were asked."""

    shell: Any
    problems: dict[str, Problem] = field(default_factory=dict)
    students: dict[str, str] = field(default_factory=dict)  # whose variant of a problem is asked
    keys: dict[str, Key] = field(default_factory=dict)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)  # the last one to each part

    def open(self, given: str) -> Shown:
        """`%gradcheck FILE... [--student NAME]` opens sets; `%gradcheck PROBLEM` asks one."""
        try:
            files, student = _read(given)
            if len(files) == 1 and not Path(files[0]).exists() and (id := self._find_id(files[0])):
                return self._question(self._key(id))
            if not files:
                raise GradcheckError(f"no file was named - {OPENS}")
            for file in files:
                for problem in load(find_set(file) or file).problems:
                    self.problems[problem.id] = problem
                    self.students[problem.id] = student
                    self.keys.pop(problem.id, None)
                    self.answers.pop(problem.id, None)
        except OSError as error:
            words = f"{error.filename}: {error.strerror}, and no problem is called so"
            return _render_complaint(f"{words} - {OPENS}")
        except (GradcheckError, ValueError) as error:
            return _render_complaint(str(error))
        html = _get_cell().listed(self.problems.values())
        return Shown(str(html), "\n".join(self.problems))

    def answer(self, given: str, cell: str) -> Shown:
        """`%%gradcheck PROBLEM` or `PROBLEM.PART`: judge the cell."""
        try:
            ready, part = self._find_asked(given.strip())
            typed = self.answers.setdefault(ready.problem.id, {})
            typed[part.name] = cell.strip()
            answer = gather_among(ready.problem, part.name, typed)
            said = restrict(make_line(mark(ready, part, answer), _read_source(ready)), "full")
        except (GradcheckError, OSError, ValueError) as error:
            return _render_complaint(str(error))
        place = locate_mistake(ready, part, said)
        html = _get_cell().judged(said, _read_source(ready), place)
        words = [said["verdict"], *(m["id"] for m in said["mistakes"] or ())]
        return Shown(str(html), ": ".join([words[0], ", ".join(words[1:])]).rstrip(": "))

    def _find_asked(self, name: str) -> tuple[Key, Part]:
        id = self._find_id(name)
        if not id:
            known = ", ".join(self.problems)
            raise GradcheckError(f"no problem is called `{name}` - " + (known or OPENS))
        problem = self.problems[id]
        part = problem.part(name[len(id) + 1 :])
        if part is None:
            names = ", ".join(f"`{id}.{each.name}`" for each in problem.parts)
            raise GradcheckError(f"which part of `{id}` is answered? - one of {names}")
        return self._key(id), part

    def _find_id(self, name: str) -> str:
        """The id of the problem that is named, with its part or without; opened, or shipped."""
        for problems in (self.problems, load_shipped()):
            fitting = [id for id in problems if name == id or name.startswith(f"{id}.")]
            if fitting:
                id = max(fitting, key=len)
                self.problems.setdefault(id, problems[id])
                return id
        return ""

    def _key(self, id: str) -> Key:
        if id not in self.keys:
            self.keys[id] = make_key(find_variant(self.problems[id], self.students.get(id, "")))
        return self.keys[id]

    def _question(self, ready: Key) -> Shown:
        """The problem itself: its words, its program, its graph."""
        from gradcheck.web.drawing import draw_graphs  # noqa: PLC0415

        problem = ready.problem
        given = {name: format_value(value) for name, value in ready.points[0].items()}
        html = _get_cell().asked(problem, given.items(), Markup(draw_graphs(ready)[0] or ""))
        at = ", ".join(f"{name} = {value}" for name, value in given.items())
        said = problem.title, problem.prompt, _read_source(ready), f"at {at}"
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


def _read_source(ready: Key) -> str:
    return ready.problem.program.source


def _render_complaint(words: str) -> Shown:
    return Shown(str(Markup("<p><code>{}</code></p>").format(words)), words)
