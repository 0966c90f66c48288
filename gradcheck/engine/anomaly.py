"""Anomaly detection: backward stops at the first function that gives nan, and names it."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np

from gradcheck.engine.backward import RIGHT, Verbs, pull
from gradcheck.engine.recording import MODE
from gradcheck.engine.tape import Node
from gradcheck.engine.tensor import bare

SLOW = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
    "enabled for debugging."
)

UNKNOWN = (
    "Error detected in {name}. No forward pass information available. Enable detect anomaly during "
    "forward pass for more information."
)


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch the search for nan on or off at once; as a block, put it back at the end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        """Warns, as PyTorch does, that backward gets slower."""
        if mode:
            warnings.warn(SLOW, UserWarning, stacklevel=2)
        self._before, MODE.wary = MODE.wary, mode and check_nan

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        MODE.wary = self._before


class detect_anomaly(set_detect_anomaly):  # noqa: N801 - likewise
    """The block in which backward looks for nan; nothing before it is entered."""

    def __init__(self, check_nan: bool = True) -> None:
        """Warns at once, looks for nan inside."""
        super().__init__(True, check_nan)
        MODE.wary, self._wanted = self._before, MODE.wary

    def __enter__(self) -> Self:
        self._before, MODE.wary = MODE.wary, self._wanted
        return self


def verbs() -> Verbs:
    """The four verbs as backward is to say them now."""
    return WARY if MODE.wary else RIGHT


def _pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
    piece = pull(node, i, g, y, operands)
    if piece is not None and np.isnan(bare(piece)).any():
        warnings.warn(UNKNOWN.format(name=node.name()), UserWarning, stacklevel=2)
        raise RuntimeError(
            f"Function '{node.name()}' returned nan values in its {node.place(i)}th output."
        )
    return piece


WARY = replace(RIGHT, pull=_pull)
