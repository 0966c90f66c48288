"""Mistakes of typing: the mathematics may be right, what is read is not what was meant.

A slip in the answer itself (`retype`) is found by changing what was typed until it is right: its
place, {text}, is in the answer, {cure} says what belongs there.
"""

from gradcheck.mistakes.row import Example, Mistake

brackets_missing = Mistake(
    "brackets-missing",
    verb="type",
    wrong=lambda right: (),
    says="A bracket is missing: `{typed}` would be right, but as it stands it is read as `{u}`.",
    example=Example("log(x)/2", {"x": "1/2x"}),
)


def _slip(id: str, says: str, example: Example) -> Mistake:
    return Mistake(id, verb="retype", wrong=lambda right: (), says=says, example=example)


SLIPS: dict[str, Mistake] = {
    "sign": _slip(
        "sign-slip",
        "One sign is off in your answer: {cure} it is right.",
        Example("exp(x)*(x**2 + x) + x**3", {"x": "e^x (x^2 - 3x + 1) + 3x^2"}),
    ),
    "number": _slip(
        "number-slip",
        "One number is off in your answer: {cure} it is right.",
        Example("exp(x)*(x**2 + x) + x**3", {"x": "e^x (x^2 + 3x + 17) + 3x^2"}),
    ),
    "function": _slip(
        "function-slip",
        "One function is off in your answer: {cure} it is right.",
        Example("exp(x)*sin(x) + x**3", {"x": "e^x (sin x + tan x) + 3x^2"}),
    ),
    "letter": _slip(
        "letter-slip",
        "One letter is off in your answer: {cure} it is right.",
        Example("x**2*y + exp(x)*sin(y)", {"x": "2x y + e^y sin y"}),
    ),
    "too much": _slip(
        "factor-slip",
        "One factor is off in your answer: {cure} it is right.",
        Example("exp(x)*(x**2 + x) + x**3", {"x": "e^x (x^2 + 3x + 1)x + 3x^2"}),
    ),
    "bracket": _slip(
        "bracket-slip",
        "A bracket is off in your answer: {cure} it is right.",
        Example("exp(x)*(x**2 + x) + x**3", {"x": "e^x (x^2 + 3x + 1 + 3x^2)"}),
    ),
}
SLIPS["missing"] = SLIPS["too much"]

TYPING: list[Mistake] = [brackets_missing, *dict.fromkeys(SLIPS.values())]
