"""Notebooks: tensors, verdicts and diagnoses shown as such, and practice.

`%gradcheck FILE` opens problem sets, `%gradcheck PROBLEM` asks, a cell `%%gradcheck PROBLEM`
answers. All HTML is escaped, formulas are MathML.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from gradcheck.errors import GradcheckError
from gradcheck.grading.key import Key, find_variant, make_key
from gradcheck.grading.marking import gather_among, mark
from gradcheck.problem import Problem, load
from gradcheck.problem.load import find_set, load_shipped
from gradcheck.problem.record import Part
from gradcheck.report.figures import as_mathml, format_bar, format_value, nest_text
from gradcheck.report.judgements import locate_mistake, make_line, restrict
from gradcheck.report.pages import make_environment

__all__ = ["NotebookPractice", "register"]

OPENS = "`%gradcheck FILE.yaml` opens a set of problems"
FORM = 300  # characters of a closed form
TABLE = Markup('<table class="gradcheck" style="text-align: left">{}</table>')
ROW = Markup('<tr><th style="text-align: left">{}</th><td style="text-align: left">{}</td></tr>')
CODE = Markup("<code style='white-space: pre-wrap'>{}</code>")


def register(shell: Any) -> None:
    """Teach an IPython shell the magics and how our objects look; nothing is imported for it."""
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), shown in HTML.items():
        formatter.for_type_by_name(module, name, shown)
    practice = NotebookPractice()
    shell.register_magic_function(practice.open, "line", "gradcheck")
    shell.register_magic_function(practice.answer, "cell", "gradcheck")


# -- practice --------------------------------------------------------------------------------------


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


# -- what our objects look like --------------------------------------------------------------------


def render_tensor(tensor: Any) -> str:
    """A tensor's value, its gradient, and where it comes from."""
    rows = [("tensor", CODE.format(repr(tensor)))]
    if tensor.requires_grad and tensor.is_leaf:
        rows.append(("grad", CODE.format(repr(tensor.grad))))
    if tensor.grad_fn is not None:
        rows.append(("grad_fn", CODE.format(tensor.grad_fn.name())))
    return _render_table(rows)


def render_verdict(verdict: Any) -> str:
    """The verdict, and each gradient with its error bar and closed form."""
    rows = [("verdict", Markup("<b>{}</b>").format(verdict.verdict))]
    for name, part in verdict.parts.items():
        if part.gradient is not None:
            error = float(np.max(part.gradient.error, initial=0.0))
            shown = np.array2string(np.asarray(part.gradient.value), precision=6, threshold=20)
            rows.append((f"d/d{name}", CODE.format(f"{shown}  {format_bar(error)}")))
        form = nest_text(verdict.opinions["symbolic"].closed.get(name))
        rows += _render_forms(f"d/d{name}", form)
    rows += [("note", CODE.format(note)) for note in verdict.notes]
    return _render_table(rows)


def render_result(result: Any) -> str:
    """What a check found at the first point, its closed forms, and what is wrong."""
    rows = [("check", Markup("<b>{}</b>").format("passed" if result.ok else "failed"))]
    shown = Markup(render_verdict(result.verdicts[0]))
    forms = result.closed_form if len(result.case.wrt) > 1 else (result.closed_form,)
    rows += _render_forms("closed form", *forms)
    said = Markup("") if result.ok else CODE.format(result.message)
    return Markup("{}{}{}").format(Markup(_render_table(rows)), shown, said)


def render_diagnosis(diagnosis: Any) -> str:
    """Each mistake that fits, in words."""
    from gradcheck.diagnosis import write_words  # noqa: PLC0415

    rows = [("diagnosis", Markup("<b>{}</b>").format(diagnosis.certainty))]
    rows += [(h.mistake.id, Markup("{}").format(write_words(h))) for h in diagnosis.hypotheses]
    rows += [("note", Markup("{}").format(remark)) for remark in diagnosis.remarks]
    return _render_table(rows)


def _render_forms(name: str, *forms: Any) -> list[tuple[str, Markup]]:
    """The closed forms of numbers as MathML, or as text; without those that are not written out."""
    written = [form for form in forms if isinstance(form, str) and 0 < len(form) <= FORM]
    shown = [(as_mathml(form), CODE.format(form)) for form in written]
    return [(name, Markup(formula) if formula else code) for formula, code in shown]


def _render_table(rows: list[tuple[str, Markup]]) -> str:
    return str(TABLE.format(Markup("").join(ROW.format(*row) for row in rows)))


HTML: Mapping[tuple[str, str], Callable[[Any], str]] = {
    ("gradcheck.engine.tensor", "Tensor"): render_tensor,
    ("gradcheck.verdict.consult", "Verdict"): render_verdict,
    ("gradcheck.testing.result", "Result"): render_result,
    ("gradcheck.diagnosis.explain", "Diagnosis"): render_diagnosis,
}
