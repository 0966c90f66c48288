"""Pages of a graded batch, and sheets for print. Escaped, and complete in themselves."""

import ast
import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gradcheck.language.program import parse_python
from gradcheck.problem import Problem, is_training
from gradcheck.problem.draw import fill, write_readable, write_title
from gradcheck.problem.record import Part
from gradcheck.report.figures import as_mathml, render_formula, render_inline, render_prose
from gradcheck.report.judgements import VERDICTS, Line, format_mistake, format_witness, is_unnamed
from gradcheck.texts.notation import parse_formula, write_latex

if TYPE_CHECKING:
    from gradcheck.report.steps import Solution

SLUG = 40  # letters of a student's name in the name of the file
LONGEST = 2_000  # characters of an answer on a page
BINS = 10
CODED = re.compile("`([^`]*)`")


def name_page(student: str) -> str:
    """A file name that is safe everywhere, and never another student's: 80 bits of the name."""
    plain = unicodedata.normalize("NFKD", student).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:SLUG].strip("-")
    digest = hashlib.sha256(student.encode("utf-8", "replace")).digest()[:10]
    return f"{slug or 'student'}-{base64.b32encode(digest).decode().lower()}.html"


def render_class(title: str, facts: Any, notices: Sequence[tuple[str, bool]]) -> str:
    """The page of the class, from its statistics."""
    totals = [got for _, _, got, _ in facts.totals]
    mean = sum(totals) / len(totals) if totals else 0.0
    steps = spread(totals, facts.possible)
    return make_environment().get_template("class.html").render(
        title=title, facts=facts, notices=notices, mean=mean, spread=steps, verdicts=VERDICTS
    )  # fmt: skip


def render_problem(
    id: str, about: Mapping[str, Any], lines: Sequence[Line], solution: "Solution | None" = None
) -> Markup:
    """A problem on the page of a student who gave the answers of these lines."""
    variant = lines[0].get("variant") or {}
    title, prompt = (fill(about[key], variant) for key in ("title", "prompt"))
    program = tuple(split_marks(about["program"].rstrip(), lines))
    own = ", ".join(f"{name} = {value}" for name, value in variant.items())
    score, worth = (sum(line[name] for line in lines) for name in ("score", "points"))
    head = _write("head", title or id, prompt, program, own, score, worth)
    said = [head, *map(_find_macros("section.html").part, lines)]
    said += [_write("solution", solution)] if solution and solution.forms else []
    return Markup("".join([*said, "</section>"]))  # all of them were escaped


def _tell_mistakes(line: Line) -> Markup:
    """The mistakes that give an answer; nothing where none is to be told."""
    named = tuple((format_mistake(each), each.get("says")) for each in line["mistakes"] or ())
    known = named or is_unnamed(line)
    return _write("mistakes", named, template="parts.html") if known else Markup("")


@cache
def _find_macros(template: str) -> Any:
    return make_environment().get_template(template).module


@lru_cache(maxsize=2_000)  # what students share is written once
def _write(macro: str, *told: Any, template: str = "section.html") -> Markup:
    return Markup(getattr(_find_macros(template), macro)(*told))


def render_student(student: Any, title: str, sections: Iterable[Markup]) -> str:
    """The page of one student."""
    score, possible = (sum(line[name] for line in student.lines) for name in ("score", "points"))
    return make_environment().get_template("student.html").render(
        student=student.name, called=student.called, title=title, sections=sections,
        score=score, possible=possible,
    )  # fmt: skip


def spread(totals: Sequence[float], possible: float) -> list[tuple[str, int]]:
    """How many students have so many points: equal steps from none to all."""
    counts = [0] * BINS
    for total in totals:
        share = total / possible if possible else 0.0
        counts[min(BINS - 1, max(0, int(share * BINS)))] += 1
    edges = [possible * k / BINS for k in range(BINS + 1)]
    return [(f"{edges[k]:.4g} to {edges[k + 1]:.4g}", count) for k, count in enumerate(counts)]


@cache
def make_environment() -> Environment:
    """The templates of this room."""
    return load_templates("gradcheck.report")


def load_templates(package: str) -> Environment:
    """The templates of a package: everything escaped, and nothing left out by mistake."""
    found = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "formula": render_formula,
        "typed": clip_answer,
        "coded": mark_code,
        "prose": lru_cache(maxsize=1_000)(render_prose),
        "inline": lru_cache(maxsize=1_000)(render_inline),
        "mistake_name": format_mistake,
        "mistakes": _tell_mistakes,
        "points": lambda value: f"{value:.6g}",
        "page": name_page,
        "titled": write_title,
    }
    found.globals |= {"unnamed": is_unnamed, "marked": split_marks}
    found.globals["witness"] = lambda line: format_witness(line["witness"])
    return found


def clip_answer(answer: Any) -> str:
    """An answer as it was typed."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def mark_code(words: str) -> Markup:
    """A sentence in which what stands between backticks is code."""
    return Markup(CODED.sub(r"<code>\1</code>", str(escape(words))))


def split_marks(source: str, lines: Iterable[Line]) -> list[tuple[str, bool]]:
    """A program in stretches: those in which a mistake stands are marked."""
    spans = sorted(
        (m["start"], m["end"])
        for line in lines
        for m in line["mistakes"] or ()
        if m.get("start") is not None
    )
    found: list[tuple[str, bool]] = []
    done = 0
    for start, end in spans:
        first = max(start, done)
        if end > first:
            found += [(source[done:first], False), (source[first:end], True)]
            done = end
    return [each for each in [*found, (source[done:], False)] if each[0]]


# -- sheets for print ------------------------------------------------------------------------------


MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+.!|$~-])")


@dataclass(frozen=True)
class Sheet:
    """The problems of one student: `name` is what answers are handed in under."""

    name: str
    called: str
    problems: Sequence[Problem]


def render_sheets(title: str, sheets: Sequence[Sheet]) -> str:
    """One sheet or many as HTML, each on paper of its own."""
    shown = [(sheet, [_collect_facts(problem) for problem in sheet.problems]) for sheet in sheets]
    template = make_environment().get_template("sheet.html")
    return template.render(title=title, sheets=shown)


def write_sheet(title: str, sheet: Sheet) -> str:
    """One sheet as Markdown, formulas between dollars."""
    who = " ".join(filter(None, (sheet.called, f"({sheet.name})" if sheet.called else sheet.name)))
    lines = [f"# {_escape_markdown(title or 'Problems')}", "", f"**{_escape_markdown(who)}**"]
    for number, problem in enumerate(sheet.problems, 1):
        lines += ["", *_write_entry(number, problem)]
    return "\n".join(lines) + "\n"


def _write_entry(number: int, problem: Problem) -> Iterator[str]:
    found = _collect_facts(problem)
    yield f"## {number}. {problem.title or problem.id} ({found['worth']})"
    if problem.prompt:
        yield from ("", problem.prompt.strip())
    formula = write_latex(found["formula"])
    head = f"f({', '.join(problem.wrt)}) = "
    code = f"```python\n{found['program']}\n```" if found["program"] else ""
    if shown := f"$${head}{formula}$$" if formula else code:
        yield from ("", shown)
    if found["given"]:
        yield from ("", "; ".join(f"`{words}`" for words in found["given"]))
    yield ""
    yield from (f"- `{name}`: {words}" for name, words in found["parts"])


def _collect_facts(problem: Problem) -> dict[str, Any]:
    formula = "" if is_training(problem) else substitute_numbers(problem)
    return {
        "problem": problem,
        "worth": f"{problem.points:g} point{'' if problem.points == 1 else 's'}",
        "formula": formula,
        "mathml": as_mathml(formula),
        "program": "" if problem.programs else problem.program.source.strip(),
        "given": list(_describe_inputs(problem, bool(as_mathml(formula)))),
        "parts": [(problem.id if len(problem.parts) == 1 else f"{problem.id}.{part.name}",
                   _describe_part(problem, part)) for part in problem.parts],
    }  # fmt: skip


def _describe_part(problem: Problem, asked: Part) -> str:
    if asked.ask is not None:
        read = f"{asked.ask.source.strip()} at the end"
        return f"a program: it leaves {read}" if asked.form == "program" else read
    part = asked.name
    first, _, second = part.partition(".")
    if problem.order == 2 and first in problem.inputs:
        return f"the second derivative by {first}" + (f" and {second}" if first != second else "")
    if part not in problem.inputs:
        return part
    if problem.jacobian:
        return f"the Jacobian by {part}"
    several = problem.inputs[part].shape
    return f"the gradient by {part}" if several else f"the derivative by {part}"


def _describe_inputs(problem: Problem, written: bool) -> Iterator[str]:
    """The inputs that the formula does not show: `x = 0.7 (if you answer with a number)`."""
    for name, each in problem.select_inputs(problem.inputs).items():
        if each.value is None:
            yield f"{name}: {' by '.join(map(str, each.shape))} numbers"
        elif name not in problem.variant or not written or each.shape:
            point = " (if you answer with a number)" if written and name in problem.wrt else ""
            yield f"{name} = {write_readable(each.value)}{point}"


def substitute_numbers(problem: Problem) -> str:
    """A program of one expression with the student's numbers in it; empty where it is longer."""
    try:
        tree = parse_python(problem.program.source.strip(), "eval")
    except SyntaxError:
        return ""
    numbers = {n: repr(v) for n, v in problem.variant.items() if np.ndim(v) == 0}
    return ast.unparse(_Numbers(numbers).visit(tree))


class _Numbers(ast.NodeTransformer):
    """Names become numbers."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name with a value becomes it; a minus is a sign before it, as if it were typed."""
        text = self.values.get(node.id)
        return node if text is None else parse_formula(text)


def _escape_markdown(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))
