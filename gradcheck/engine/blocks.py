"""Large arrays in blocks: a formula of several steps goes over memory once, not once a step.

Entry by entry the blocks are the whole; what a step makes stays in the processor's cache.
"""

import dis
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from gradcheck.ops.row import Op

LARGE = 1 << 17
"""Entries above which blocks are worth their calls; a block is a quarter of that, 256 kB."""
BLOCK = LARGE // 4
FEW = 2
"""Steps that are as fast over the whole array."""
SCALARS = (float, int, np.float64)


@lru_cache(maxsize=1024)
def is_long(function: Callable[..., Any]) -> bool:
    """Whether a function is a formula of more than a few steps."""
    return type(function) is FunctionType and _steps(function) > FEW


def _steps(function: Callable[..., Any]) -> int:
    """How many operations a formula of entries makes, those of what it calls among them."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return 1
    count = 0
    for step in dis.get_instructions(code):
        count += step.opname.startswith(("BINARY_OP", "UNARY", "COMPARE")) or step.opname == "CALL"
        if step.opname == "LOAD_GLOBAL":
            called = function.__globals__.get(step.argval)
            count += _steps(called) - 1 if type(called) is FunctionType else 0
            count += _steps(called.forward) - 1 if isinstance(called, Op) else 0
    return count


def evaluated(row: Op, values: list[Any], params: Mapping[str, Any]) -> Any:
    """The forward value, in blocks where that is faster."""
    forward = row.forward
    if row.elementwise and values and is_large(values[0]) and is_long(forward):
        return in_blocks(forward, tuple(values), params)
    return forward(*values, **params)


def pulled(  # noqa: PLR0917 - by position, as a rule takes them
    row: Op, rule: Callable[..., Any], g: Any, y: Any, operands: tuple[Any, ...],
    params: Mapping[str, Any],
) -> Any:  # fmt: skip
    """What a rule makes of a large cotangent."""
    if row.elementwise and is_long(rule):
        return in_blocks(rule, (g, y, *operands), params)
    return rule(g, y, *operands, **params)


def is_large(value: Any) -> bool:
    """Whether this is an array that is cut into blocks."""
    return type(value) is np.ndarray and value.size > LARGE


def in_blocks(function: Callable[..., Any], values: tuple[Any, ...], params: Any) -> Any:
    """A function of entries, block by block; at once where the arrays do not lie alike."""
    shape = values[0].shape
    lines = [_line(value, shape) for value in values]
    if any(line is None and value is not None for line, value in zip(lines, values, strict=True)):
        return function(*values, **params)
    made: Any = None
    for start in range(0, values[0].size, BLOCK):
        part = slice(start, start + BLOCK)
        piece = function(*(v[part] if type(v) is np.ndarray else v for v in lines), **params)
        if np.ndim(piece) != 1:
            return function(*values, **params)
        if made is None:
            made = np.empty(values[0].size, piece.dtype)
        made[part] = piece
    return made.reshape(shape)


def _line(value: Any, shape: tuple[int, ...]) -> Any:
    """An array as one line of entries, a number as it is; None for what lies otherwise."""
    if type(value) in SCALARS:
        return value
    if type(value) is not np.ndarray or value.shape != shape or value.dtype != np.float64:
        return None
    if value.flags.c_contiguous:
        return value.reshape(-1)
    if not any(value.strides):  # of what no rule reads, the shape alone is there
        return np.broadcast_to(value[(0,) * value.ndim], (value.size,))
    return None
