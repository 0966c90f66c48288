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


ONE = "exp(x)*(x**2 + x) + x**3"

# fmt: off
SLIPS: dict[str, Mistake] = {
    kind: Mistake(
        id, "retype", lambda right: (), f"{said} is off in your answer: {{cure}} it is right.",
        Example(program, {"x": answer}))
    for kind, id, said, program, answer in (
        ("sign", "sign-slip", "One sign", ONE, "e^x (x^2 - 3x + 1) + 3x^2"),
        ("number", "number-slip", "One number", ONE, "e^x (x^2 + 3x + 17) + 3x^2"),
        ("function", "function-slip", "One function",
         "exp(x)*sin(x) + x**3", "e^x (sin x + tan x) + 3x^2"),
        ("letter", "letter-slip", "One letter", "x**2*y + exp(x)*sin(y)", "2x y + e^y sin y"),
        ("too much", "factor-slip", "One factor", ONE, "e^x (x^2 + 3x + 1)x + 3x^2"),
        ("bracket", "bracket-slip", "A bracket", ONE, "e^x (x^2 + 3x + 1 + 3x^2)"),
    )
}
# fmt: on
SLIPS["missing"] = SLIPS["too much"]

TYPING: list[Mistake] = [brackets_missing, *dict.fromkeys(SLIPS.values())]
