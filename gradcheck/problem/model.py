"""The form of a problem file: what pydantic checks, and what editors complete from."""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    WithJsonSchema,
)

from gradcheck.problem.arrays import formula_value

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
Numbers = float | list[Any]


def _number(value: Any) -> Any:
    """The float nearest to a formula such as 1/3; what is no formula is left for the complaint."""
    found = formula_value(value) if isinstance(value, str) else None
    return value if found is None else float(found)


Value = Annotated[
    Numbers,
    BeforeValidator(_number),
    WithJsonSchema({"type": ["number", "string", "array"], "items": {}}),
]
Answer = Annotated[Any, WithJsonSchema({"type": ["object", "string", "number", "array"]})]
"""Answers by part, or the answer of the only part: what it is, the reader says at its place."""
Tolerance = (
    Annotated[float, Field(gt=0, lt=1)]
    | Annotated[str, StringConstraints(pattern=r"^[1-9] (significant )?digits?$")]
)
Credit = dict[str, Annotated[float, Field(ge=0, le=1)]] | Literal["usual"]


class Strict(BaseModel):
    """Unknown keys are mistakes, and nothing is guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InputModel(Strict):
    """An input drawn by its shape, given by value, or of each student's own."""

    shape: list[Annotated[int, Field(ge=0, le=100_000)]] | None = Field(
        None, description="drawn inside the program's domain, from a generator seeded by the id"
    )
    value: Value | None = Field(None, description="a number, 1/3, pi/4, or nested lists of them")
    choose: list[Value] | None = Field(
        None, description="values of which each student gets one, drawn by name"
    )
    integers: tuple[int, int] | None = Field(None, description="[2, 9]: one of 2, 3, ..., 9")
    decimals: tuple[float, float, Annotated[int, Field(ge=0, le=6)]] | None = Field(
        None, description="[0.5, 2.0, 1]: one of 0.5, 0.6, ..., 2.0"
    )
    requires_grad: bool = Field(True, description="false: a constant of the problem")


class ProgramModel(Strict):
    """A part whose answer is a program: it is run, and what it leaves is read."""

    form: Literal["program"] = Field(description="the answer is a text in the checked language")
    read: str = Field(description="expression read after the reference and after the answer")


def _form(asked: Any) -> str:
    """Which of the two ways to ask: an expression, or a mapping that says the form."""
    return "program" if isinstance(asked, dict | ProgramModel) else "expression"


Ask = Annotated[
    Annotated[str, Tag("expression")] | Annotated[ProgramModel, Tag("program")],
    Discriminator(_form),
]


class WrongModel(Strict):
    """A wrong answer and the mistake that must be named in it; `unnamed` where none can be."""

    answer: Answer
    mistake: str


class KnownModel(Strict):
    """A wrong answer that a teacher has met, and the words and the credit for it."""

    answer: Answer
    says: str = Field(description="what the student is told")
    credit: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="share of the points that remains"
    )
    id: Id = Field("known", description="what it is called in results; default: known")


class ProblemModel(Strict):
    """One problem."""

    id: Id = Field(description="unique in the set: letters, digits, . _ -")
    title: str = ""
    prompt: str = Field("", description="Markdown, shown to the student")
    inputs: dict[str, InputModel | Value] = Field(
        default_factory=dict,
        description="name: value, or {shape: [...]}; left out where the program makes its leaves",
    )
    program: str = Field(
        description="NumPy and PyTorch spellings; the last line is the value, or assigns it"
    )
    wrt: list[str] | None = Field(
        None,
        description="inputs, or values that the program assigns; default: inputs that require grad",
    )
    cotangent: Numbers | None = Field(None, description="needed where the value is not a scalar")
    order: Literal[1, 2] = Field(
        1, description="2: second derivatives, the Hessian of a program that ends in one number"
    )
    jacobian: bool = Field(
        default=False,
        description="true: the gradient of every entry of the value, not of one number",
    )
    points: Annotated[float, Field(ge=0)] = Field(1.0, description="what the problem is worth")
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict, description="how the points are shared among parts; default: evenly"
    )
    credit: Credit = Field(
        default_factory=dict, description="as in the set, which it overrides, mistake by mistake"
    )
    brackets: Literal["strict", "kind"] | None = Field(
        None, description="kind: right where only brackets are missing; default: as the set has it"
    )
    chain: Literal["lenient", "strict"] | None = Field(
        None, description="strict: a chain of equals signs with a false link is wrong"
    )
    follow_through: bool | None = Field(
        None, description="what follows from an own wrong part is right; default: as the set has it"
    )
    ask: dict[str, Ask] | None = Field(
        None, description="part: expression read after the program, or {form: program, read: ...}"
    )
    known: list[KnownModel] = Field(
        default_factory=list,
        description="wrong answers with words of the teacher's own: asked before the catalogue",
    )
    form: Literal["any", "formula"] = Field(
        "any", description="formula: a number for the given point does not do"
    )
    tolerance: Tolerance | None = Field(
        None, description="how far decimals may be off: 1e-3 of the value, or `3 digits`"
    )
    domain: str | None = Field(
        None, description="where answers are compared, as a condition on the inputs: x > 0"
    )
    right: list[Answer] = Field(default_factory=list, description="answers judged right")
    wrong: list[WrongModel] = Field(default_factory=list, description="answers judged wrong")


class SetModel(Strict):
    """A set of problems."""

    title: str = ""
    credit: Credit = Field(
        default_factory=dict,
        description="mistake id, or slip, or misconception: share of the points that remains; "
        "or usual: half for a slip",
    )
    brackets: Literal["strict", "kind"] = Field(
        default="strict", description="kind: an answer is right where only brackets are missing"
    )
    chain: Literal["lenient", "strict"] = Field(
        default="lenient", description="strict: a chain of equals signs with a false link is wrong"
    )
    follow_through: bool = Field(
        default=True, description="false: what follows from an own wrong part is wrong"
    )
    late: Annotated[float, Field(ge=0, le=1)] | Literal["refused"] | None = Field(
        default=None, description="what is lost after `grade --due`: a share of the points, or all"
    )
    problems: list[ProblemModel] = Field(min_length=1)


def schema() -> dict[str, Any]:
    """The JSON Schema of problem files: a set, or one problem at the top level."""
    whole, single = SetModel.model_json_schema(), ProblemModel.model_json_schema()
    single["required"].remove("id")  # the file's name is one
    definitions = {**whole.pop("$defs", {}), **single.pop("$defs", {})}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gradcheck problem file",
        "anyOf": [whole, single],
        "$defs": definitions,
    }
