"""Mistakes of typing: the mathematics may be right, what is read is not what was meant."""

from gradcheck.mistakes.row import Example, Mistake

brackets_missing = Mistake(
    "brackets-missing",
    verb="type",
    wrong=lambda right: (),
    says="A {sign} is missing: `{typed}` would be right, but as it stands it is read as `{u}`.",
    example=Example("log(x)/2", {"x": "1/2x"}),
    common=0.9,
)

TYPING: list[Mistake] = [brackets_missing]
