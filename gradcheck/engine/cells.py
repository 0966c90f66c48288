"""One step of a recurrent network: the cells, each with the state that it begins with."""

import math
from typing import Any, ClassVar

import numpy as np

from gradcheck.engine.holding import Layer, evenly
from gradcheck.engine.tensor import bare


class _Cell(Layer):
    """One step of a recurrent network; weights evenly from ±1/√hidden_size.

    From x (..., input_size) and a state (..., hidden_size) to the next state.
    """

    held = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    gates: ClassVar[int]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, seed: int | None = None
    ) -> None:
        """So many numbers in, so many kept from step to step."""
        self.sizes, self.biased = (input_size, hidden_size), bias
        bound, rows = evenly(1 / math.sqrt(hidden_size)), self.gates * hidden_size
        pair = ((rows,), bound) if bias else None
        self.hold(
            seed,
            weight_ih=((rows, input_size), bound),
            weight_hh=((rows, hidden_size), bound),
            bias_ih=pair,
            bias_hh=pair,
        )

    def _begin(self, x: Any) -> Any:
        """The state before the first step: zeros."""
        return np.zeros((*np.shape(bare(x))[:-1], self.sizes[1]))

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """Input, state (zeros where none is given), parameters."""
        x, *state = inputs
        begin = state[0] if state and state[0] is not None else self._begin(x)
        return x, begin, *(getattr(of, name) for name in self.held)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        without = "" if self.biased else ", bias=False"
        return f"{type(self).__name__}({', '.join(map(str, self.sizes))}{without})"


class RNNCell(_Cell):
    """tanh(U x + b + W h + c): Elman, 1990."""

    row, gates = "rnn_tanh_cell", 1


class GRUCell(_Cell):
    """Three gates, whose formulas `gru_cell` has (Cho and others, 2014)."""

    row, gates = "gru_cell", 3


class LSTMCell(_Cell):
    """Four gates and a state (h, c); `lstm_cell` has the formulas (Hochreiter and others, 1997)."""

    row, gates = "lstm_cell", 4

    def _begin(self, x: Any) -> Any:
        return super()._begin(x), super()._begin(x)
