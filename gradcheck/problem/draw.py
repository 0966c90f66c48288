"""What is drawn: points inside a program's own domain, and the numbers of a student's own problem.

What is given by its shape alone is drawn from a generator that the problem's id seeds, further
points from one that the program's text seeds: the same answer meets the same points in every set.

Numbers are short decimals, so that a witness reads well; several scales are tried, and a point is
kept only where the value and every gradient are finite and nothing is at a kink. Where the program
branches, the points are dealt evenly among the paths found.

The k-th draw of an input with choices is the value whose number is SHA-256 of the UTF-8 text

    gradcheck variant 1, the name, the problem's id, the input, k        (a line each)

read from its first eight bytes as a whole number, most significant first, modulo the number of
values. So every machine draws alike. Of a name neither capitals nor spaces nor the way in which
accents are encoded count: NFKC, case folded, single blanks.
"""

import ast
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, count, cycle, islice, product, repeat, zip_longest
from math import prod

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import watching
from gradcheck.engine.tensor import unwrap
from gradcheck.errors import Complaint, GradcheckError, TextError
from gradcheck.language.program import locate_running
from gradcheck.numbers.ball import each
from gradcheck.opinions.opinion import NotScalar, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.ops.row import Interval, Op
from gradcheck.problem.record import Input, Path, Point, Problem
from gradcheck.values import Array, Params, Value

Scale = tuple[float, float]
Drawn = tuple[Point, Opinion | None]  # with the closed form's opinion, where that was asked

SCALES: tuple[Scale, ...] = (
    (-2.0, 2.0), (0.1, 2.0), (-1.0, 1.0), (0.05, 0.95), (1.05, 4.0), (-6.0, 6.0), (2.0, 30.0),
)  # fmt: skip
# Small, large, and far away: for terms that hide behind others in the middle of the line.
FAR: tuple[Scale, ...] = (
    (0.001, 0.01), (20.0, 60.0), (-60.0, -20.0), (-0.01, -0.001), (100.0, 1000.0),
    (-1000.0, -100.0),
)  # fmt: skip
OFFSETS = (1.0, 0.1, 0.01)  # how near to a number in the program's text
TRIES = 12
PLACES = 10_000  # decimals are drawn to four places where two would be too coarse
SMALL = 4  # entries: programs that are looked at long enough to find rare paths
EXPLORED = {True: 60, False: 16}
NEARBY = 8
DENOMINATOR = 2**61 - 1  # of numbers that are no decimals, nor near one
VALUELESS = "the program ends without a value", "let the last line be an expression: the value"
LARGE = 2_000
"""Entries of all inputs beyond which no path is asked for: it is too long to be told apart."""


def draw_given_point(problem: Problem) -> Point:
    """The point that the file states; inputs given only by shape are drawn to fit.

    Raises TextError where the program fails at every point, GradcheckError where it has no value.
    """
    fixed = {name: i.value for name, i in problem.inputs.items() if i.value is not None}
    drawn = [i for i in problem.inputs.values() if i.value is None]
    if not drawn:
        return fixed
    usual = draw_candidates(fixed, drawn, problem.seed, SCALES * TRIES)
    near = ({**point, **fixed} for point in _draw_all_candidates(problem, TRIES * len(SCALES)))
    for point in chain(usual, near):
        try:
            problem.value_on("float", point)  # where it fails, a closed form takes its time to
        except GradcheckError:
            continue
        if look(problem, point) is not None:
            return point
    if problem.value_on("float", point) is None:
        raise problem.refuse(*VALUELESS)
    why = reverse(problem.case(point), samples=1).abstains.removeprefix("TextError: ")
    raise GradcheckError(
        f"no draw of {', '.join(i.name for i in drawn)} gives a finite gradient"
        + (f": {why}" if why else " - move what is given, or give values instead of a shape")
    )


def draw_further_points(problem: Problem, count: int) -> list[Drawn]:
    """Other points for comparing formulas: what is differentiated or drawn varies.

    Enough of them; of a program that branches, also after a fair look at its paths.
    """
    _, varying = split(problem)
    explored = EXPLORED[sum(int(np.prod(i.shape)) for i in varying) <= SMALL]
    found: dict[Path, list[Drawn]] = {}
    tried = _draw_all_candidates(problem, TRIES * count) if varying else ()
    for n, point in enumerate(tried):
        if seen := look(problem, point, write=n == 0 or any(found)):
            found.setdefault(seen[0], []).append((point, seen[1]))
        fair = n + 1 >= explored or not any(found) or len(found) >= count
        if fair and sum(map(len, found.values())) >= count:
            break
    dealt = chain.from_iterable(zip_longest(*found.values()))  # from each path in turn
    return [drawn for drawn in dealt if drawn is not None][:count]


def draw_far_points(problem: Problem, count: int) -> list[Drawn]:
    """Points on unusual scales, where they lie in the domain."""
    fixed, varying = split(problem)
    tried = draw_candidates(fixed, varying, problem.seed_of_points + 2, FAR * 2 if varying else ())
    seen = ((point, found[1]) for point in tried if (found := look(problem, point)))
    return list(islice(seen, count))


def draw_points_near(problem: Problem, numbers: Sequence[Fraction]) -> Iterator[Point]:
    """Points at which inputs lie close to numbers that stand in some text, on both sides."""
    near = [(float(n) - offset, float(n) + offset) for offset in OFFSETS for n in numbers]
    scales = chain.from_iterable(repeat(scale, 4) for scale in near)
    return draw_candidates(*split(problem), problem.seed_of_points + 3, scales)


def draw_points_aside(problem: Problem, points: Iterable[Point]) -> Iterator[Point]:
    """Points a little aside, at no decimals: a period or a rounding that fits all decimals is seen.

    Further from 0 by less than a thousandth.
    """
    rng = np.random.default_rng(problem.seed_of_points + 4)
    varying = {i.name: i.shape for i in split(problem)[1]}
    for point in points:
        moved = dict(point)
        for name, shape in varying.items():
            drawn = rng.integers(DENOMINATOR // 1_000, size=shape)
            factors = each(lambda k: 1 + Fraction(int(k), DENOMINATOR), drawn)
            moved[name] = np.asarray(point[name] * factors, dtype=object)
        yield moved


def look(
    problem: Problem, point: Point, *, write: bool = False
) -> tuple[Path, Opinion | None] | None:
    """The comparisons taken at a point, and the closed form's opinion that they were read off.

    None outside the domain or at a tie. Without `write` all paths look alike. Where the value is
    no number any point does: what is wrong with it is said where it is looked at.
    """
    if not problem.admits(point):
        return None
    if sum(map(np.size, point.values())) <= LARGE:
        try:
            found = symbolic(problem.case(point), write=write, forms=False)
        except NotScalar:
            return (), None
        if not found.abstains:
            if found.ties or not _is_finite(found):
                return None
            path = problem.name_path(point, found.conditions)
            return path, replace(found, conditions=(), path=(), end=None)
    found = reverse(problem.case(point), samples=1)
    return ((), None) if not found.abstains and _is_finite(found) else None


def draw_decimals(rng: np.random.Generator, scale: Scale, shape: tuple[int, ...]) -> Array:
    """Uniform numbers of two decimals (or four, in a narrow interval), as exact Fractions."""
    low, high = scale
    units = 100 if high - low >= 0.5 else PLACES
    numbers = rng.integers(round(low * units), round(high * units), size=shape, endpoint=True)
    return each(lambda number: Fraction(int(number) or 7, units), numbers)


def split(problem: Problem) -> tuple[dict[str, Value], list[Input]]:
    """The inputs that stay as they are, and those that vary."""
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    return fixed, [i for i in problem.inputs.values() if i.varies]


def _draw_all_candidates(problem: Problem, count: int) -> Iterator[Point]:
    """The usual scales; every now and then a point close to a number in the program's text."""
    near = draw_points_near(problem, find_numbers(problem.program.tree))
    scales = islice(cycle(SCALES), count)
    tried = draw_candidates(*split(problem), problem.seed_of_points + 1, scales)
    for n, point in enumerate(tried):
        yield point
        if n % len(SCALES) == len(SCALES) - 1:
            yield from (found for found, _ in zip(near, range(NEARBY), strict=False))


def find_numbers(tree: ast.AST) -> list[Fraction]:
    """The numbers in a text that no usual scale comes close to by itself, with both signs."""
    found: dict[Fraction, None] = {}
    for node in ast.walk(tree):
        value: object = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            found |= {Fraction(value): None, -Fraction(value): None}
    return [value for value in found if 2 < abs(value) < 10**9][:NEARBY]


def draw_candidates(
    fixed: Params, drawn: Sequence[Input], seed: int, scales: Iterable[Scale]
) -> Iterator[Point]:
    rng = np.random.default_rng(seed)
    for scale in scales:
        yield {**fixed, **{i.name: draw_decimals(rng, scale, i.shape) for i in drawn}}


def _is_finite(opinion: Opinion) -> bool:
    finite = opinion.value is not None and opinion.value.finite
    return finite and all(g.finite for g in opinion.gradients.values())


# -- whether there is a value at a point at all; if not, where it is lost --------------------------


def check_value(problem: Problem, point: Point) -> None:
    """Raise TextError where the program fails at the point, or where it loses a finite value."""
    lost: list[tuple[Op, tuple[int, int] | None]] = []

    def look(row: Op, y: Value) -> Value:
        if not lost and not np.all(np.isfinite(y)):
            lost.append((row, locate_running()))
        return y

    own = {n: tensor(np.array(v, float), requires_grad=n in problem.wrt) for n, v in point.items()}
    with watching(disturb=look):
        value = unwrap(problem.value_on("tensor", own))
    if value is None:
        raise problem.refuse(*VALUELESS)
    if isinstance(value, str):
        words = "the value is of the type str, not a number or an array of them"
        raise problem.refuse(words, VALUELESS[1])
    _check_shape(problem, np.shape(value))
    if not np.all(np.isfinite(np.asarray(value, dtype=np.float64))):
        row, span = lost[0] if lost else (None, None)
        words = f"{row.name if row else 'the program'} has no finite value here"
        cure = "choose inputs at which the program has a finite value"
        domain = row.domain if row is not None else None
        if isinstance(domain, Interval) and domain != Interval(-np.inf, np.inf):
            bounds = f"{domain.low:g} and {domain.high:g}"
            cure = f"choose inputs that keep its argument between {bounds}"
        raise problem.refuse(words, cure, span or (0, 1))


def _check_shape(problem: Problem, shape: tuple[int, ...]) -> None:
    """Whether a value of that shape is one number, or it is said which are asked for."""
    due = shape if problem.cotangent is None else problem.cotangent.shape
    if due != shape:
        words = f"{problem.id}: the cotangent has the shape {due}, the value {shape}"
        cure = "give one number for each entry of the value"
        raise TextError([Complaint(words, cure, problem.file, problem.line, 1)])
    if problem.cotangent is None and prod(shape) != 1 and not problem.jacobian:
        words = f"the value has the shape {shape}: which sum of its entries is meant?"
        cure = "add `cotangent:` with a number for each entry, or end with `(...).sum()`"
        if not problem.file:
            cure = "write sum(...) around it, or ask for one entry"
        elif problem.order == 1:
            cure += "; `jacobian: true` asks for all of them"
        raise problem.refuse(words, cure)


# -- a problem for every student -------------------------------------------------------------------

Draw = tuple[int, ...]  # of each input with choices the number of its value
FORMAT = "gradcheck variant 1"
MARK = re.compile(r"\{(?P<name>[^\W\d]\w*)(?P<sign>:\+)?\}")
NUMBER = re.compile(r"0*(\d+)(?:\.0+)?")
ARGUMENT = re.compile(r"(?:[_^}]|\\[A-Za-z]+)\Z")  # what LaTeX takes an argument after


def draw(problem: Problem, student: str, k: int = 0) -> Draw:
    return tuple(
        _draw_number(fold_name(student), problem.id, name, k) % len(values)
        for name, values in problem.choices.items()
    )


def fold_name(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def list_spellings(name: str) -> Sequence[str]:
    """A name as it is, folded, and as a number without the zeros that spreadsheets add and drop."""
    folded = fold_name(name)
    number = NUMBER.fullmatch(folded)
    return name, folded, *([number[1]] if number else [])


def _draw_number(*words: str | int) -> int:
    text = "\n".join(map(str, (FORMAT, *words)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")


def count_possible(problem: Problem) -> int:
    return prod(len(values) for values in problem.choices.values())


def sample_draws(problem: Problem, most: int) -> list[Draw]:
    """Different draws that stand for all of them: all, where there are not more than `most`."""
    if count_possible(problem) <= most:
        return list(product(*(range(len(values)) for values in problem.choices.values())))
    found = dict.fromkeys(draw(problem, f"sample {k}", k) for k in islice(count(), 20 * most))
    return list(found)[:most]


def with_draw(problem: Problem, drawn: Draw) -> Problem:
    """The variant with these values, which its title and prompt show."""
    if not drawn:
        return problem
    given = zip(problem.choices.items(), drawn, strict=True)
    values = {name: choices[k] for (name, choices), k in given}
    own = {name: replace(problem.inputs[name], value=value) for name, value in values.items()}
    variant = {name: write_readable(value) for name, value in values.items()}
    title, prompt = (fill(text, variant) for text in (problem.title, problem.prompt))
    inputs = {**problem.inputs, **own}
    return replace(problem, inputs=inputs, title=title, prompt=prompt, variant=variant)


def draw_of(problem: Problem) -> Draw:
    """The draw that makes a variant; empty of a problem that is none."""
    if not problem.variant:
        return ()
    readable = {name: [*map(write_readable, v)] for name, v in problem.choices.items()}
    return tuple(values.index(problem.variant[name]) for name, values in readable.items())


def fill(text: str, variant: Params) -> str:
    r"""A text in which `{a}` is the value, and `{a:+}` the value with its sign: `+ 3`, `- 2`.

    After `^`, `_`, `}` or a command of LaTeX the braces stay: `x^{a}` becomes `x^{12}`.
    """

    def value(found: re.Match[str]) -> str:
        if found["name"] not in variant:
            return found[0]
        number = variant[found["name"]]
        if found["sign"] and isinstance(number, int | float):
            return f"{'-' if number < 0 else '+'} {abs(number)}"
        return f"{{{number}}}" if ARGUMENT.search(text[: found.start()]) else str(number)

    return MARK.sub(value, text)


def write_title(problem: Problem) -> str:
    """The title of a problem that is listed: where numbers are drawn, with their letters."""
    return fill(problem.title or problem.id, {name: name for name in problem.choices})


def write_readable(value: Array) -> Value:
    """Exact numbers as JSON has them: whole ones as such, others as decimals, in nested lists."""
    numbers = each(Fraction, value)
    return each(lambda n: int(n) if n.denominator == 1 else float(n), numbers).tolist()
