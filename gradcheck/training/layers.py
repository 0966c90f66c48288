"""`Linear`, the losses and the optimizers as a recorded program meets them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradcheck.engine import modules, optimizers
from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.ops import TABLE
from gradcheck.training.recorder import Recorder
from gradcheck.training.scripts import Mode, words
from gradcheck.training.traced import Traced


class Layer(Mode):
    """A `Linear` whose weight and bias are leaves of the run."""

    def __init__(self, recorder: Recorder, inner: modules.Linear) -> None:
        """Take the numbers of the engine's layer."""
        self.ledger, self.inner = recorder.ledger, inner
        self.weight = Traced(recorder, inner.weight)
        self.bias = None if inner.bias is None else Traced(recorder, inner.bias)
        for parameter in self.parameters():
            self.ledger.becomes_leaf(parameter)

    def __call__(self, x: Any) -> Any:
        """The layer applied to the last axis of x; its complaints are the engine's."""
        with no_grad():
            self.inner(x.t)
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias

    forward = __call__

    def parameters(self) -> list[Traced]:
        """Weight and bias."""
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    def named_parameters(self) -> list[tuple[str, Traced]]:
        """The same with their names."""
        return list(zip(("weight", "bias"), self.parameters(), strict=False))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for p in self.parameters():
            self.ledger.clear(p, to_zero=not set_to_none)


class Loss:
    """A loss function; its complaints are the engine's."""

    def __init__(self, recorder: Recorder, inner: Any) -> None:
        """`inner` is the engine's own."""
        self.recorder, self.inner = recorder, inner

    def __call__(self, given: Any, target: Any) -> Any:
        """The loss of what was given, against the target."""
        made = self.inner(self.recorder.bare(given), self.recorder.bare(target))
        row, reduction = TABLE[self.inner.row], self.inner.reduction
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
    losses = {name: _loss(recorder, loss) for name, loss in modules.LOSSES.items()}
    return (
        dict(words(recorder))
        | losses
        | {
            "no_grad": no_grad,
            "enable_grad": enable_grad,
            "record": recorder.record,
            "grad": recorder.grad,
            "tensor": lambda *args, **kwargs: _tensor(recorder, *args, **kwargs),
            "Linear": lambda *args, **kwargs: _linear(recorder, *args, **kwargs),
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


def _linear(recorder: Recorder, *args: Any, **kwargs: Any) -> Layer:
    """A layer; of several that are drawn, each is drawn otherwise."""
    named = _bare(recorder, kwargs)
    if not {"seed", "weight"} & named.keys():
        named["seed"] = recorder.generator.seed_of_layer()
    return Layer(recorder, modules.Linear(*map(_number, args), **named))


def _optimizer(
    recorder: Recorder, make: Any, params: Iterable[Any], args: tuple[Any, ...], kwargs: Any
) -> RecordedOptimizer:
    given = [params] if isinstance(params, Traced) else list(params)
    inner = make([recorder.bare(p) for p in given], *map(_number, args), **kwargs)
    return RecordedOptimizer(recorder, given, inner)


def _tensor(recorder: Recorder, data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
    if isinstance(data, Traced) or _holds_traced(data):
        return recorder.function("array")(data)
    if requires_grad:
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
