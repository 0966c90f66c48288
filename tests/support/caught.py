"""A wrong backward pass, caught: what is told of it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp


def first_line(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    args: Sequence[Any],
    raised: Any = GradientError,
) -> str:
    """What pytest's summary shows of it, in a message that can be read."""
    with pytest.raises(raised) as caught, np.errstate(all="ignore"):
        assert_vjp(forward, backward, *args)
    lines = str(caught.value).split("\n")
    assert len(lines) <= 20
    assert max(map(len, lines[1:]), default=0) <= 60
    return lines[0]
