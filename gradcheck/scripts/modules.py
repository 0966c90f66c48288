"""`torch.nn`, `torch.optim` and `torch.utils.data` as scripts use them beside what is offered."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from functools import partial, partialmethod
from itertools import pairwise
from math import cos, isclose, pi
from typing import ClassVar

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.backward import Removable
from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.layers import LAYERS, Dropout, Held, Layer, Module, ModuleList, enter
from gradcheck.engine.optimizers import Adam, Optimizer
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.nn import Parameter
from gradcheck.ops import TABLE, everything
from gradcheck.values import Params, Value

# -- modules ---------------------------------------------------------------------------------------

NN: dict[str, type[Module]] = {}


def draw_dropout(x: Value, p: float = 0.5, training: bool = True, inplace: bool = False) -> Value:
    """`F.dropout(x)`: another mask at every call."""
    return Dropout(p)(x) if training and p else x


WAYS = ("", "_reverse")


def _hold_stack(
    cell: type[Layer],
    *,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    dropout: float,
    nonlinearity: str = "tanh",
    **sizes: Value,
) -> Held:
    if nonlinearity != "tanh":
        raise ValueError(
            f"a recurrent net of {nonlinearity} is not offered - write it step by step"
        )
    held: Held = {}
    for k in range(num_layers):
        for way in WAYS[: 1 + bidirectional]:
            held |= {f"{name}_l{k}{way}": plan for name, plan in cell.holds(**sizes).items()}
        sizes["input_size"] = sizes["hidden_size"] * (1 + bidirectional)
    return held


USUAL = {
    "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
}  # fmt: skip


def _say_stack(input_size: int, hidden_size: int, nonlinearity: str = "", **rest: Value) -> str:
    shown = [f"{name}={value}" for name, value in rest.items() if value != USUAL[name]]
    return ", ".join([f"{input_size}, {hidden_size}", *shown])


def _run_stack(self: Value, x: Value, state: Value = None) -> Value:
    """Cells, one a layer and a way, step after step: all values, and the last states."""
    cell, stack = LAYERS[f"{type(self).__name__}Cell"], TABLE["stack"]
    turned, pair = self.batch_first and x.ndim == 3, type(self).__name__ == "LSTM"
    values, last = list(x.transpose(0, 1) if turned else x), list[Value]()
    given = state if pair or state is None else (state,)
    zero = np.zeros((*values[0].shape[:-1], self.hidden_size))
    for k in range(self.num_layers):
        values = [draw_dropout(v, self.dropout, self.training and k > 0) for v in values]
        sides = []
        for way in WAYS[: 1 + self.bidirectional]:
            weights, came = [getattr(self, f"{name}_l{k}{way}") for name in cell.held], []
            held = [zero] * (1 + pair) if given is None else [each[len(last)] for each in given]
            for step in values[::-1] if way else values:
                made = everything()[cell.row](step, held if pair else held[0], *weights)
                held = made if pair else [made]
                came.append(held[0])
            sides.append(came[::-1] if way else came)
            last.append(held)
        pairs = zip(*sides, strict=True)
        values = [
            each[0] if len(each) == 1 else TABLE["concatenate"](each, axis=-1) for each in pairs
        ]
    out = stack(values).transpose(0, 1) if turned else stack(values)
    ends = tuple(map(stack, zip(*last, strict=True)))
    return out, ends if pair else ends[0]


for name in ("RNN", "GRU", "LSTM"):
    more = {"nonlinearity": "tanh"} if name == "RNN" else {}
    made = enter(
        NN, name, "", holds=partial(_hold_stack, LAYERS[f"{name}Cell"]), printed=_say_stack,  # type: ignore[arg-type]
        draws=True, input_size=..., hidden_size=..., num_layers=1, **more, bias=True,
        batch_first=False, dropout=0.0, bidirectional=False,
    )  # fmt: skip
    made.forward = _run_stack  # type: ignore[method-assign]


def _share(row: str, x: Value, dim: int | None = None, **silent: Value) -> Value:
    """PyTorch's axis where none is said: the first of one or of three, else the second."""
    return TABLE[row](x, axis=int(x.ndim not in (0, 1, 3)) if dim is None else dim)


def expect_shares(p: Value) -> Value:
    """A probability, as binary cross entropy takes it; RuntimeError, in PyTorch's words."""
    if not np.all((unwrap(p) >= 0) & (unwrap(p) <= 1)):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return p


FUNCTIONAL: dict[str, Value] = {
    "binary_cross_entropy": lambda p, *rest, **how: TABLE["binary_cross_entropy"](
        expect_shares(p), *rest, **how
    ),
    "dropout": draw_dropout,
}
for name, row in {"Softmax": "softmax", "LogSoftmax": "log_softmax"}.items():
    FUNCTIONAL[row] = partial(_share, row)
    made = enter(NN, name, row, dim=None)  # type: ignore[arg-type]
    made.forward = lambda self, x: _share(self.row, x, self.dim)  # type: ignore[method-assign,misc]


class Lazy(Module):
    """A layer that is of its kind from its first input on, whose length along an axis it takes."""

    kind: ClassVar[Value]
    axis: ClassVar[int]
    weight = bias = "<UninitializedParameter>"

    def __init__(self, *args: Value, **named: Value) -> None:
        vars(self)["given"] = args, named

    def forward(self, x: Value) -> Value:
        self.settle(x.shape[self.axis])
        return self(x)

    def settle(self, size: int) -> None:
        (args, named), self.__class__ = vars(self).pop("given"), self.kind
        self.__init__(size, *args, **named)  # type: ignore[misc]

    def __repr__(self) -> str:
        args, named = vars(self)["given"]
        bound = self.kind.__signature__.bind(0, *args, **named)
        bound.apply_defaults()
        chosen = {name: bound.arguments[name] for name in self.kind.settings}
        return f"Lazy{self.kind.spell(chosen)}"


for name, axis in {"BatchNorm1d": 1, "BatchNorm2d": 1, "Conv2d": 1, "Linear": -1}.items():
    NN[f"Lazy{name}"] = type(f"Lazy{name}", (Lazy,), {"kind": LAYERS[name], "axis": axis})


class Identity(Module):
    """Gives back what it is given, whatever it was made with."""

    def __init__(self, *args: Value, **named: Value) -> None: ...

    def forward(self, x: Value) -> Value:
        return x


def _own(value: Tensor) -> Tensor:
    return value if value._parameter else Parameter(value)


class ModuleDict(Module, MutableMapping[str, Value]):
    __hash__ = object.__hash__

    def __init__(self, values: Params | None = None) -> None:
        self.update(values or {})

    def _list_held(self) -> Mapping[str, Value]:
        return {name: v for name, v in vars(self).items() if isinstance(v, Module | Tensor)}

    keys = property(lambda self: self._list_held().keys)
    values = property(lambda self: self._list_held().values)
    items = property(lambda self: self._list_held().items)

    def __setitem__(self, name: str, value: Value) -> None:
        setattr(self, name, value if isinstance(value, Module) else _own(value))

    def __getitem__(self, name: str) -> Value:
        return self._list_held()[name]

    def __delitem__(self, name: str) -> None:
        delattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._list_held())

    def __len__(self) -> int:
        return len(self._list_held())


class ParameterList(ModuleList):
    def __setattr__(self, name: str, value: Value) -> None:
        super().__setattr__(name, _own(value) if name.isdigit() else value)


NN |= {each.__name__: each for each in (Identity, ModuleDict, ParameterList)}
NN["ParameterDict"] = type("ParameterDict", (ModuleDict,), {})
LOAD = Module.load_state_dict
LISTS = {name: getattr(Module, name) for name in ("parameters", "children", "modules")}


def _apply(self: Module, function: Callable[[Module], Value]) -> Module:
    for child in self.children():
        _apply(child, function)
    function(self)
    return self


def _register_buffer(self: Module, name: str, value: Value, persistent: bool = True) -> None:
    setattr(self, name, value)
    self._buffers = (*self._buffers, *([name] * persistent))


def _list_inside(
    self: Module, kind: type[Value], buffers: bool = False
) -> Iterator[tuple[str, Value]]:
    held = self._walk("", {id(self)}, buffers=buffers)
    return ((p, v) for p, v in held if isinstance(v, kind) and not (buffers and v._parameter))


def _call(self: Module, *args: Value, **named: Value) -> Value:
    """What `forward` gives; hooks are called with the module, what comes and what goes."""
    for hook in vars(self).get("_forward_pre_hooks", ()):
        made = hook(self, args)
        args = args if made is None else made if isinstance(made, tuple) else (made,)
    value = self.forward(*args, **named)
    for hook in vars(self).get("_forward_hooks", ()):
        made = hook(self, args, value)
        value = value if made is None else made
    return value


def _register_hook(self: Module, kind: str, hook: Callable[..., Value]) -> Value:
    hooks = vars(self).setdefault(f"_{kind}_hooks", [])
    hooks.append(hook)
    return Removable(hooks, hook)


def _load(self: Module, state_dict: Params) -> None:
    """Numbers of another; a lazy layer takes its sizes from them."""
    for path in [path for path in state_dict if path.endswith("weight")]:
        held: Value = self
        for name in path.split(".")[:-1]:
            held = getattr(held, name, None)
        if isinstance(held, Lazy):
            held.settle(state_dict[path].shape[:2][-1])
    LOAD(self, state_dict)


METHODS: Params = {
    **dict.fromkeys(
        ("to", "cpu", "cuda", "float", "double", "half", "share_memory"),
        lambda self, *args, **named: self,
    ),
    **dict.fromkeys(("add_module", "register_parameter"), partialmethod(setattr)),
    "register_buffer": _register_buffer,
    "named_children": lambda self: iter(self._modules.items()),
    "named_modules": lambda self: iter([("", self), *_list_inside(self, Module)]),
    "named_buffers": partialmethod(_list_inside, Tensor, buffers=True),
    "buffers": lambda self: (b for _, b in self.named_buffers()),
    "__call__": _call,
    "apply": _apply,
    "register_forward_hook": partialmethod(_register_hook, "forward"),
    "register_forward_pre_hook": partialmethod(_register_hook, "forward_pre"),
    **{name: lambda self, _list=listed: iter(_list(self)) for name, listed in LISTS.items()},
    "load_state_dict": _load,
}

# -- optimizers ------------------------------------------------------------------------------------


class RMSprop(Optimizer):
    """p -= lr g / (sqrt(v) + eps), with v a running mean of g**2."""

    def __init__(
        self,
        params: Value,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr, weight_decay)
        self.shares, self.eps = (alpha, 1 - alpha), eps

    def _find_direction(self, g: Value, index: int) -> Value:
        (kept, added), state = self.shares, self.state[index]
        state["v"] = v = kept * state.get("v", 0.0) + added * g * g
        return g / (np.sqrt(v) + self.eps)


class Adagrad(RMSprop):
    """The same, with v the sum of all g**2."""

    def __init__(
        self, params: Value, lr: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-10
    ) -> None:
        super().__init__(params, lr, eps=eps, weight_decay=weight_decay)
        self.shares = 1.0, 1.0


class AdamW(Adam):
    """Adam, the parameters made smaller by themselves and not through their gradients."""

    def __init__(
        self, params: Value, lr: float = 1e-3, weight_decay: float = 1e-2, **how: Value
    ) -> None:
        super().__init__(params, lr, **how)
        self.decay = weight_decay

    def step(self) -> None:
        for p in self.params:
            if p._grad is not None:
                p._value *= 1 - self.lr * self.decay
        super().step()


def _anneal(lr: float, turn: int, start: float, T_max: int, eta_min: float = 0.0) -> float:  # noqa: N803 - PyTorch's name
    here, before = (1 + cos(pi * k / T_max) for k in (turn, turn - 1))
    if not before:
        return lr + (start - eta_min) * here / 2
    return eta_min + (lr - eta_min) * here / before


RATES: Mapping[str, Callable[..., float]] = {
    "StepLR": lambda lr, turn, start, step_size, gamma=0.1: lr * gamma ** (turn % step_size == 0),
    "MultiStepLR": lambda lr, turn, start, milestones, gamma=0.1: (
        lr * gamma ** list(milestones).count(turn)
    ),
    "ExponentialLR": lambda lr, turn, start, gamma: lr * gamma,
    "LambdaLR": lambda lr, turn, start, lr_lambda: start * lr_lambda(turn),
    "MultiplicativeLR": lambda lr, turn, start, lr_lambda: lr * lr_lambda(turn),
    "CosineAnnealingLR": _anneal,
}
"""The rate of each turn, from that of the turn before and that at the start."""


class Scheduler:
    """The rate of an optimizer, turn by turn, by one of the rules."""

    def __init__(self, rule: str, optimizer: Optimizer, *how: Value, **named: Value) -> None:
        self.optimizer, self.turns = optimizer, 0
        self.start = vars(optimizer).setdefault("initial_lr", optimizer.lr)
        self.rule, self.how, self.named = RATES[rule], how, named
        if rule in ("LambdaLR", "MultiStepLR"):  # which have a rate for the start
            self.turns = -1
            self.step()

    def step(self) -> None:
        self.turns += 1
        given = self.optimizer.lr, self.turns, self.start
        self.optimizer.lr = self.rule(*given, *self.how, **self.named)

    def get_last_lr(self) -> list[float]:
        return [self.optimizer.lr]


SCHEDULERS: Params = {name: partial(Scheduler, name) for name in RATES}


class ParameterGroup(dict[str, Value]):
    """`optimizer.param_groups[0]["lr"]`: all parameters are of one group."""

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__(params=optimizer.params, lr=optimizer.lr)
        self.optimizer = optimizer

    def __setitem__(self, name: str, value: Value) -> None:
        setattr(self.optimizer, name, value)
        super().__setitem__(name, value)


def _restore(self: Optimizer, state_dict: Params) -> None:
    self.state.update(state_dict["state"])
    self.lr = state_dict["param_groups"][0]["lr"]


OPTIM: Params = {"Adagrad": Adagrad, "AdamW": AdamW, "RMSprop": RMSprop}
OPTIMIZERS: Params = {
    "param_groups": property(lambda self: [ParameterGroup(self)]),
    "state_dict": lambda self: {"state": dict(self.state), "param_groups": [{"lr": self.lr}]},
    "load_state_dict": _restore,
}

# -- tensors in batches ----------------------------------------------------------------------------


class Dataset:
    """Subclass it with `__len__` and `__getitem__`."""

    def __getitem__(self, place: Value) -> Value:
        raise NotImplementedError

    def __class_getitem__(cls, kind: Value) -> type:
        return cls


class TensorDataset(Dataset):
    def __init__(self, *tensors: Tensor) -> None:
        if len({len(t) for t in tensors}) > 1:
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, place: Value) -> tuple[Tensor, ...]:
        return tuple(t[place] for t in self.tensors)


class Subset(Dataset):
    def __init__(self, dataset: Value, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, place: Value) -> Value:
        return self.dataset[self.indices[place]]


def split_randomly(dataset: Value, lengths: Sequence[float], generator: Value = None) -> Value:
    """`random_split(data, [80, 20])`: parts of so many rows, or of such shares."""
    count, shares = len(dataset), isclose(sum(lengths), 1)
    sizes = [int(n * count if shares else n) for n in lengths]
    for k in range(shares * (count - sum(sizes))):
        sizes[k % len(sizes)] += 1
    if sum(sizes) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    places = (generator or GENERATOR).rng.permutation(count).tolist()
    ends = np.cumsum([0, *sizes]).tolist()
    return [Subset(dataset, places[a:b]) for a, b in pairwise(ends)]


class DataLoader:
    """Examples in batches, in their order or shuffled anew; `num_workers` and its like are idle."""

    def __init__(  # noqa: PLR0917 - PyTorch's signature
        self,
        dataset: Value,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Value = None,
        drop_last: bool = False,
        collate_fn: Value = None,
        generator: Value = None,
        **silent: Value,
    ) -> None:
        self.dataset, self.batch_size = dataset, batch_size
        self.shuffle, self.drop_last = shuffle, drop_last
        self.sampler = sampler
        if shuffle and sampler is not None:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        self.collate_fn, self.generator = collate_fn or collate, generator

    def _list_places(self) -> Value:
        return range(len(self.dataset)) if self.sampler is None else self.sampler

    def __len__(self) -> int:
        count = len(self._list_places())
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Value]:
        places = list(self._list_places())
        if self.shuffle:
            (self.generator or GENERATOR).rng.shuffle(places)
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            batch = places[start : start + self.batch_size]
            yield self.collate_fn([self.dataset[k] for k in batch])


def collate(examples: Sequence[Value]) -> Value:
    """Examples as one batch: tensors stacked, numbers as a tensor, pairs part by part."""
    match examples[0]:
        case Tensor():
            return TABLE["stack"](list(examples))
        case Mapping() as first:
            return {key: collate([each[key] for each in examples]) for key in first}
        case tuple() | list():
            return [collate(each) for each in zip(*examples, strict=True)]
        case int() | float() | np.ndarray() | np.generic():
            return tensor(np.array(examples))
    return examples


DATA: dict[str, Value] = {
    each.__name__: each for each in (DataLoader, Dataset, Subset, TensorDataset)
}
DATA |= {"default_collate": collate, "random_split": split_randomly}
