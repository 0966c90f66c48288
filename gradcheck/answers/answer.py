"""An answer as it comes out of YAML, JSON or a form: a formula, numbers, or entry by entry."""

import ast
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

from gradcheck.answers.formula import CONSTANTS, Formula, read_formula
from gradcheck.answers.tokens import clip
from gradcheck.answers.tree import Shape, Shapes, read_number, write_decimal
from gradcheck.errors import Complaint, TextError

LEVELS, NUMBERS, FORMULAS, BITS = 8, 1_000_000, 1_000, 1_330
WORDS = {"true": True, "false": False, "none": None, "null": None}
GRAPH_NODE = re.compile(
    r"(?:grad_fn=)?<?([A-Z]\w{0,60}Backward\d*|AccumulateGrad)(?: object at 0x[0-9a-fA-F]+)?>?",
    re.ASCII,
)


@dataclass(frozen=True)
class NumberList:
    """Numbers at the given point, row by row; half units are None for whole numbers."""

    shape: tuple[int, ...]
    values: tuple[Fraction, ...]
    half_units: tuple[Fraction | None, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entries:
    """A formula for each entry, row by row."""

    shape: tuple[int, ...]
    formulas: tuple[Formula, ...]


@dataclass(frozen=True)
class Plain:
    """A truth value, None, or the name of a graph node."""

    value: object


Answer = Formula | NumberList | Plain | Entries
Reader = Callable[[str], Formula]
Place = tuple[int, ...]
Number = tuple[Fraction, Fraction | None]
"""A number with its half unit."""


def read_answer(
    value: object,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = CONSTANTS,
    by: str = "",
    due: Shape | None = None,
) -> Answer:
    """The answer in a value: bool and None are plain, strings formulas, the rest numbers.

    `due` is the shape that is due: of one number a list of one is what stands in it. `by` is what a
    prime differentiates by.
    """
    read = partial(
        read_formula, names=names, functions=functions, constants=constants, by=by, due=due
    )
    while due == () and isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, bool):
        return Plain(value)
    if not isinstance(value, str):
        return _read_array(value, read)
    word = value.strip()
    node = GRAPH_NODE.fullmatch(word)
    if word not in names and (node or word.lower() in WORDS):
        return Plain(node[1] if node else WORDS[word.lower()])
    formula = read(value)
    if not isinstance(formula.tree.body, ast.List) or _has_rows(formula, formula.tree.body):
        return formula
    found = _read_array(_read_entries(formula, formula.tree.body), read)
    notes = dict.fromkeys(formula.notes)
    for step in formula.steps[:-1]:  # they are not compared
        if step.fault and step.chained:
            raise step.fault
        notes[f"`{clip(formula.text[step.start : step.end])}` is left out"] = None
    if isinstance(found, NumberList):
        return replace(found, notes=tuple(notes))
    first, *others = found.formulas
    return replace(found, formulas=(replace(first, notes=tuple(notes)), *others))


def _has_rows(formula: Formula, node: ast.expr) -> bool:
    """Whether an entry of a list is an array: `[0*g[0], g[0] + g[2]]` has rows."""
    if isinstance(node, ast.List):
        return any(_has_rows(formula, each) for each in node.elts)
    sizes = Shapes(formula.words.shapes) if formula.words and formula.words.arrays else None
    return sizes is not None and sizes.of(node) != ()


def _read_entries(formula: Formula, node: ast.expr) -> object:
    if isinstance(node, ast.List):
        return [_read_entries(formula, entry) for entry in node.elts]
    return formula.piece(node)


def _read_array(value: object, read: Reader) -> NumberList | Entries:
    shape: Place = ()
    inner = value
    while isinstance(inner, list | tuple):
        shape = (*shape, len(inner))
        if len(shape) > LEVELS:
            raise _refuse(f"lists nested more than {LEVELS} deep", "give fewer levels")
        if math.prod(max(size, 1) for size in shape) > NUMBERS:
            raise _refuse(f"more than {NUMBERS:,} numbers", "give a formula")
        inner = inner[0] if inner else 0
    entries = [_read_entry(entry, place, read) for place, entry in _walk(value, shape)]
    if sum(isinstance(entry, Formula) for entry in entries) > FORMULAS:
        cure = "give one formula, or numbers"
        raise _refuse(f"more than {FORMULAS} formulas in one answer", cure)
    numbers = [n for e in entries if (n := _read_number(e) if isinstance(e, Formula) else e)]
    if len(numbers) == len(entries):
        return NumberList(shape, tuple(n for n, _ in numbers), tuple(half for _, half in numbers))
    return Entries(shape, tuple(e if isinstance(e, Formula) else read(_write(*e)) for e in entries))


def _read_number(formula: Formula) -> Number | None:
    value = read_number(formula.tree.body)
    return None if value is None else (Fraction(value), formula.half_unit)


def _write(value: Fraction, half_unit: Fraction | None) -> str:
    return str(value.numerator) if half_unit is None else write_decimal(value)


def _walk(value: object, shape: Place, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """The entries row by row, each with its place; every list must have the promised length."""
    below, parts = shape[len(place) :], value if isinstance(value, list | tuple) else None
    if parts is None and not below:
        yield place, value
    elif parts is None or below[:1] != (len(parts),):
        came = "a list" if parts is not None else "a single value"
        came += f" of {len(parts)}" if parts is not None and below else ""
        due = f"a list of {below[0]}" if below else "a number"
        raise _refuse(f"{due} is due, {came} came", "make all rows equally long", place)
    else:
        for index, entry in enumerate(parts):
            yield from _walk(entry, shape, (*place, index))


def _read_entry(value: object, place: Place, read: Reader) -> Formula | Number:
    match value:
        case Formula():
            return value
        case str():
            try:
                return read(value)
            except TextError as error:
                fault = error.complaints[0]
                placed = replace(fault, message=_describe_place(place) + fault.message)
                raise TextError([placed]) from None
        case bool() | None | dict():
            came = {bool: "a truth value", dict: "a mapping"}.get(type(value), "nothing")
        case int():
            if value.bit_length() > BITS:
                raise _refuse("a number of hundreds of digits", "round it", place)
            return Fraction(value), None
        case float():
            return _read_float(value, place)
        case _:
            came = type(value).__name__
    raise _refuse(f"a number or a formula is due, {came} came", "give a number", place)


def _read_float(value: float, place: Place) -> Number:
    if not math.isfinite(value):
        raise _refuse(f"{value} is no finite number", "give a finite number", place)
    exact = getattr(value, "exact", None)
    written = write_decimal(exact) if isinstance(exact, Fraction) else repr(float(value))
    digits = Decimal(repr(float(value)) if written[0] == "(" else written)
    return Fraction(digits), Fraction(10) ** int(digits.as_tuple().exponent) / 2


def _describe_place(place: Place) -> str:
    return f"entry {''.join(f'[{index}]' for index in place)}: " if place else ""


def _refuse(message: str, cure: str, place: Place = ()) -> TextError:
    return TextError([Complaint(_describe_place(place) + message, cure)])
