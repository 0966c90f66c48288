"""`Linear`, the losses and the optimizers as a recorded program meets them."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from gradcheck.engine import optimizers
from gradcheck.engine.autograd import tensor
from gradcheck.engine.layers import LAYERS, LOSSES
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.ops import everything
from gradcheck.training.recorder import Recorder
from gradcheck.training.scripts import Mode, seeded, words
from gradcheck.training.traced import Traced


class Held(Mode):
    """A layer whose parameters are leaves of the run; its complaints are the engine's."""

    def __init__(self, recorder: Recorder, inner: Any) -> None:
        """Take the numbers of the engine's layer; a parameter that it has not is None."""
        self.recorder, self.inner = recorder, inner
        for name in inner.held:
            numbers = getattr(inner, name)
            setattr(self, name, None if numbers is None else Traced(recorder, numbers))
        for parameter in self.parameters():
            recorder.ledger.becomes_leaf(parameter)

    def __call__(self, *inputs: Any) -> Any:
        """The function of the inputs and the parameters."""
        return self.recorder.function(self.inner.row)(*self.inner.arguments(self, *inputs))

    @property
    def forward(self) -> Any:
        """The same by name."""
        return self.__call__

    def parameters(self) -> list[Traced]:
        """Weight and bias, or what there is."""
        return [value for _, value in self.named_parameters()]

    def named_parameters(self) -> list[tuple[str, Traced]]:
        """The same with their names."""
        held = ((name, getattr(self, name)) for name in self.inner.held)
        return [(name, value) for name, value in held if value is not None]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for p in self.parameters():
            self.recorder.ledger.clear(p, to_zero=not set_to_none)


class Linear(Held):
    """A `Linear`, as the product and the sum that it is."""

    def __call__(self, *inputs: Any) -> Any:
        """The layer applied to the last axis of x."""
        (x,) = inputs
        with no_grad():
            self.inner(x.t)
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias

    weight: Traced
    bias: Traced | None


class Normalised(Held):
    """A normalisation of batches as it is in training: of the batch alone."""

    def train(self, mode: bool = True) -> "Normalised":
        """Itself; raises TypeError where it is to use what it has seen before."""
        if not mode:
            raise TypeError(
                "a batch norm is followed as in training, of the batch alone: leave `eval()` out"
            )
        return self


OTHERWISE: Mapping[str, type[Held]] = {"linear": Linear, "batch_norm": Normalised}
"""Layers that are followed in a way of their own, by their functions."""


class Loss:
    """A loss function; its complaints are the engine's."""

    def __init__(self, recorder: Recorder, inner: Any) -> None:
        """`inner` is the engine's own."""
        self.recorder, self.inner = recorder, inner

    def __call__(self, given: Any, target: Any) -> Any:
        """The loss of what was given, against the target."""
        made = self.inner(self.recorder.bare(given), self.recorder.bare(target))
        row, reduction = everything()[self.inner.row], self.inner.reduction
        return self.recorder.made(
            made, lambda kind: lambda a, b: row(a, b, reduction=reduction), (given, target)
        )


class RecordedOptimizer:
    """An optimizer; each parameter that it moves is stepped in the ledger."""

    def __init__(self, recorder: Recorder, params: list[Any], inner: optimizers.Optimizer) -> None:
        """`inner` moves the tensors themselves."""
        self.ledger, self.params, self.inner = recorder.ledger, params, inner

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moving = [p for p in self.params if p.t.grad is not None]
        self.inner.step()
        for p in moving:
            self.ledger.stepped(p)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for p in self.params:
            self.ledger.clear(p, to_zero=not set_to_none)


def context(recorder: Recorder) -> Mapping[str, Callable[..., Any]]:
    """The functions of one recorded run."""
    losses = {name: _loss(recorder, loss) for name, loss in LOSSES.items()}
    return (
        dict(words(recorder))
        | losses
        | {
            "no_grad": no_grad,
            "enable_grad": enable_grad,
            "record": recorder.record,
            "grad": recorder.grad,
            "tensor": lambda *args, **kwargs: _tensor(recorder, *args, **kwargs),
            **{name: partial(_layer, recorder, make) for name, make in LAYERS.items()},
            "SGD": lambda params, *args, **kwargs: _optimizer(
                recorder, optimizers.SGD, params, args, kwargs
            ),
            "Adam": lambda params, *args, **kwargs: _optimizer(
                recorder, optimizers.Adam, params, args, kwargs
            ),
        }
    )


def _loss(recorder: Recorder, loss: Callable[..., Any]) -> Callable[..., Loss]:
    """`MSELoss(reduction="sum")`."""
    return lambda **kwargs: Loss(recorder, loss(**kwargs))


def _layer(recorder: Recorder, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Held:
    """A layer with parameters; of several that are drawn, each is drawn otherwise."""
    named = seeded(recorder.generator, make, _bare(recorder, kwargs))
    inner = make(*map(_number, args), **named)
    if inner.row == "batch_norm":
        inner.running_mean = inner.running_var = None
    return OTHERWISE.get(inner.row, Held)(recorder, inner)


def _optimizer(
    recorder: Recorder, make: Any, params: Iterable[Any], args: tuple[Any, ...], kwargs: Any
) -> RecordedOptimizer:
    given = [params] if isinstance(params, Traced) else list(params)
    inner = make([recorder.bare(p) for p in given], *map(_number, args), **kwargs)
    return RecordedOptimizer(recorder, given, inner)


def _expect_floats(data: Any, dtype: Any) -> None:
    """PyTorch's refusal of whole numbers that are to have gradients, with the cure."""
    try:
        tensor(data, dtype, requires_grad=True)
    except RuntimeError as error:
        raise RuntimeError(f"{error}; write 2.0 for 2, or give dtype=float") from None


def _tensor(recorder: Recorder, data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
    if isinstance(data, Traced) or _holds_traced(data):
        return recorder.function("array")(data)
    if requires_grad:
        _expect_floats(data, dtype)
        return recorder.leaf(data)
    return Traced(recorder, tensor(data, dtype))


def _holds_traced(data: Any) -> bool:
    return type(data) in (list, tuple) and any(
        isinstance(each, Traced) or _holds_traced(each) for each in data
    )


def _bare(recorder: Recorder, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: recorder.bare(value) for name, value in values.items()}


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Traced) else value
