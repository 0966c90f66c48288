"""What pydantic finds in a problem file, in our words and at its place."""

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from pydantic import ValidationError

from gradcheck.documents import Document
from gradcheck.errors import Complaint
from gradcheck.language.vocabulary import nearest
from gradcheck.problem.model import InputModel, ProblemModel, SetModel, Strict
from gradcheck.values import Value

PathTo = tuple[str | int, ...]
Form = TypeVar("Form", bound=Strict)

MODELS: tuple[type[Strict], ...] = (InputModel, SetModel, ProblemModel, *Strict.__subclasses__())
FIELDS = {name: field for model in MODELS for name, field in model.model_fields.items()}
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
# In our words what pydantic says of a value, by its kind of fault.
DUE: Mapping[str, str] = {
    "string_type": "a text was expected",
    **dict.fromkeys(("list_type", "tuple_type"), "a list was expected"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping was expected"),
    "too_short": "an empty list came",
    "string_pattern_mismatch": "a name without blanks or other signs was expected",
    **dict.fromkeys(("float_parsing", "float_type"), "a number was expected"),
    **dict.fromkeys(
        ("int_parsing", "int_type", "int_from_float", "int_parsing_size"),
        "a whole number was expected",
    ),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false was expected"),
}
EXPECTED = re.compile(r"(?:Input|List|Tuple) should (?:be|have) (.*)")


def check(
    form: type[Form], value: Value, document: Document, at: PathTo, complaints: list[Complaint]
) -> Form | None:
    """What stands at a path in its form; None, and what is wrong joins the complaints."""
    try:
        return form.model_validate(value)
    except ValidationError as error:
        complaints += _faults(document, at, error)
        return None


def _faults(document: Document, at: PathTo, error: ValidationError) -> Collection[Complaint]:
    """The findings of pydantic in what stands at a path, in our words; one a place."""
    found: dict[PathTo, Complaint] = {}
    for fault in error.errors():
        path, kind, last = (
            _real(document, (*at, *fault["loc"])),
            fault["type"],
            (at + fault["loc"] or ("",))[-1],
        )
        name = path[-1] if path else "the file"
        label = f"entry {name}" if isinstance(name, int) else f"`{name}`"
        cure = CURES.get(last) or CURES.get(kind) or _describe(path)
        if kind == "ours":
            words, cure = fault["ctx"]["words"], fault["ctx"]["cure"]
        elif kind == "extra_forbidden":
            words, cure = f"`{name}` is not a key here", _meant(str(name))
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
    return f"{said[1].partition(',')[0]} was expected"


def _describe(path: PathTo) -> str:
    """What the nearest key means, as the schema says."""
    keys = (str(key) for key in reversed(path) if str(key) in FIELDS)
    key = next((key for key in keys if FIELDS[key].description), "")
    return f"`{key}` is {FIELDS[key].description}" if key else "see `gradcheck schema`"


def _meant(key: str) -> str:
    """What to do about a key that is not known."""
    if key in MEANT:
        return f"`{MEANT[key]}:` is its name here"
    if key in FIELDS:
        return f"it belongs to {HOMES.get(key, 'another place: see `gradcheck schema`')}"
    return nearest(key, FIELDS) or "remove it, or see `gradcheck schema`"


def _is_misspelled(missing: Value, error: ValidationError) -> bool:
    """Whether a key that is missing is there under a name that is not known."""
    *place, key = missing["loc"]
    unknown = (f["loc"] for f in error.errors() if f["type"] == "extra_forbidden")
    others = (str(loc[-1]) for loc in unknown if place == list(loc[:-1]))
    return any(MEANT.get(other) == key or nearest(other, [key]) for other in others)


def _real(document: Document, location: PathTo) -> PathTo:
    """The part of pydantic's location that is in the file: names of union members are not."""
    path: PathTo = ()
    for step in location:
        path = (*path, step) if (*path, step) in document.events else path
    return path
