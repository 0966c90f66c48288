"""How an answer is read, before anybody judges it."""

from typing import Any

from gradcheck.answers import Plain
from gradcheck.grading.formulas.values import readings
from gradcheck.grading.judgement import notes, understood
from gradcheck.grading.key import Key
from gradcheck.grading.outputs import read_output
from gradcheck.problem.record import Part
from gradcheck.training.student import read_program


def how_read(key: Key, part: Part, answer: Any) -> tuple[str, tuple[str, ...]]:
    """What is understood of an answer, and by which rules; of a program there is no echo.

    Raises TextError at the place where nothing is understood.
    """
    if part.form == "program":
        read_program(key.problem, str(answer))
        return "", ()
    if key.run is not None:
        read = read_output(key, part, answer)
        return read.understood, read.remarks
    found = key.read(part, answer)
    if not isinstance(found, Plain):
        readings(key.scope, found)
    return understood(found), notes(found)
