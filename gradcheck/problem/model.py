"""The form of a problem file: what is read of it, and what editors complete from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcheck.problem.arrays import formula_value
from gradcheck.problem.form import (
    anything,
    described,
    key,
    listed,
    mapping,
    mapping_or,
    name,
    number,
    numbers,
    one_of,
    optional,
    record,
    row,
    text,
    truth,
    whole,
)

Numbers = float | Sequence[Any]
Credit = Mapping[str, float] | str

AN_INPUT = "write `x: 2.0`, `x: [1.0, 2.0]` or `x: {shape: [3, 2]}`"
A_PROGRAM = "write `form: program`, or the expression alone"
ASKED = "write an expression as a text, or {form: program, read: ...}"
ID = name(r"^[A-Za-z0-9._-]{1,64}$", "use letters, digits, `.`, `_` and `-`")
CREDIT = mapping_or(mapping(number(0, 1)), one_of("usual"))
A_NUMBER = "a number was expected, or nested lists of numbers"
NUMBERS = numbers(A_NUMBER)
VALUE = numbers(A_NUMBER, formula=formula_value)


@dataclass(frozen=True, kw_only=True)
class InputModel:
    """An input drawn by its shape, given by value, or of each student's own."""

    shape: Sequence[int] | None = field(
        default=None,
        metadata=key(
            optional(listed(whole(0, 100_000))),
            "drawn inside the program's domain, from a generator seeded by the id",
        ),
    )
    value: Numbers | None = field(
        default=None, metadata=key(optional(VALUE), "a number, 1/3, pi/4, or nested lists of them")
    )
    choose: Sequence[Numbers] | None = field(
        default=None,
        metadata=key(
            optional(listed(VALUE)), "values of which each student gets one, drawn by name"
        ),
    )
    integers: tuple[int, int] | None = field(
        default=None, metadata=key(optional(row(whole(), whole())), "[2, 9]: one of 2, 3, ..., 9")
    )
    decimals: tuple[float, float, int] | None = field(
        default=None,
        metadata=key(
            optional(row(number(), number(), whole(0, 6))),
            "[0.5, 2.0, 1]: one of 0.5, 0.6, ..., 2.0",
        ),
    )
    requires_grad: bool = field(
        default=True, metadata=key(truth(), "false: a constant of the problem")
    )


@dataclass(frozen=True, kw_only=True)
class ProgramModel:
    """A part whose answer is a program: it is run, and what it leaves is read."""

    form: str = field(
        metadata=key(
            one_of("program", cure=A_PROGRAM), "the answer is a text in the checked language"
        )
    )
    read: str = field(
        metadata=key(text(), "expression read after the reference and after the answer")
    )


@dataclass(frozen=True, kw_only=True)
class WrongModel:
    """A wrong answer and the mistake that must be named in it; `unnamed` where none can be."""

    answer: Mapping[str, Any] = field(metadata=key(mapping(anything())))
    mistake: str = field(metadata=key(text()))


INPUT = mapping_or(
    record(InputModel),
    numbers(
        "a number, nested lists of numbers, or a mapping was expected", AN_INPUT, formula_value
    ),
)
ASK = mapping_or(record(ProgramModel), text(ASKED))


@dataclass(frozen=True, kw_only=True)
class ProblemModel:
    """One problem."""

    id: str = field(metadata=key(ID, "unique in the set: letters, digits, . _ -"))
    title: str = field(default="", metadata=key(text()))
    prompt: str = field(default="", metadata=key(text(), "Markdown, shown to the student"))
    inputs: Mapping[str, InputModel | Numbers] = field(
        default_factory=dict,
        metadata=key(
            mapping(INPUT),
            "name: value, or {shape: [...]}; left out where the program makes its leaves",
        ),
    )
    program: str = field(
        metadata=key(text(), "NumPy and PyTorch spellings; the last line is the value")
    )
    wrt: Sequence[str] | None = field(
        default=None,
        metadata=key(
            optional(listed(text())),
            "inputs, or values that the program assigns; default: inputs that require grad",
        ),
    )
    cotangent: Numbers | None = field(
        default=None,
        metadata=key(optional(NUMBERS), "needed where the value is not a scalar"),
    )
    order: int = field(
        default=1,
        metadata=key(
            one_of(1, 2), "2: second derivatives, the Hessian of a program that ends in one number"
        ),
    )
    jacobian: bool = field(
        default=False,
        metadata=key(truth(), "true: the gradient of every entry of the value, not of one number"),
    )
    points: float = field(default=1.0, metadata=key(number(0), "what the problem is worth"))
    weights: Mapping[str, float] = field(
        default_factory=dict,
        metadata=key(mapping(number(0)), "how the points are shared among parts; default: evenly"),
    )
    credit: Credit = field(
        default_factory=dict,
        metadata=key(CREDIT, "as in the set, which it overrides, mistake by mistake"),
    )
    brackets: str | None = field(
        default=None,
        metadata=key(
            optional(one_of("strict", "kind")),
            "kind: right where only brackets are missing; default: as the set has it",
        ),
    )
    follow_through: bool | None = field(
        default=None,
        metadata=key(
            optional(truth()),
            "what follows from an own wrong part is right; default: as the set has it",
        ),
    )
    ask: Mapping[str, str | ProgramModel] | None = field(
        default=None,
        metadata=key(
            optional(mapping(ASK)),
            "part: expression read after the program, or {form: program, read: ...}",
        ),
    )
    right: Sequence[Mapping[str, Any]] = field(
        default_factory=list, metadata=key(listed(mapping(anything())), "answers judged right")
    )
    wrong: Sequence[WrongModel] = field(
        default_factory=list, metadata=key(listed(record(WrongModel)), "answers judged wrong")
    )


PROBLEM = record(ProblemModel)


@dataclass(frozen=True, kw_only=True)
class SetModel:
    """A set of problems."""

    title: str = field(default="", metadata=key(text()))
    credit: Credit = field(
        default_factory=dict,
        metadata=key(
            CREDIT,
            "mistake id, or slip, or misconception: share of the points that remains; "
            "or usual: half for a slip",
        ),
    )
    brackets: str = field(
        default="strict",
        metadata=key(
            one_of("strict", "kind"), "kind: an answer is right where only brackets are missing"
        ),
    )
    follow_through: bool = field(
        default=True, metadata=key(truth(), "false: what follows from an own wrong part is wrong")
    )
    problems: Sequence[ProblemModel] = field(metadata=key(listed(PROBLEM, 1)))


SET = record(SetModel)


def schema() -> dict[str, Any]:
    """The JSON Schema of problem files: a set, or one problem at the top level."""
    single = described(ProblemModel)
    single["required"].remove("id")  # the file's name is one
    inner = (InputModel, ProgramModel, WrongModel, ProblemModel)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gradcheck problem file",
        "anyOf": [described(SetModel), single],
        "$defs": {model.__name__: described(model) for model in inner},
    }
