"""A wrong formula that one small change of what was typed would have made right."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flint import arb

from gradcheck.answers import Formula
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import TextError
from gradcheck.grading.equivalence import compare
from gradcheck.grading.formulas.from_tree import line_from_tree
from gradcheck.grading.formulas.line import Line
from gradcheck.grading.formulas.swapping import Swapping
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key, Spot
from gradcheck.grading.repairs import Change, Repair, changes
from gradcheck.mistakes.typing import SLIPS
from gradcheck.numbers.run import precision
from gradcheck.problem.record import Part

BITS = 128
FEWEST = 3  # pieces of a formula: of a shorter one, a change is not a slip but another answer


def repaired(key: Key, part: Part, formula: Formula) -> Diagnosis | None:
    """The diagnosis of a typed formula that one change makes right; None where none does.

    Of single numbers only, compared at all points. Where several changes do, the likeliest is
    named; its place is in the answer.
    """
    if part.name not in key.problem.wrt or key.run is not None:
        return None
    scope = key.scope
    shapes = {name: entry.shape for name, entry in scope.inputs.items()}
    try:
        own = line_from_tree(formula.tree, formula.text, shapes)
    except (TextError, *FAILURES):
        return None
    if own is None or len(own.steps) < FEWEST:
        return None
    names = [name for name, shape in key.problem.given(shapes).items() if shape == ()]
    with precision(BITS):
        near = list(_near(key.spots[0], part.name, formula, names))
    for change in near:
        each = change.made(formula.tree)
        line = line_from_tree(each.tree, formula.text, shapes)
        if line is not None and _fits(key, part.name, line):
            return _diagnosis(formula, each)
    return None


def _near(spot: Spot, part: str, formula: Formula, names: Sequence[str]) -> Iterator[Change]:
    """The changes that make a formula right at one point, the likeliest first."""
    due = spot.gradient(part)(BITS)
    swapping = Swapping(formula.tree.body, spot.arbs(BITS))
    if not isinstance(due, arb):
        return
    for change in changes(formula.tree, names):
        try:
            here = swapping.value(change.node, change.new)
        except FAILURES:
            continue
        if here.is_finite() and here.overlaps(due):
            yield change


def _fits(key: Key, part: str, line: Line) -> bool:
    """Whether a formula is right at all points."""
    try:
        answers = [_at(line, each.arbs) for each in key.spots]
        return compare(answers, [s.gradient(part) for s in key.spots]).kind == "equal"
    except FAILURES:
        return False


def _at(line: Line, arbs: Callable[[int], Any]) -> Callable[[int], arb]:
    return lambda bits: line.value(arbs(bits), bits)


def _diagnosis(formula: Formula, found: Repair) -> Diagnosis:
    """The slip, with its place in what was typed."""
    piece = formula.text[found.start : found.end]
    text = piece.lstrip(" )]}")  # between two terms, what closes the first one
    end = found.end
    now = found.now if "**" in formula.text else found.now.replace("**", "^")
    cure = f"with `{now}` for `{text}`" if now else f"without `{text}`"
    span = (end - len(text), end)
    hypothesis = Hypothesis(SLIPS[found.kind], span, texts={"cure": cure, "text": text})
    return Diagnosis("unique", (hypothesis,))
