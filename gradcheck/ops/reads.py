"""What a VJP reads by value, off its own bytecode: so much is saved for the way back."""

import sys
from collections.abc import Callable
from dis import opname
from types import CodeType
from typing import Any

Vjp = Callable[..., Any]
SHIFT = int(sys.version_info >= (3, 12))  # of an attribute's place: the last bit is a call's
_SHAPE_ONLY = {"shape", "ndim", "size", "dtype"}


def by_shape(rule: Vjp) -> Vjp:
    """Mark a rule that reads its operands' shapes only: nothing is saved for it."""
    rule.by_shape = True  # type: ignore[attr-defined]
    return rule


def by_others(rule: Vjp) -> Vjp:
    """Mark a rule for all operands that reads of its own operand the shape only, and no value."""
    rule.by_others = True  # type: ignore[attr-defined]
    return rule


def reads(
    vjps: tuple[Vjp | None, ...] | Vjp, wanted: tuple[bool, ...]
) -> tuple[tuple[bool, ...], bool]:
    """Which operands, and whether `y`, the rules of the wanted operands read by value."""
    if getattr(vjps, "by_others", False):
        return tuple(any(wanted[:i] + wanted[i + 1 :]) for i in range(len(wanted))), False
    if not isinstance(vjps, tuple):
        positions, y = _reads_of(vjps, len(wanted), skip=1)
        return tuple(i in positions for i in range(len(wanted))), y
    read: set[int] = set()
    reads_y = False
    for rule, want in zip(vjps, wanted, strict=False):
        if want and rule is not None:
            positions, y = _reads_of(rule, len(wanted), skip=0)
            read |= positions
            reads_y |= y
    return tuple(i in read for i in range(len(wanted))), reads_y


def _reads_of(rule: Vjp, operands: int, skip: int) -> tuple[set[int], bool]:
    """Positions of the operands that a rule reads by value (not only their shape), and `y`.

    Read off the rule's own bytecode: what is saved for backward follows from the row itself.
    """
    if getattr(rule, "by_shape", False):
        return set(), False
    code: CodeType | None = getattr(rule, "__code__", None)
    if code is None:
        return set(range(operands)), True
    names = code.co_varnames[: code.co_argcount][skip:]
    read = _values_read(code) | set(code.co_cellvars)
    positions = {i - 2 for i, name in enumerate(names) if i >= 2 and name in read}
    if code.co_flags & 0x04 and code.co_varnames[code.co_argcount + code.co_kwonlyargcount] in read:
        positions |= set(range(len(names) - 2, operands))
    return {i for i in positions if i < operands}, len(names) > 1 and names[1] in read


def _values_read(code: CodeType) -> set[str]:
    """Local names that some instruction loads for more than their shape.

    `dis.get_instructions` tells the same; for all rows it takes a tenth of `import sympy`.
    """
    loads: list[int] = []
    read: set[int] = set()
    for number, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        name = opname[number]
        if name == "CACHE":
            continue
        if name == "LOAD_ATTR" and loads and code.co_names[argument >> SHIFT] in _SHAPE_ONLY:
            loads.pop()
        read.update(loads)
        loads = []
        if "LOAD_FAST" in name:
            loads = [argument >> 4, argument & 15] if name.count("FAST") == 2 else [argument]
    read.update(loads)
    return {code.co_varnames[k] for k in read if k < len(code.co_varnames)}
