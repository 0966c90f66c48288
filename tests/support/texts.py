"""Problems at given numbers, and what a closed form's text comes to there."""

from typing import Any

import numpy as np
import yaml

from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.run import run
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Point
from gradcheck.texts.forms import record_run, write_texts


def problem(program: str, inputs: dict[str, Any], wrt: str) -> Problem:
    given = {name: np.asarray(value).tolist() for name, value in inputs.items()}
    text = {"id": "t", "inputs": given, "program": program, "wrt": wrt.split()}
    return load_text(yaml.safe_dump(text)).problems[0]


def at(text: str, given: Problem) -> Any:
    floats = {n: np.array(v, dtype=float)[()] for n, v in given_point(given).items()}
    names = {**given.outcome_on("float", dict(floats)).names, **floats}
    program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
    return run(program, names, KINDS["float"], Budget()).value


def derived(given: Problem, point: Point) -> dict[str, str]:
    """The texts as they are derived, before they are read again."""
    return write_texts(record_run(given, point))
