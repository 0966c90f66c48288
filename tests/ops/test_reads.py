"""What a row finds out about its own rules."""

import dis
from collections.abc import Iterator
from types import CodeType

from gradcheck.ops import TABLE
from gradcheck.ops.reads import _SHAPE_ONLY, _values_read


def rules() -> Iterator[CodeType]:
    """The code of every VJP that has one."""
    for row in TABLE.values():
        for rule in row.vjps if isinstance(row.vjps, tuple) else (row.vjps,):
            code = getattr(rule, "__code__", None)
            if code is not None:
                yield code


def loaded(code: CodeType) -> set[str]:
    """Names that an instruction loads, as `dis` tells it, but for those whose shape is read."""
    steps = [s for s in dis.get_instructions(code) if s.opname != "CACHE"]
    found: set[str] = set()
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if "LOAD_FAST" not in step.opname:
            continue
        names = list(step.argval) if isinstance(step.argval, tuple) else [step.argval]
        if following and following.opname == "LOAD_ATTR" and following.argval in _SHAPE_ONLY:
            names.pop()
        found.update(names)
    return found


def test_values_read_are_those_that_dis_tells() -> None:
    """On every Python, of every rule."""
    known = {code: loaded(code) & set(code.co_varnames) for code in rules()}
    assert len(known) > 150
    assert {code: _values_read(code) for code in known} == known


def test_a_shape_is_no_value() -> None:
    """By hand: `a` by value, `b` by its shape alone, `y` not at all."""
    rule = lambda g, y, a, b: (g * a).reshape(b.shape)
    assert _values_read(rule.__code__) == {"g", "a"}
