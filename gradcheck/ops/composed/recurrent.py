"""One step of a recurrent network, in PyTorch's words and with its order of the gates."""

from typing import Any

import numpy as np

from gradcheck.ops.activations import relu, sigmoid
from gradcheck.ops.composed.picking import along
from gradcheck.ops.composed.products import linear
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example

STEP = {"a": (2, 3), "h": (2, 2), "b": (2, 2)}


def _weights(gates: int) -> dict[str, tuple[int, ...]]:
    return {"u": (2 * gates, 3), "w": (2 * gates, 2)}


def _gates(x: Any, count: int) -> list[Any]:
    """Parts of the last axis, one a gate."""
    n = np.shape(x)[-1] // count
    return [x[along(x, -1, slice(k * n, (k + 1) * n))] for k in range(count)]


def _net(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)


@composed(size="celled", example=Example("rnn_tanh_cell(a, h, u, w) * b", STEP | _weights(1)))
def rnn_tanh_cell(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """tanh(U x + b + W h + c)."""
    return np.tanh(_net(x, h, w_ih, w_hh, b_ih, b_hh))


@composed(size="celled", example=Example("rnn_relu_cell(a, h, u, w) * b", STEP | _weights(1)))
def rnn_relu_cell(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """max(0, U x + b + W h + c)."""
    return relu(_net(x, h, w_ih, w_hh, b_ih, b_hh))


@composed(size="celled", example=Example("lstm_cell(a, [h, b], u, w)[0] * b", STEP | _weights(4)))
def lstm_cell(
    x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> tuple[Any, Any]:
    """The next (h, c): c' = f c + i tanh(g), h' = o tanh(c'); the gates are i, f, g, o."""
    h, c = state
    i, f, g, o = _gates(_net(x, h, w_ih, w_hh, b_ih, b_hh), 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@composed(size="celled", example=Example("gru_cell(a, h, u, w) * b", STEP | _weights(3)))
def gru_cell(x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The next h: (1 - z) n + z h, with n = tanh(in + r hn); the gates are r, z, n."""
    r, z, n = _gates(linear(x, w_ih, b_ih), 3)
    hr, hz, hn = _gates(linear(h, w_hh, b_hh), 3)
    z = sigmoid(z + hz)
    return (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h
