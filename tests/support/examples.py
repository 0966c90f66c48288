"""A call that shows each op at work (`examples.txt`), and each in mpmath's words (`mpmath.txt`)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
from mpmath import mp


class Example(NamedTuple):
    """A call of an op, and the names in it: a tuple is a shape to draw, a list a constant."""

    text: str
    inputs: Mapping[str, Any]


def _read(line: str) -> tuple[str, Example]:
    name, _, rest = line.partition(": ")
    text, *inputs = rest.split(" ; ")[0], *rest.split(" ; ")[1].split("; ")
    return name, Example(text, dict(map(_input, inputs)))


def _input(words: str) -> tuple[str, Any]:
    name, _, value = words.partition(" ")
    if value.startswith("= "):
        return name, json.loads(value.removeprefix("= "))
    return name, tuple(map(int, value.split()))


LINES = Path(__file__).with_suffix(".txt").read_text().splitlines()
EXAMPLES = dict(_read(line) for line in LINES if not line.startswith("#"))


def nearest(x: Any) -> Any:
    n = mp.floor(x + 0.5)
    return n - 1 if n - x == 0.5 and n % 2 else n


def selu(x: Any) -> Any:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * (x if x > 0 else alpha * mp.expm1(x))


WORDS = {"mp": mp, "mpmath": mpmath, "nearest": nearest, "selu": selu}
ROWS = Path(__file__).with_name("mpmath.txt").read_text().splitlines()[1:]
MPMATH = {name: eval(text, WORDS) for name, _, text in (line.partition(": ") for line in ROWS)}
