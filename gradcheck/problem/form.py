"""What a document may say: kinds of values, each read with its faults, and as JSON Schema."""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from gradcheck.language.rules.vocabulary import nearest

Place = tuple[str | int, ...]
Faults = list["Fault"]
Formula = Callable[[str], Any]

MADE_OF_WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
IN_QUOTES = "put it in quotes, or write it as a block after `|`"
IN_BRACKETS = "write `[...]`, or lines that begin with `- `"


@dataclass(frozen=True)
class Fault:
    """What is wrong at a place of a document, and the cure; `key`: its key is, not the value."""

    place: Place
    words: str
    cure: str = ""
    key: bool = False


@dataclass(frozen=True)
class Kind:
    """Reads a value at a place and adds what is wrong with it; `schema` is its JSON Schema."""

    schema: Mapping[str, Any]
    read: Callable[[Any, Place, Faults], Any]


def due(place: Place, words: str, cure: str = "") -> Fault:
    """What was expected at a place."""
    name = place[-1] if place else "the file"
    label = f"entry {name}" if isinstance(name, int) else f"`{name}`"
    return Fault(place, f"{label}: {words}", cure)


def text(cure: str = IN_QUOTES) -> Kind:
    """Any text."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if not isinstance(value, str):
            faults.append(due(place, "a text was expected", cure))
        return value

    return Kind({"type": "string"}, read)


def name(pattern: str, cure: str) -> Kind:
    """A text of a pattern; a number that would do in quotes is told so."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if isinstance(value, int | float):
            faults.append(
                due(place, "a text was expected, a number came", f"write `id: '{value}'`")
            )
        elif not isinstance(value, str):
            faults.append(due(place, "a text was expected", cure))
        elif not re.search(pattern, value):
            faults.append(due(place, f"a text of the pattern {pattern} was expected", cure))
        return value

    return Kind({"type": "string", "pattern": pattern}, read)


def number(least: float | None = None, most: float | None = None) -> Kind:
    """A number, with bounds."""
    return Kind({"type": "number", **_bounds(least, most)}, _numeric(float, "a", least, most))


def whole(least: int | None = None, most: int | None = None) -> Kind:
    """A whole number, with bounds."""
    return Kind({"type": "integer", **_bounds(least, most)}, _numeric(_int, "a whole", least, most))


def _numeric(
    made: Callable[[Any], float], what: str, least: float | None, most: float | None
) -> Callable[[Any, Place, Faults], Any]:
    def read(value: Any, place: Place, faults: Faults) -> Any:
        try:
            found = made(value)
        except (TypeError, ValueError, OverflowError):
            faults.append(due(place, f"{what} number was expected"))
            return None
        if least is not None and not found >= least:
            faults.append(due(place, f"a number not below {least} was expected"))
        if most is not None and not found <= most:
            faults.append(due(place, f"a number not above {most} was expected"))
        return found

    return read


def _int(value: Any) -> int:
    """A whole number of any type; raises ValueError for every other."""
    found = int(value)
    if not isinstance(value, str) and found != value:
        raise ValueError
    return found


def _bounds(least: float | None, most: float | None) -> dict[str, float]:
    bounds = {"minimum": least, "maximum": most}
    return {word: bound for word, bound in bounds.items() if bound is not None}


def truth() -> Kind:
    """True or false."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        found = MADE_OF_WORDS.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(found, bool) and found not in (0, 1):
            faults.append(due(place, "true or false was expected"))
        return bool(found)

    return Kind({"type": "boolean"}, read)


def one_of(*values: str | int, cure: str = "") -> Kind:
    """One of a few values."""
    said = " or ".join(f"`{value}`" for value in values)

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if isinstance(value, dict | list | bool) or value not in values:
            faults.append(due(place, f"{said} was expected", cure))
        return value

    return Kind({"enum": list(values)}, read)


def listed(entry: Kind, least: int = 0) -> Kind:
    """A list of any length, or of no fewer than so many entries."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if not isinstance(value, list):
            faults.append(due(place, "a list was expected", IN_BRACKETS))
            return None
        if len(value) < least:
            faults.append(due(place, "an empty list came", "write at least one"))
        return [entry.read(one, (*place, k), faults) for k, one in enumerate(value)]

    schema = {"type": "array", "items": entry.schema}
    return Kind(schema | ({"minItems": least} if least else {}), read)


def row(*entries: Kind) -> Kind:
    """A list with one entry of each kind."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if not isinstance(value, list) or len(value) != len(entries):
            faults.append(due(place, f"a list of {len(entries)} was expected"))
            return None
        pairs = enumerate(zip(entries, value, strict=True))
        return tuple(kind.read(one, (*place, k), faults) for k, (kind, one) in pairs)

    sizes = {"minItems": len(entries), "maxItems": len(entries)}
    return Kind({"type": "array", "prefixItems": [e.schema for e in entries], **sizes}, read)


def mapping(entry: Kind) -> Kind:
    """A mapping from texts."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if not isinstance(value, dict):
            faults.append(due(place, "a mapping was expected"))
            return None
        return {key: entry.read(one, (*place, key), faults) for key, one in value.items()}

    return Kind({"type": "object", "additionalProperties": entry.schema}, read)


def numbers(words: str, cure: str = "", formula: Formula | None = None) -> Kind:
    """A number or nested lists of numbers; their entries, and quotes, are looked at elsewhere.

    A `formula` gives the number of a text such as 1/3, or None.
    """

    def read(value: Any, place: Place, faults: Faults) -> Any:
        try:
            known = formula is not None and isinstance(value, str) and formula(value) is not None
            _ = known or isinstance(value, list) or float(value)
        except (TypeError, ValueError):
            faults.append(due(place, words, cure))
        return value

    texts = ["string"] if formula else []
    return Kind({"type": ["number", *texts, "array"], "items": {}}, read)


def anything() -> Kind:
    """What is looked at elsewhere."""
    return Kind({}, lambda value, place, faults: value)


def optional(kind: Kind) -> Kind:
    """Of the kind, or null."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        return None if value is None else kind.read(value, place, faults)

    return Kind({"anyOf": [kind.schema, {"type": "null"}]}, read)


def mapping_or(of_mapping: Kind, otherwise: Kind) -> Kind:
    """One kind of mapping, or something that is none."""

    def read(value: Any, place: Place, faults: Faults) -> Any:
        kind = of_mapping if isinstance(value, dict) else otherwise
        return kind.read(value, place, faults)

    return Kind({"anyOf": [of_mapping.schema, otherwise.schema]}, read)


def key(kind: Kind, about: str = "") -> Mapping[str, Any]:
    """The metadata of a record's field: what may stand there, and what it is for."""
    return {"kind": kind, "about": about}


def record(cls: type) -> Kind:
    """A mapping with the keys of a dataclass, into one; any other key is a mistake."""
    keys = {f.name: f for f in fields(cls)}
    needed = _needed(cls)

    def read(value: Any, place: Place, faults: Faults) -> Any:
        if not isinstance(value, dict):
            faults.append(due(place, "a mapping was expected"))
            return None
        before = len(faults)
        found = {
            name: f.metadata["kind"].read(value[name], (*place, name), faults)
            for name, f in keys.items()
            if name in value
        }
        unknown = [name for name in value if name not in keys]
        for name in unknown:
            cure = nearest(str(name), keys) or "remove it, or see `gradcheck schema`"
            faults.append(Fault((*place, name), f"`{name}` is not a key here", cure, key=True))
        for name in needed:
            if name not in value and not any(nearest(str(said), [name]) for said in unknown):
                faults.append(Fault(place, f"`{name}` is missing", f"add `{name}:`"))
        return cls(**found) if len(faults) == before else None

    return Kind({"$ref": f"#/$defs/{cls.__name__}"}, read)


def described(cls: type) -> dict[str, Any]:
    """The JSON Schema of a record."""
    properties = {}
    for f in fields(cls):
        about = {"description": f.metadata["about"]} if f.metadata["about"] else {}
        default = {} if f.default is MISSING else {"default": f.default}
        properties[f.name] = {**f.metadata["kind"].schema, **default, **about}
    return {
        "title": cls.__name__,
        "description": cls.__doc__,
        "type": "object",
        "properties": properties,
        "required": _needed(cls),
        "additionalProperties": False,
    }


def _needed(cls: type) -> list[str]:
    """The keys that have no default."""
    return [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
