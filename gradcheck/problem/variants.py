"""A problem for every student: inputs drawn from choices, by the student's name.

The k-th draw of an input is the value whose number is SHA-256 of the UTF-8 text

    gradcheck variant 1, the name, the problem's id, the input, k        (a line each)

read from its first eight bytes as a whole number, most significant first, modulo the number of
values. So every machine draws alike. Of a name neither capitals nor spaces nor the way in which
accents are encoded count: NFKC, case folded, single blanks.
"""

import hashlib
import re
import unicodedata
from dataclasses import replace
from fractions import Fraction
from itertools import count, islice
from math import prod

from gradcheck.problem.record import Problem
from gradcheck.values import Array, Params, Value

Draw = tuple[int, ...]  # of each input with choices the number of its value
FORMAT = "gradcheck variant 1"
MARK = re.compile(r"\{(?P<name>[^\W\d]\w*)(?P<sign>:\+)?\}")
ARGUMENT = re.compile(r"(?:[_^}]|\\[A-Za-z]+)\Z")  # what LaTeX takes an argument after


def draw(problem: Problem, student: str, k: int = 0) -> Draw:
    """The k-th draw for a student."""
    return tuple(
        _number(plain(student), problem.id, name, k) % len(values)
        for name, values in problem.choices.items()
    )


def plain(name: str) -> str:
    """A name as it counts for drawing."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _number(*words: str | int) -> int:
    text = "\n".join(map(str, (FORMAT, *words)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big")


def possible(problem: Problem) -> int:
    """How many variants could be drawn."""
    return prod(len(values) for values in problem.choices.values())


def sample_draws(problem: Problem, most: int) -> list[Draw]:
    """Different draws that stand for all of them: all, where there are not more than `most`."""
    total = possible(problem)
    if total <= most:
        return [_unpack(problem, k) for k in range(total)]
    found = dict.fromkeys(draw(problem, f"sample {k}", k) for k in islice(count(), 20 * most))
    return list(found)[:most]


def _unpack(problem: Problem, number: int) -> Draw:
    """The variant of a number: the last input counts fastest."""
    found = []
    for values in reversed(list(problem.choices.values())):
        number, k = divmod(number, len(values))
        found.append(k)
    return tuple(reversed(found))


def with_draw(problem: Problem, drawn: Draw) -> Problem:
    """The variant with these values, which its title and prompt show."""
    if not drawn:
        return problem
    values = {
        name: given[k] for (name, given), k in zip(problem.choices.items(), drawn, strict=True)
    }
    inputs = {
        name: replace(each, value=values[name]) if name in values else each
        for name, each in problem.inputs.items()
    }
    variant = {name: readable(value) for name, value in values.items()}
    return replace(
        problem,
        inputs=inputs,
        title=fill(problem.title, variant),
        prompt=fill(problem.prompt, variant),
        variant=variant,
    )


def draw_of(problem: Problem) -> Draw:
    """The draw that makes a variant; empty of a problem that is none."""
    if not problem.variant:
        return ()
    given = problem.choices.items()
    return tuple([*map(readable, values)].index(problem.variant[name]) for name, values in given)


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


def title_of(problem: Problem) -> str:
    """The title of a problem that is listed: where numbers are drawn, with their letters."""
    return fill(problem.title or problem.id, {name: name for name in problem.choices})


def readable(value: Array) -> Value:
    """Exact numbers as JSON has them: whole ones as such, others as decimals, in nested lists."""

    def plain_number(entry: Value) -> Value:
        if isinstance(entry, list):
            return list(map(plain_number, entry))
        number = Fraction(entry)
        return int(number) if number.denominator == 1 else float(number)

    return plain_number(value.tolist())
