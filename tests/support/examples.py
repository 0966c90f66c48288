"""A call that shows each op at work: the lines of `examples.txt`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


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
