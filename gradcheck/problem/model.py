"""The form of a problem file: what pydantic checks and says, and what editors complete from."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gradcheck.documents import Document
from gradcheck.errors import Complaint
from gradcheck.language.vocabulary import suggest_nearest
from gradcheck.problem.record import (
    Problem,
    explain_too_large,
    explain_unnameable,
    read_exact_array,
)
from gradcheck.values import Array, Value

MOST = 1_000  # values of an input: more than any class has students


def refuse(words: str, cure: str) -> PydanticCustomError:
    """What a check raises: it is told at its place."""
    return PydanticCustomError("ours", "{words}", {"words": words, "cure": cure})


def unless(find: Callable[[Any], str], words: str, cure: str = "{1}") -> AfterValidator:
    """Refuse a value of which something is found; the texts may show the value, and what it is."""

    def check(value: Any) -> Any:
        if found := find(value):
            raise refuse(words.format(value, found), cure.format(value, found))
        return value

    return AfterValidator(check)


# -- checks ----------------------------------------------------------------------------------------


def _read_exact(value: Any) -> Array:
    if (found := read_exact_array(value)) is not None:
        return found
    if isinstance(value, str):
        raise refuse("a number was expected, a text came", "write 2.5, 1/3 or 2*pi, no quotes")
    raise refuse("numbers in nested lists of equal lengths were expected", "even them out")


def _check_choices(found: Sequence[Array]) -> Sequence[Array]:
    if len({each.shape for each in found}) > 1:
        raise refuse("the values have different shapes", "even them out")
    if len({str(each.tolist()) for each in found}) < len(found):
        raise refuse("a value stands here twice", "keep one: all are drawn alike")
    if not 2 <= len(found) <= MOST:
        words = f"{f'more than {MOST:,}' if len(found) > MOST else len(found)} values"
        cure = "`value:` gives one value to all"
        raise refuse(f"{words}: from 2 to {MOST:,} were expected", cure)
    return found


def _list_range(given: Sequence[float]) -> Sequence[Array]:
    """From the first number to the second, in steps of one, or of the last decimal place."""
    low, high, step = (*(Fraction(repr(each)) for each in given[:2]), Fraction(1))
    if given[2:]:
        step /= 10 ** int(given[2])
    count = min(MOST, int((high - low) // step)) + 1
    return _check_choices([np.array(low + k * step, dtype=object) for k in range(count)])


def list_mistake_ids() -> frozenset[str]:
    """The ids of all mistakes there are: of formulas, of training loops, of typing."""
    from gradcheck.mistakes import CATALOGUE  # noqa: PLC0415
    from gradcheck.mistakes.training import TRAINING, WRITTEN  # noqa: PLC0415
    from gradcheck.mistakes.whole_answer import TYPING  # noqa: PLC0415

    return frozenset(row.id for row in (*CATALOGUE, *TRAINING, *WRITTEN.values(), *TYPING))


def suggest_id(mistake: str) -> str:
    """`did you mean ...?` for an id that is nearly a mistake's."""
    known = list_mistake_ids()
    return "" if mistake in known else suggest_nearest(mistake, known, 0.8)


Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
MistakeId = Annotated[str, unless(suggest_id, "`{0}` is no mistake of the catalogue")]
ANY = {"type": ["number", "string", "array"], "items": {}}
Exact = Annotated[Array, PlainValidator(_read_exact), WithJsonSchema(ANY)]
"""A number, 1/3, pi/4, or nested lists of them: an array of Fractions."""
Answer = Annotated[Any, WithJsonSchema({"type": ["object", "string", "number", "array"]})]
"""Answers by part, or the answer of the only part: what it is, the reader says at its place."""
Sizes = Annotated[
    list[Annotated[int, Field(ge=0, le=100_000)]],
    unless(explain_too_large, "{1}", "make it smaller"),
]
Digits = Annotated[int, Field(ge=0, le=6)]
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Tolerance = (
    Annotated[float, Field(gt=0, lt=1)]
    | Annotated[str, StringConstraints(pattern=r"^[1-9] (significant )?digits?$")]
)
Credit = dict[MistakeId, Share] | Literal["usual"]


# -- sections --------------------------------------------------------------------------------------


class Strict(BaseModel):
    """Unknown keys are mistakes, and nothing is guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class InputModel(Strict):
    """An input drawn by its shape, given by value, or of each student's own."""

    shape: Sizes | None = None
    """drawn inside the program's domain, from a generator seeded by the id"""
    value: Exact | None = None
    """a number, 1/3, pi/4, or nested lists of them"""
    choose: Annotated[list[Exact], AfterValidator(_check_choices)] | None = None
    """values of which each student gets one, drawn by name"""
    integers: Annotated[tuple[int, int], AfterValidator(_list_range)] | None = None
    """[2, 9]: one of 2, 3, ..., 9"""
    decimals: Annotated[tuple[float, float, Digits], AfterValidator(_list_range)] | None = None
    """[0.5, 2.0, 1]: one of 0.5, 0.6, ..., 2.0"""
    requires_grad: bool = True
    """false: a constant of the problem"""

    @property
    def choices(self) -> tuple[Any, ...]:
        return tuple(self.choose or self.integers or self.decimals or ())

    @model_validator(mode="after")
    def _check_ways(self) -> "InputModel":
        ways = (self.shape, self.value, self.choose, self.integers, self.decimals)
        if sum(way is not None for way in ways) != 1:
            words = "one of `shape`, `value`, `choose`, `integers` and `decimals` was expected"
            raise refuse(words, "give one")
        return self


def _name_value(given: Any) -> Any:
    """An input may be given by its value alone."""
    return given if isinstance(given, dict) else {"value": [None] if given is None else given}


Inputs = dict[
    Annotated[str, unless(explain_unnameable, "`{0}` is not a name")],
    Annotated[InputModel, BeforeValidator(_name_value, json_schema_input_type=InputModel | Exact)],
]


class ProgramModel(Strict):
    """A part whose answer is a program: it is run, and what it leaves is read."""

    form: Literal["program"]
    """the answer is a text in the checked language"""
    read: str
    """expression read after the reference and after the answer"""


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
    mistake: MistakeId


class KnownModel(Strict):
    """A wrong answer that a teacher has met, and the words and the credit for it."""

    answer: Answer
    says: str
    """what the student is told"""
    credit: Share = 0.0
    """share of the points that remains"""
    id: Id = "known"
    """what it is called in results; default: known"""


class ProblemModel(Strict):
    """One problem."""

    id: Id
    """unique in the set: letters, digits, . _ -"""
    title: str = ""
    prompt: str = ""
    """Markdown, shown to the student"""
    inputs: Inputs = Field(default_factory=dict)
    """name: value, or {shape: [...]}; left out where the program makes its leaves"""
    program: str
    """NumPy and PyTorch spellings; the last line is the value, or assigns it"""
    wrt: list[str] | None = None
    """inputs, or values that the program assigns; default: inputs that require grad"""
    cotangent: Exact | None = None
    """needed where the value is not a scalar"""
    order: Literal[1, 2] = Problem.order
    """2: second derivatives, the Hessian of a program that ends in one number"""
    jacobian: bool = Problem.jacobian
    """true: the gradient of every entry of the value, not of one number"""
    points: Weight = Problem.points
    """what the problem is worth"""
    weights: dict[str, Weight] = Field(default_factory=dict)
    """how the points are shared among parts; default: evenly"""
    credit: Credit = Field(default_factory=dict)
    """as in the set, which it overrides, mistake by mistake"""
    brackets: Literal["strict", "kind"] | None = None
    """kind: right where only brackets are missing; default: as the set has it"""
    chain: Literal["lenient", "strict"] | None = None
    """strict: a chain of equals signs with a false link is wrong"""
    follow_through: bool | None = None
    """what follows from an own wrong part is right; default: as the set has it"""
    ask: dict[str, Ask] | None = None
    """part: expression read after the program, or {form: program, read: ...}"""
    known: list[KnownModel] = Field(default_factory=list)
    """wrong answers with words of the teacher's own: asked before the catalogue"""
    form: Literal["any", "formula"] = Problem.form
    """formula: a number for the given point does not do"""
    tolerance: Tolerance | None = None
    """how far numbers and formulas with decimals may be off: 1e-3 of the value, or `3 digits`"""
    domain: str | None = None
    """where answers are compared, as a condition on the inputs: x > 0"""
    right: list[Answer] = Field(default_factory=list)
    """answers judged right"""
    wrong: list[WrongModel] = Field(default_factory=list)
    """answers judged wrong"""


class SetModel(Strict):
    """A set of problems."""

    title: str = ""
    credit: Credit = Field(
        default_factory=dict,
        description="mistake id, or slip, or misconception: share of the points that remains; "
        "or usual: half for a slip",
    )
    brackets: Literal["strict", "kind"] = Problem.brackets
    """kind: an answer is right where only brackets are missing"""
    chain: Literal["lenient", "strict"] = Problem.chain
    """strict: a chain of equals signs with a false link is wrong"""
    follow_through: bool = Problem.follow_through
    """false: what follows from an own wrong part is wrong"""
    late: Share | Literal["refused"] | None = None
    """what is lost after `grade --due`: a share of the points, or all"""
    problems: list[Annotated[ProblemModel, WrapValidator(lambda given, _: given)]] = Field(
        min_length=1  # each is checked by itself
    )


def make_schema() -> dict[str, Any]:
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


# -- what pydantic finds, in our words and at its place --------------------------------------------

PathTo = tuple[str | int, ...]
Form = TypeVar("Form", bound=Strict)

FIELDS = {n: field for model in Strict.__subclasses__() for n, field in model.model_fields.items()}
HOMES = {
    **dict.fromkeys(InputModel.model_fields, "an input: `inputs: {x: {shape: [3]}}`"),
    **dict.fromkeys(SetModel.model_fields, "a set, beside `problems:`"),
    **dict.fromkeys(ProblemModel.model_fields, "a problem"),
}
# By what pydantic calls the place (an `expression` is an entry of `ask:`), or else the fault.
CURES: Mapping[str | int, str] = {
    "id": "use letters, digits, `.`, `_` and `-`",
    "expression": "write an expression as a text, or {form: program, read: ...}",
    "ask": "write `ask: {part: expression}`; what is differentiated by stands in `wrt: [w]`",
    "mistake": "add `mistake:` with a name of `gradcheck mistakes`, or `mistake: unnamed`",
    "program": "add `program: x**3 + 2*sin(x)`, or several lines after `program: |`",
    "model_type": "write `key: value` for each of its keys: see `gradcheck schema`",
    "too_short": "write at least one",
    "list_type": "write `[...]`, or lines that begin with `- `",
    "string_type": "put it in quotes, or write it as a block after `|`",
}
# Other people's words for our keys.
MEANT: Mapping[str, str] = {
    **dict.fromkeys(("set", "name", "heading"), "title"),
    **dict.fromkeys(("question", "text", "description", "task", "instructions"), "prompt"),
    **dict.fromkeys(("function", "expression", "formula", "code", "f", "forward"), "program"),
    **dict.fromkeys(("variables", "params", "parameters", "args", "leaves"), "inputs"),
    **dict.fromkeys(("answer", "answers", "solution", "solutions", "correct"), "right"),
    **dict.fromkeys(("incorrect", "mistakes", "wrong_answers"), "wrong"),
    **dict.fromkeys(("with_respect_to", "variable", "differentiate"), "wrt"),
    **dict.fromkeys(("score", "marks", "max_points"), "points"),
    **dict.fromkeys(("upstream", "grad_output", "seed"), "cotangent"),
}
# In our words what pydantic says of a value, by its kind of fault, or what it calls valid.
DUE: Mapping[str, str] = {
    "too_short": "an empty list came",
    "string_pattern_mismatch": "a name without blanks or other signs was expected",
    "int_parsing_size": "a whole number was expected",
}
VALID: Mapping[str, str] = {
    "string": "a text", "list": "a list", "tuple": "a list", "dictionary": "a mapping",
    "number": "a number", "integer": "a whole number", "boolean": "true or false",
}  # fmt: skip
EXPECTED = re.compile(r"(?:Input|List|Tuple) should (?:be|have) (?:a valid )?([^,]*).*")


def check(
    form: type[Form], value: Value, document: Document, at: PathTo, complaints: list[Complaint]
) -> Form | None:
    """What stands at a path in its form; None, and what is wrong joins the complaints."""
    try:
        return form.model_validate(value)
    except ValidationError as error:
        complaints += _list_faults(document, at, error)
        return None


def _list_faults(document: Document, at: PathTo, error: ValidationError) -> Collection[Complaint]:
    """The findings of pydantic in what stands at a path, in our words; one a place."""
    found: dict[PathTo, Complaint] = {}
    for fault in error.errors():
        path, kind = _find_real(document, (*at, *fault["loc"])), fault["type"]
        last = (at + fault["loc"] or ("",))[-1]
        if str(last).startswith("literal[") and isinstance(fault["input"], dict):
            continue  # `credit:` is a word or a mapping, whose entries have faults of their own
        name = path[-1] if path else "the file"
        label = f"entry {name}" if isinstance(name, int) else f"`{name}`"
        cure = CURES.get(last) or CURES.get(kind) or _describe(path)
        if kind == "ours":
            words, cure = fault["ctx"]["words"], fault["ctx"]["cure"]
        elif kind == "extra_forbidden":
            words, cure = f"`{name}` is not a key here", _suggest(str(name))
        elif kind == "missing" and isinstance(last, int):
            words = f"{label}: one entry more was expected"
        elif kind == "missing":
            if _is_misspelled(fault, error):
                continue
            words, cure = f"`{last}` is missing", CURES.get(last, f"add `{last}:`")
        else:
            words = f"{label}: {DUE.get(kind) or EXPECTED.sub(_expect, fault['msg'])}"
            if name == "id" and kind == "string_type":
                cure = f"write `id: '{fault['input']}'`"
        key = kind == "extra_forbidden" or last == "[key]"
        found.setdefault(path, document.complaint(path, words, cure, key=key))
    return found.values()


def _expect(said: re.Match[str]) -> str:
    """`greater than 0 was expected` of what should be greater than 0."""
    return f"{VALID.get(said[1].split()[0], said[1])} was expected"


def _describe(path: PathTo) -> str:
    for key in (str(key) for key in reversed(path)):
        if key in FIELDS and FIELDS[key].description:
            return f"`{key}` is {FIELDS[key].description}"
    return "see `gradcheck schema`"


def _suggest(key: str) -> str:
    if key in MEANT:
        return f"`{MEANT[key]}:` is its name here"
    if key in FIELDS:
        return f"it belongs to {HOMES.get(key, 'another place: see `gradcheck schema`')}"
    return suggest_nearest(key, FIELDS) or "remove it, or see `gradcheck schema`"


def _is_misspelled(missing: Value, error: ValidationError) -> bool:
    *place, key = missing["loc"]
    unknown = (f["loc"] for f in error.errors() if f["type"] == "extra_forbidden")
    others = (str(loc[-1]) for loc in unknown if place == list(loc[:-1]))
    return any(MEANT.get(other) == key or suggest_nearest(other, [key]) for other in others)


def _find_real(document: Document, location: PathTo) -> PathTo:
    """The part of pydantic's location that is in the file: names of union members are not."""
    path: PathTo = ()
    for step in location:
        path = (*path, step) if (*path, step) in document.events else path
    return path
