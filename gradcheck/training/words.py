"""What training programs have beyond arithmetic: PyTorch's words, meaning the engine's own."""

from collections.abc import Mapping
from functools import partial
from inspect import signature

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import MAKERS, Maker, filling
from gradcheck.engine.layers import APPLIED, LAYERS, LOSSES
from gradcheck.engine.modules import Sequential, mark
from gradcheck.engine.optimizers import SGD, Adam, clip_grad_norm_, clip_grad_value_
from gradcheck.engine.recording import enable_grad, no_grad
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language.kinds import KINDS
from gradcheck.training.recorder import Recorder
from gradcheck.values import Numbers, Routine


def context(recorder: Recorder) -> Mapping[str, Routine]:
    makers = {**MAKERS, **recorder.generator.makers()}
    return {
        **{name: partial(_make, recorder, maker) for name, maker in makers.items()},
        **filling(recorder.generator),
        **APPLIED,
        **LOSSES,
        **{name: partial(_layer, recorder, make) for name, make in LAYERS.items()},
        "Sequential": Sequential,
        "SGD": partial(_call, SGD),
        "Adam": partial(_call, Adam),
        "clip_grad_norm_": clip_grad_norm_,
        "clip_grad_value_": clip_grad_value_,
        "manual_seed": recorder.generator.manual_seed,
        "no_grad": no_grad,
        "enable_grad": enable_grad,
        "record": recorder.record,
        "grad": recorder.grad,
        "tensor": partial(_tensor, recorder),
        "Tensor": lambda data: tensor(data, np.float64),
        "Parameter": partial(_parameter, recorder),
    }


def _make(recorder: Recorder, maker: Maker, *args: Numbers, **kwargs: Numbers) -> Numbers:
    """`ones(3, 3, requires_grad=True)`: a leaf, or a constant; whole numbers stay an array."""
    requires_grad = kwargs.pop("requires_grad", False)
    made = maker(*map(bare, args), **{name: bare(value) for name, value in kwargs.items()})
    if requires_grad:
        return recorder.leaf(made)
    return tensor(made) if made.dtype.kind == "f" else made


def _parameter(recorder: Recorder, data: Numbers, requires_grad: bool = True) -> Tensor:
    """A leaf that the module which keeps it counts among its parameters."""
    return mark(recorder.leaf(bare(data)) if requires_grad else tensor(bare(data)))


def _layer(recorder: Recorder, make: Routine, *args: Numbers, **named: Numbers) -> Numbers:
    """A layer with parameters; of several that are drawn, each is drawn otherwise."""
    drawn = "seed" in signature(make).parameters and not {"seed", "weight"} & named.keys()
    seed = {"seed": recorder.generator.seed_of_layer()} if drawn else {}
    made = _call(make, *args, **named, **seed)
    for parameter in made.parameters():
        recorder.ledger.enter(parameter)
    return made


def _call(make: Routine, *args: Numbers, **named: Numbers) -> Numbers:
    """With inputs of the problem that are single numbers as numbers."""
    return make(*map(_number, args), **{name: _number(value) for name, value in named.items()})


def _number(value: Numbers) -> Numbers:
    return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value


def _tensor(
    recorder: Recorder, data: Numbers, dtype: Numbers = None, requires_grad: bool = False
) -> Numbers:
    """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
    if _holds_tensors(data):
        return KINDS["tensor"].function("array")(data)
    if not requires_grad:
        return tensor(data, dtype)
    try:
        tensor(data, dtype, requires_grad=True)
    except RuntimeError as error:
        raise RuntimeError(f"{error}; write 2.0 for 2, or give dtype=float") from None
    return recorder.leaf(data)


def _holds_tensors(data: Numbers) -> bool:
    if type(data) in (list, tuple):
        return any(map(_holds_tensors, data))
    return isinstance(data, Tensor)
