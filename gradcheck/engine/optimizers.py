"""`SGD` and `Adam`, with PyTorch's update formulas, and gradients clipped before a step."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tape import clear, move
from gradcheck.engine.tensor import Tensor
from gradcheck.ops import TABLE
from gradcheck.values import Value

GROUPS = "groups with rates of their own are not offered: make an optimizer for each"
SAFE = 1e-6  # PyTorch's, added to the norm that is divided by


def _expect(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)


class Optimizer:
    """Parameters that are moved against their gradients; subclasses say by how much."""

    def __init__(self, params: Iterable[Tensor], lr: float, weight_decay: float) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got torch.{advice.name_kind(params)}"
            )
        self.params = list(params)
        _expect(bool(self.params), "optimizer got an empty parameter list")
        for p in self.params:
            if not isinstance(p, Tensor):
                came, cure = type(p).__name__, f" - {GROUPS}" if isinstance(p, dict) else ""
                why = f"optimizer can only optimize Tensors, but one of the params is {came}{cure}"
                raise TypeError(why)
            _expect(p.is_leaf or p.retains_grad, "can't optimize a non-leaf Tensor")
        _expect(lr >= 0, f"Invalid learning rate: {lr}")
        _expect(weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}")
        self.lr, self.weight_decay = lr, weight_decay
        self.state: defaultdict[int, dict[str, Value]] = defaultdict(dict)

    def zero_grad(self, set_to_none: bool = True) -> None:
        clear(self.params, set_to_none)

    def step(self) -> None:
        """Move every parameter that has a gradient: an unrecorded write in place."""
        for index, p in enumerate(self.params):
            if p._grad is not None:
                g = p._grad._value
                slope = g + self.weight_decay * p._value if self.weight_decay else g
                move(p, self.lr * self._find_direction(slope, index))

    def _find_direction(self, g: Value, index: int) -> Value:
        """Where to, in units of the learning rate; `state[index]` is the parameter's memory."""
        raise NotImplementedError


class SGD(Optimizer):
    """p -= lr v, with v = momentum v + (1 - dampening) g; with Nesterov's p -= lr (g + momentum v).

    As PyTorch has it (Sutskever and others, 2013); g has `weight_decay` times p added.
    """

    def __init__(  # noqa: PLR0917 - PyTorch's signature
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params, lr, weight_decay)
        _expect(momentum >= 0, f"Invalid momentum value: {momentum}")
        plain = momentum > 0 and dampening == 0
        _expect(plain or not nesterov, "Nesterov momentum requires a momentum and zero dampening")
        self.momentum, self.dampening, self.nesterov = momentum, dampening, nesterov

    def _find_direction(self, g: Value, index: int) -> Value:
        if not self.momentum:
            return g
        v = self.state[index].get("velocity")
        v = np.array(g) if v is None else self.momentum * v + (1 - self.dampening) * g
        self.state[index]["velocity"] = v
        return g + self.momentum * v if self.nesterov else v


class Adam(Optimizer):
    """p -= lr m / (sqrt(v) + eps), with running means of g and g**2 freed of their bias.

    Kingma and Ba, 2015; m and v have the shape of p.
    """

    def __init__(  # noqa: PLR0917 - PyTorch's signature
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, weight_decay)
        _expect(eps >= 0, f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            _expect(0 <= beta < 1, f"Invalid beta parameter at index {index}: {beta}")
        self.betas, self.eps, self.amsgrad = betas, eps, amsgrad

    def _find_direction(self, g: Value, index: int) -> Value:
        (first, second), state = self.betas, self.state[index]
        state["step"] = n = state.get("step", 0) + 1
        state["m"] = m = first * state.get("m", 0.0) + (1 - first) * g
        state["v"] = v = second * state.get("v", 0.0) + (1 - second) * g * g
        if self.amsgrad:
            state["most"] = v = np.maximum(state.get("most", v), v)
        return m / (1 - first**n) / (np.sqrt(v / (1 - second**n)) + self.eps)


# -- clipping: `torch.nn.utils` --------------------------------------------------------------------


def clip_grad_norm_(parameters: Value, max_norm: float, norm_type: float = 2.0) -> Value:
    """Scale all gradients by max_norm / (norm + 1e-6) where that is below 1; the norm before.

    The norm is that of all entries together.
    """
    grads = _collect_grads(parameters)
    with no_grad():
        lines = [TABLE["reshape"](g, -1) for g in grads]
        entries = TABLE["concatenate"](lines) if lines else np.zeros(1)
        total = TABLE["norm"](entries, float(norm_type))
        scale = TABLE["minimum"](max_norm / (total + SAFE), 1.0)
        for g in grads:
            g.mul_(scale)
    return total


def clip_grad_value_(parameters: Value, clip_value: float) -> None:
    """Bring each entry of the gradients into [-clip_value, clip_value]."""
    with no_grad():
        for g in _collect_grads(parameters):
            g.copy_(TABLE["clip"](g, -clip_value, clip_value))


def _collect_grads(parameters: Value) -> list[Value]:
    given: Iterable[Value] = [parameters] if hasattr(parameters, "grad") else parameters
    return [p.grad for p in given if p.grad is not None]
