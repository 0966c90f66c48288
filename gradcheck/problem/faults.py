"""What pydantic finds in a problem file, in our words and at its place."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from gradcheck.documents import Document
from gradcheck.errors import Complaint
from gradcheck.language.vocabulary import nearest
from gradcheck.problem.model import InputModel, ProblemModel, SetModel, Strict
from gradcheck.values import Value

PathTo = tuple[str | int, ...]

KEYS = frozenset(name for model in Strict.__subclasses__() for name in model.model_fields)
HOMES = {
    **dict.fromkeys(InputModel.model_fields, "to an input: `inputs: {x: {shape: [3]}}`"),
    **dict.fromkeys(SetModel.model_fields, "to a set, beside `problems:`"),
    **dict.fromkeys(ProblemModel.model_fields, "to a problem"),
}
# By what pydantic calls the place (an `expression` is an entry of `ask:`), or else the fault.
CURES: Mapping[str | int, str] = {
    "id": "use letters, digits, `.`, `_` and `-`",
    "expression": "write an expression as a text, or {form: program, read: ...}",
    "form": "write `form: formula` in a problem, `form: program` in what it asks",
    "ask": "write `ask: {part: expression}`; what is differentiated by stands in `wrt: [w]`",
    "float_parsing": "write digits: `2`, or `0.5`",
    "model_type": "write `x: 2.0`, `x: [1.0, 2.0]` or `x: {shape: [3, 2]}`",
    "too_short": "write at least one",
    "list_type": "write `[...]`, or lines that begin with `- `",
    "string_type": "put it in quotes, or write it as a block after `|`",
}
EXAMPLES = {
    "brackets": "brackets: kind",
    "chain": "chain: strict",
    "choose": "choose: [2, 3, 5]",
    "cotangent": "cotangent: [1.0, 0.5]",
    "credit": "credit: {sign-error: 0.5}",
    "decimals": "decimals: [0.5, 2.0, 1]",
    "follow_through": "follow_through: false",
    "inputs": "inputs: {x: 2.0}",
    "integers": "integers: [2, 9]",
    "jacobian": "jacobian: true",
    "known": "known: [{answer: {x: x}, says: Look up the power rule.}]",
    "late": "late: 0.5",
    "order": "order: 2",
    "points": "points: 2",
    "requires_grad": "requires_grad: false",
    "right": "right: [{x: 2*x}]",
    "shape": "shape: [3, 2]",
    "tolerance": "tolerance: 1e-3",
    "value": "value: [1.0, 2.0]",
    "weights": "weights: {x: 2}",
    "wrong": "wrong: [{answer: {x: x}, mistake: power-coefficient-missing}]",
    "wrt": "wrt: [x]",
}
ADDED: Mapping[str | int, str] = {
    "mistake": "add `mistake:` with a name of `gradcheck mistakes`, or `mistake: unnamed`",
    "program": "add `program: x**3 + 2*sin(x)`, or several lines after `program: |`",
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
    "model_type": "a number, nested lists of numbers, or a mapping was expected",
    "string_type": "a text was expected",
    **dict.fromkeys(("list_type", "tuple_type"), "a list was expected"),
    "too_long": "at most {max_length} entries were expected",
    "dict_type": "a mapping was expected",
    "too_short": "an empty list came",
    "string_pattern_mismatch": "a name without blanks or other signs was expected",
    **dict.fromkeys(("float_parsing", "float_type"), "a number was expected"),
    **dict.fromkeys(("int_parsing", "int_type"), "a whole number was expected"),
    "int_parsing_size": "a smaller number was expected",
    "finite_number": "a number that is not infinite was expected",
    "int_from_float": "a whole number was expected",
    "bool_parsing": "true or false was expected",
    "bool_type": "true or false was expected",
    "greater_than_equal": "a number not below {ge:g} was expected",
    "less_than_equal": "a number not above {le:g} was expected",
    "greater_than": "a number above {gt:g} was expected",
    "less_than": "a number below {lt:g} was expected",
    "literal_error": "{expected} was expected",
}
# An input may be a number, a list or a mapping: of a mapping, only what is wrong in it is said.
MEMBERS = frozenset({"float_type", "list_type"})


def faults(document: Document, error: ValidationError) -> list[Complaint]:
    """The findings of pydantic in our words, each at its place; one a place."""
    found: dict[PathTo, Complaint] = {}
    for fault in error.errors():
        path = _real(document, fault["loc"])
        extra = fault["type"] == "extra_forbidden"
        name = path[-1] if path else "the file"
        if extra:
            words, cure = f"`{name}` is not a key here", _meant(name)
        elif name == "id" and fault["type"] == "string_type":
            words, cure = (
                "`id`: a text was expected, a number came",
                f"write `id: '{fault['input']}'`",
            )
        elif fault["type"] == "missing" and isinstance(fault["loc"][-1], int):
            words, cure = f"`{name}`: one entry more was expected", "write all, as in `[2, 9]`"
        elif fault["type"] == "missing" and _is_misspelled(fault, error):
            continue
        elif fault["type"] == "missing":
            words = f"`{fault['loc'][-1]}` is missing"
            cure = ADDED.get(fault["loc"][-1], f"add `{fault['loc'][-1]}:`")
        elif fault["type"] in MEMBERS and "inputs" in fault["loc"] and _is_mapping(document, path):
            continue
        else:
            label = f"entry {name}" if isinstance(name, int) else f"`{name}`"
            due = DUE.get(fault["type"])
            said = f"{fault['msg'][0].lower()}{fault['msg'][1:]}"
            said = due.format_map(fault.get("ctx", {})) if due else said
            words = f"{label}: {said}"
            cure = CURES.get(fault["loc"][-1]) or CURES.get(fault["type"]) or _example(path)
            if str(name).isdigit() and fault.get("input", "") is None:
                cure = "write a decimal with a point: `1.5`; a comma parts entries"
        found.setdefault(path, document.complaint(path, words, cure, key=extra))
    return sorted(found.values(), key=lambda each: (each.line, each.column))


def _is_mapping(document: Document, path: PathTo) -> bool:
    return isinstance(document.node(path).value, dict)


def _example(path: PathTo) -> str:
    """How the nearest key is written for which there is an example."""
    found = (EXAMPLES[key] for key in reversed(path) if isinstance(key, str) and key in EXAMPLES)
    example = next(found, "")
    return example and f"write `{example}`"


def _meant(key: object) -> str:
    """What to do about a key that is not known."""
    if str(key) in MEANT:
        return f"`{MEANT[str(key)]}:` is its name here"
    if str(key) in KEYS:
        return f"it belongs {HOMES.get(str(key), 'elsewhere: see `gradcheck schema`')}"
    return nearest(str(key), KEYS) or "remove it, or see `gradcheck schema`"


def _is_misspelled(missing: Value, error: ValidationError) -> bool:
    """Whether a key that is missing is there under a name that is not known."""
    *place, key = missing["loc"]
    unknown = (f["loc"] for f in error.errors() if f["type"] == "extra_forbidden")
    others = (str(loc[-1]) for loc in unknown if place == list(loc[:-1]))
    return any(MEANT.get(other) == key or nearest(other, [key]) for other in others)


def _real(document: Document, location: Sequence[str | int]) -> PathTo:
    """The part of pydantic's location that is in the file: names of union members are not."""
    path: list[str | int] = []
    node = document.root
    for step in location:
        inner = node.entry(step)
        if inner is not None:
            path.append(step)
            node = inner
    return tuple(path)
