"""`Linear`, the losses and the optimizers as a recorded program meets them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradcheck.engine import modules, optimizers
from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.ops import TABLE
from gradcheck.training.recorder import Recorder
from gradcheck.training.traced import Shadow

LOSSES = {"MSELoss": "mse_loss", "CrossEntropyLoss": "cross_entropy"}


class Layer:
    """A `Linear` whose weight and bias are leaves of the run."""

    def __init__(self, home: Recorder, inner: modules.Linear) -> None:
        """Take the numbers of the engine's layer."""
        self.home, self.inner = home, inner
        self.weight = home.becomes_leaf(Shadow(home, inner.weight))
        self.bias = None if inner.bias is None else home.becomes_leaf(Shadow(home, inner.bias))

    def __call__(self, x: Any) -> Any:
        """The layer applied to the last axis of x; its complaints are the engine's."""
        with no_grad():
            self.inner(x.t)
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias

    forward = __call__

    def parameters(self) -> list[Shadow]:
        """Weight and bias."""
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for p in self.parameters():
            self.home.clear(p, to_zero=not set_to_none)


class Loss:
    """A loss function; its complaints are the engine's."""

    def __init__(self, home: Recorder, name: str, inner: Any) -> None:
        """`name` is that of its row in the table of ops."""
        self.home, self.name, self.inner = home, name, inner

    def __call__(self, given: Any, target: Any) -> Any:
        """The loss of what was given, against the target."""
        made = self.inner(self.home.bare(given), self.home.bare(target))
        row, reduction = TABLE[LOSSES[self.name]], self.inner.reduction
        return self.home.made(
            made, lambda kind: lambda a, b: row(a, b, reduction=reduction), (given, target)
        )


class Stepper:
    """An optimizer; each parameter that it moves is stepped in the ledger."""

    def __init__(self, home: Recorder, params: list[Any], inner: optimizers.Optimizer) -> None:
        """`inner` moves the tensors themselves."""
        self.home, self.params, self.inner = home, params, inner

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moving = [p for p in self.params if p.t.grad is not None]
        self.inner.step()
        for p in moving:
            self.home.stepped(p)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for p in self.params:
            self.home.clear(p, to_zero=not set_to_none)


def context(home: Recorder) -> Mapping[str, Callable[..., Any]]:
    """The functions of one recorded run."""
    return {
        "no_grad": no_grad,
        "enable_grad": enable_grad,
        "record": home.record,
        "grad": home.grad,
        "tensor": lambda *args, **kwargs: _tensor(home, *args, **kwargs),
        "Linear": lambda *args, **kwargs: Layer(
            home, modules.Linear(*map(_number, args), **_bare(home, kwargs))
        ),
        "MSELoss": lambda **kwargs: Loss(home, "MSELoss", modules.MSELoss(**kwargs)),
        "CrossEntropyLoss": lambda **kwargs: Loss(
            home, "CrossEntropyLoss", modules.CrossEntropyLoss(**kwargs)
        ),
        "SGD": lambda params, *args, **kwargs: _stepper(home, optimizers.SGD, params, args, kwargs),
        "Adam": lambda params, *args, **kwargs: _stepper(
            home, optimizers.Adam, params, args, kwargs
        ),
    }


def _stepper(
    home: Recorder, make: Any, params: Iterable[Any], args: tuple[Any, ...], kwargs: Any
) -> Stepper:
    given = [params] if isinstance(params, Shadow) else list(params)
    inner = make([home.bare(p) for p in given], *map(_number, args), **kwargs)
    return Stepper(home, given, inner)


def _tensor(home: Recorder, data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
    if isinstance(data, Shadow) or _holds_shadows(data):
        return home.function("array")(data)
    if requires_grad:
        return home.leaf(data)
    return Shadow(home, tensor(data, dtype))


def _holds_shadows(data: Any) -> bool:
    return type(data) in (list, tuple) and any(
        isinstance(each, Shadow) or _holds_shadows(each) for each in data
    )


def _bare(home: Recorder, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: home.bare(value) for name, value in values.items()}


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Shadow) else value
