"""Sheets for print: each student's own problems, as HTML and as Markdown with LaTeX."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.problem import Problem, is_training
from gradcheck.problem.draw import readable
from gradcheck.problem.record import Part
from gradcheck.report.pages import environment
from gradcheck.report.prose import mathml
from gradcheck.texts.notation import latex

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+.!|$~-])")


@dataclass(frozen=True)
class Sheet:
    """The problems of one student: `name` is what answers are handed in under."""

    name: str
    called: str
    problems: Sequence[Problem]


def sheets_page(title: str, sheets: Sequence[Sheet]) -> str:
    """One sheet or many as HTML, each on paper of its own."""
    shown = [(sheet, [_sheet_facts(problem) for problem in sheet.problems]) for sheet in sheets]
    template = environment().get_template("sheet.html")
    return template.render(title=title, sheets=shown)


def sheet_markdown(title: str, sheet: Sheet) -> str:
    """One sheet as Markdown, formulas between dollars."""
    who = " ".join(filter(None, (sheet.called, f"({sheet.name})" if sheet.called else sheet.name)))
    lines = [f"# {_plain(title or 'Problems')}", "", f"**{_plain(who)}**"]
    for number, problem in enumerate(sheet.problems, 1):
        lines += ["", *_entry(number, problem)]
    return "\n".join(lines) + "\n"


def _entry(number: int, problem: Problem) -> Iterator[str]:
    found = _sheet_facts(problem)
    yield f"## {number}. {problem.title or problem.id} ({found['worth']})"
    if problem.prompt:
        yield from ("", problem.prompt.strip())
    formula = latex(found["formula"])
    head = f"f({', '.join(problem.wrt)}) = "
    yield from ("", f"$${head}{formula}$$" if formula else f"```python\n{found['program']}\n```")
    if found["given"]:
        yield from ("", "; ".join(f"`{words}`" for words in found["given"]))
    yield ""
    yield from (f"- `{name}`: {words}" for name, words in found["parts"])


def _sheet_facts(problem: Problem) -> dict[str, Any]:
    formula = "" if is_training(problem) else substitute_numbers(problem)
    return {
        "problem": problem,
        "worth": f"{problem.points:g} point{'' if problem.points == 1 else 's'}",
        "formula": formula,
        "mathml": mathml(formula),
        "program": problem.program.source.strip(),
        "given": list(_describe_inputs(problem, bool(mathml(formula)))),
        "parts": [(_answer_name(problem, part.name), _describe_part(problem, part))
                  for part in problem.parts],
    }  # fmt: skip


def _answer_name(problem: Problem, part: str) -> str:
    """The name under which an answer is handed in."""
    return problem.id if len(problem.parts) == 1 else f"{problem.id}.{part}"


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
    for name, each in problem.inputs.items():
        if each.value is None:
            yield f"{name}: {' by '.join(map(str, each.shape))} numbers"
        elif name not in problem.variant or not written or each.shape:
            point = " (if you answer with a number)" if written and name in problem.wrt else ""
            yield f"{name} = {readable(each.value)}{point}"


def substitute_numbers(problem: Problem) -> str:
    """A program of one expression with the student's numbers in it; empty where it is longer."""
    try:
        tree = ast.parse(problem.program.source.strip(), mode="eval")
    except SyntaxError:
        return ""
    numbers = {n: v for n, v in problem.variant.items() if np.ndim(v) == 0}
    return ast.unparse(ast.fix_missing_locations(_Numbers(numbers).visit(tree)))


class _Numbers(ast.NodeTransformer):
    """Names become numbers, and `+ -2` becomes `- 2`."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name with a value becomes it."""
        return ast.Constant(self.values[node.id]) if node.id in self.values else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A sum with a negative number becomes a difference."""
        self.generic_visit(node)
        turned: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
        right = node.right
        low = isinstance(right, ast.Constant) and isinstance(right.value, int | float)
        if type(node.op) in turned and low and right.value < 0:  # type: ignore[attr-defined]
            number = ast.Constant(-right.value)  # type: ignore[attr-defined]
            return ast.BinOp(node.left, turned[type(node.op)](), number)
        return node


def _plain(text: str) -> str:
    """A text in which nothing means anything to Markdown."""
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))
