"""Problems at given numbers, and what a closed form's text comes to there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from gradcheck.language.budget import Budget
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.program import check_program, run
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.problem.record import Point
from gradcheck.texts.forms import record_run, write_texts


def problem(program: str, inputs: dict[str, Any], wrt: str) -> Problem:
    given = {name: np.asarray(value).tolist() for name, value in inputs.items()}
    text = {"id": "t", "inputs": given, "program": program, "wrt": wrt.split()}
    return load_text(yaml.safe_dump(text)).problems[0]


def at(text: str, given: Problem) -> Any:
    floats = {n: np.array(v, dtype=float)[()] for n, v in draw_given_point(given).items()}
    names = {**given.outcome_on("float", dict(floats)).names, **floats}
    program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
    return run(program, names, KINDS["float"], Budget()).value


def derived(given: Problem, point: Point) -> dict[str, str]:
    """The texts as they are derived, before they are read again."""
    return write_texts(record_run(given, point))


# -- the losses of `losses.yaml`, and numbers for their inputs -------------------------------------


class Loss(NamedTuple):
    """A program, its inputs' shapes (`n d`), what is differentiated, and a book's gradients."""

    program: str
    inputs: Mapping[str, str | int | None]
    wrt: str
    book: Mapping[str, str] = {}


FILE = yaml.safe_load(Path(__file__).with_name("losses.yaml").read_text())
EVERYDAY = {name: Loss(**words) for name, words in FILE["everyday"].items()}
"""Losses whose words PyTorch has also."""
LOSSES = EVERYDAY | {name: Loss(**words) for name, words in FILE["further"].items()}
FIXED = {digit: int(digit) for digit in "236"}
SIZES = (
    FIXED | {"n": 5, "d": 3, "k": 2, "h": 4, "m": 6},
    FIXED | {"n": 4, "d": 2, "k": 3, "h": 5, "m": 7},
)


def drawn(loss: Loss, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found = {}
    for name, sized in loss.inputs.items():
        letters = str(sized or "")
        shape = tuple(sizes[letter] for letter in letters.strip("+!").split())
        if letters.startswith("!"):
            found[name] = np.eye(*shape * 2) * 2 + 0.3 * rng.uniform(-1, 1, shape * 2)
        else:
            found[name] = rng.uniform(*((0.1, 0.9) if "+" in letters else (-1, 1)), shape)
    return found
