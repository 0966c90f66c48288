"""What training programs have beyond arithmetic: tensors from nothing, and modules."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.clipping import clip_grad_norm_, clip_grad_value_
from gradcheck.engine.factories import MAKERS, Generator, Maker
from gradcheck.engine.initial import filling
from gradcheck.engine.layers import APPLIED, Layer
from gradcheck.engine.modules import is_parameter, marked
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tensor import bare
from gradcheck.training.recorder import Recorder
from gradcheck.training.traced import Traced

CLIPPING: dict[str, Callable[..., Any]] = {
    "clip_grad_norm_": clip_grad_norm_,
    "clip_grad_value_": clip_grad_value_,
}


class Mode:
    """What every module can be told, and none here does anything otherwise for."""

    def train(self, mode: bool = True) -> Self:
        """Itself."""
        return self

    def eval(self) -> Self:
        """Itself, told that it is no longer in training."""
        return self.train(False)


class Parameterless(Mode):
    """A function without parameters as a module."""

    def __init__(self, apply: Callable[[Any], Any]) -> None:
        """`apply` is the function."""
        self.apply = apply

    def __call__(self, x: Any) -> Any:
        """The function of x."""
        return self.apply(x)

    def named_parameters(self) -> list[tuple[str, Any]]:
        """None."""
        return []


class Chain(Mode):
    """Modules one after the other: `Sequential`."""

    def __init__(self, *modules: Any) -> None:
        """The modules, in the order in which they are applied."""
        self.modules = modules

    def __call__(self, x: Any) -> Any:
        """Each module applied to what the one before gave."""
        for module in self.modules:
            x = module(x)
        return x

    forward = __call__

    def __iter__(self) -> Iterator[Any]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def __getitem__(self, k: int) -> Any:
        return self.modules[k]

    def train(self, mode: bool = True) -> Self:
        """Itself, with all that it holds."""
        for module in self.modules:
            if hasattr(module, "train"):
                module.train(mode)
        return self

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Those of every module, by its place."""
        return [
            (f"{k}.{path}", value)
            for k, module in enumerate(self.modules)
            for path, value in named_parameters(module)
        ]

    def parameters(self) -> list[Any]:
        """The same without the paths."""
        return [value for _, value in self.named_parameters()]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for module in self.modules:
            if hasattr(module, "zero_grad"):
                module.zero_grad(set_to_none)


def named_parameters(value: Any) -> list[tuple[str, Any]]:
    """The parameters of a module of any make, by their paths."""
    if is_parameter(value):
        return [("", value)]
    return list(value.named_parameters()) if hasattr(value, "named_parameters") else []


def seeded(generator: Generator, make: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a layer whose numbers are drawn, each layer's otherwise."""
    drawn = "seed" in signature(make).parameters and not {"seed", "weight"} & named.keys()
    return dict(named) | ({"seed": generator.seed_of_layer()} if drawn else {})


# -- of a recorded run -----------------------------------------------------------------------------


def words(recorder: Recorder) -> Mapping[str, Callable[..., Any]]:
    """The functions of one recorded run that lessons use."""
    made = {
        name: _maker(recorder, maker)
        for name, maker in {**MAKERS, **recorder.generator.makers()}.items()
    }
    return (
        made
        | {
            "manual_seed": recorder.generator.manual_seed,
            "Tensor": lambda data: Traced(recorder, tensor(recorder.bare(data), np.float64)),
            "Parameter": lambda data, requires_grad=True: _parameter(recorder, data, requires_grad),
            "Sequential": Chain,
        }
        | filling(recorder.generator, lambda t, values: _filled(recorder, t, values))
        | {name: partial(clip, find=recorder.function) for name, clip in CLIPPING.items()}
        | {
            name: lambda *args, kind=kind, **named: _module(recorder, kind(*args, **named))
            for name, kind in APPLIED.items()
        }
    )


def _maker(recorder: Recorder, maker: Maker) -> Callable[..., Any]:
    """`ones(3, 3, requires_grad=True)`: a leaf, or a constant; whole numbers stay an array."""

    def make(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        plain = [bare(recorder.bare(each)) for each in args]
        made = maker(*plain, **{name: bare(recorder.bare(v)) for name, v in kwargs.items()})
        if requires_grad:
            return recorder.leaf(made)
        return Traced(recorder, tensor(made)) if made.dtype.kind == "f" else made

    return make


def _filled(recorder: Recorder, t: Traced, values: Any) -> Traced:
    """A parameter with other entries, which no derivative sees."""
    with no_grad():
        return t.copy_(Traced(recorder, tensor(values)))


def _module(recorder: Recorder, module: Layer) -> Parameterless:
    """A module of the engine as the run meets it."""
    return Parameterless(partial(recorder.function(module.row), **module.chosen))


def _parameter(recorder: Recorder, data: Any, requires_grad: bool) -> Traced:
    """A leaf that the module which keeps it counts among its parameters."""
    numbers = bare(recorder.bare(data))
    made = recorder.leaf(numbers) if requires_grad else Traced(recorder, tensor(numbers))
    marked(made.t)
    return made


# -- of the bare engine ----------------------------------------------------------------------------


def plain_words(generator: Generator) -> Mapping[str, Callable[..., Any]]:
    """The same on the engine's own tensors, printing nothing."""

    def boxed(maker: Maker) -> Callable[..., Any]:
        def make(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
            made = maker(*map(bare, args), **{name: bare(v) for name, v in kwargs.items()})
            floats = requires_grad or made.dtype.kind == "f"
            return tensor(made, requires_grad=requires_grad) if floats else made

        return make

    made = {name: boxed(maker) for name, maker in {**MAKERS, **generator.makers()}.items()}
    return (
        made
        | {
            "manual_seed": generator.manual_seed,
            "Tensor": lambda data: tensor(data, np.float64),
            "Parameter": lambda data, requires_grad=True: marked(
                tensor(bare(data), requires_grad=requires_grad)
            ),
            "Sequential": Chain,
        }
        | filling(generator)
        | CLIPPING
        | dict(APPLIED)
    )
