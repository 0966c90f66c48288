"""Tensor: an array that remembers how it was made, with PyTorch's semantics.

Plain NumPy functions reach it through `__array_ufunc__` and `__array_function__`; both look the
function up in the table of ops. What would lose the memory silently raises, with advice.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn
from weakref import ref

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.backward import Leaf, Node, Step
from gradcheck.engine.printing import show
from gradcheck.engine.recording import MODE
from gradcheck.ops import BY_FUNCTION, TABLE
from gradcheck.ops.row import Op


class Tensor:
    """A float64 array (unless given otherwise) that remembers the op it came from."""

    __slots__ = (
        "__weakref__", "_cell", "_grad", "_leaf", "_node", "_retains", "_tracked", "_value",
    )  # fmt: skip
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, value: Any, tracked: bool = False, node: Node | None = None) -> None:
        """Wrap a NumPy value; users call `tensor(...)`."""
        self._value = value
        self._tracked = tracked
        self._node = node
        self._cell = [0]
        self._grad: Tensor | None = None
        self._leaf: ref[Leaf] | None = None
        self._retains = False

    # -- what it is ----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are asked for."""
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Ask for gradients (or no longer), in place; leaves only."""
        if not requires_grad and self._node is not None:
            raise RuntimeError(advice.NOT_A_LEAF)
        if requires_grad and self._value.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self._tracked = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
        return self._node

    @property
    def is_leaf(self) -> bool:
        """Made by the user, or not tracked."""
        return self._node is None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self._value.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._value.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """Number of entries (NumPy's `size`)."""
        return self._value.size  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self._value.dtype  # type: ignore[no-any-return]

    @property
    def _version(self) -> int:
        """How many in-place operations have touched this memory."""
        return self._cell[0]

    @property
    def grad(self) -> "Tensor | None":
        """The accumulated gradient; None before backward and after clearing."""
        if self._node is not None and not self._retains and self._grad is None:
            warnings.warn(advice.NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            advice.refuse_as_grad(self, value, isinstance(value, Tensor))
        self._grad = value

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf will keep its gradient."""
        return self._retains and self._node is not None

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf in `.grad`."""
        if not self._tracked:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._node is not None and not self._retains:
            self._retains = True
            keeper = ref(self)
            self._hook(lambda g: _keep(keeper(), g))

    def register_hook(self, hook: Callable[["Tensor"], "Tensor | None"]) -> "Removable":
        """Call `hook(gradient)` before the gradient goes on; what it returns replaces it."""
        if not self._tracked:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")

        def call(g: Any) -> Any:
            return _hooked(hook, g)

        return Removable(self._hook(call), call)

    def _hook(self, call: Callable[[Any], Any]) -> list[Callable[[Any], Any]]:
        step = self._step()
        step.hooks = [] if step.hooks is None else step.hooks
        step.hooks.append(call)
        return step.hooks

    def _step(self) -> Step:
        """The end of the edge that leads here: the node, or the leaf's accumulator."""
        if self._node is not None:
            return self._node
        leaf = self._leaf() if self._leaf is not None else None
        if leaf is None:
            leaf = Leaf(self)
            self._leaf = ref(leaf)
        return leaf

    # -- leaving the graph ---------------------------------------------------------------------

    def detach(self) -> "Tensor":
        """The same memory without the memory of how it was made."""
        self._share()
        twin = Tensor(self._value)
        twin._cell = self._cell
        return twin

    def _share(self) -> None:
        """Give a scalar an address, so that two tensors can look at one memory."""
        if not isinstance(self._value, np.ndarray):
            self._value = np.array(self._value)

    def numpy(self) -> Any:
        """The NumPy array; refused while gradients are tracked."""
        if self._tracked:
            raise RuntimeError(advice.NO_NUMPY)
        self._share()
        return self._value

    def item(self) -> Any:
        """The Python number of a one-element tensor."""
        if self._value.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._value.size} elements cannot be converted to Scalar"
            )
        return self._value.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._value.tolist()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._tracked:
            raise TypeError(advice.NO_ARRAY)
        return np.array(self._value, dtype=dtype)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> Any:
        if self._tracked:
            raise TypeError(advice.NO_FLOAT)
        return self.item()

    def __index__(self) -> int:
        if self._value.dtype.kind in "iu" and self._value.ndim == 0:
            return int(self._value)
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __bool__(self) -> bool:
        if self._value.size != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._value)

    def __len__(self) -> int:
        if self._value.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._value)

    def __iter__(self) -> Iterator["Tensor"]:
        if self._value.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(len(self._value)))

    def __repr__(self) -> str:
        return show(self._value, self._node.name() if self._node else "", self._tracked)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        if self._node is not None:
            raise RuntimeError(advice.NO_DEEPCOPY)
        return Tensor(np.array(self._value), self._tracked)

    # -- NumPy's doors -------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        row = BY_FUNCTION.get(ufunc)
        if method == "reduce" and ufunc in advice.REDUCTIONS:
            row = TABLE[advice.REDUCTIONS[ufunc]]
            return row(*inputs, **{"axis": 0} | advice.without_defaults(kwargs))
        if row is None and ufunc in advice.PLAIN:
            return getattr(ufunc, method)(*map(bare, inputs), **kwargs)
        if row is None or method != "__call__" or advice.without_defaults(kwargs):
            raise TypeError(advice.refused(ufunc, method, kwargs, row is None))
        return apply(row, inputs, {})

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if function in advice.PLAIN:
            return function(*map(bare, args), **kwargs)
        row = BY_FUNCTION.get(function)
        if row is None:
            raise TypeError(advice.unknown(function))
        return apply(row, *row.normal(args, kwargs))

    @staticmethod
    def __apply_op__(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Any:
        return apply(row, operands, params)

    # -- comparisons give plain arrays, which masks and branches want ----------------------------

    def __lt__(self, other: Any) -> Any:
        return self._value < bare(other)

    def __le__(self, other: Any) -> Any:
        return self._value <= bare(other)

    def __gt__(self, other: Any) -> Any:
        return self._value > bare(other)

    def __ge__(self, other: Any) -> Any:
        return self._value >= bare(other)

    def __eq__(self, other: Any) -> Any:
        return self._value == bare(other)

    def __ne__(self, other: Any) -> Any:
        return self._value != bare(other)

    # -- indexing and writing in place -----------------------------------------------------------

    def __pos__(self) -> "Tensor":
        return self

    def __getitem__(self, index: Any) -> "Tensor":
        return apply(TABLE["getitem"], (self,), {"index": plain_index(index)})  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._in_place(
            TABLE["setitem"], (value,), {"index": plain_index(index)}, "a view of a leaf"
        )

    def zero_(self) -> "Tensor":
        """Fill with zeros, in place."""
        return self._in_place(TABLE["multiply"], (0.0,), {})

    def _in_place(
        self, row: Op, others: tuple[Any, ...], params: Mapping[str, Any], what: str = "a leaf"
    ) -> "Tensor":
        """Replace the value by row(self, *others), bump the version, and take over the node."""
        recording = MODE.recording and (self._tracked or any(map(tracked, others)))
        if recording and self._node is None and self._tracked:
            raise RuntimeError(
                f"{what} Variable that requires grad is being used in an in-place operation."
            )
        result = apply(row, (self, *others), params)
        if result.shape != self.shape:
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}"
            )
        self._share()
        self._value[...] = result._value
        self._cell[0] += 1
        if recording:
            self._node, self._tracked = result._node, result._tracked
            self._rewatch()
        return self

    def _rewatch(self) -> None:
        """The new node saved the value that now lives here: watch this memory from now on."""
        node = self._node
        if node is not None and node.y is not None:
            node.y = self._value
            kept = tuple(entry for entry in node.watch if entry[0] >= 0)
            node.watch = (*kept, (-1, self._cell, self._cell[0]))


class Removable:
    """The handle of a hook; `remove()` takes the hook off again."""

    def __init__(self, hooks: list[Callable[[Any], Any]], call: Callable[[Any], Any]) -> None:
        """Remember where the hook hangs."""
        self._hooks, self._call = hooks, call

    def remove(self) -> None:
        """Take the hook off; twice does no harm."""
        if self._call in self._hooks:
            self._hooks.remove(self._call)


def bare(value: Any) -> Any:
    """The NumPy value inside, for comparisons and masks; sequences are looked into."""
    if type(value) is Tensor:
        return value._value
    if type(value) in (list, tuple):
        return type(value)(map(bare, value))
    return value


def tracked(value: Any) -> bool:
    """Whether gradients flow through this value."""
    return type(value) is Tensor and value._tracked


def plain_index(index: Any) -> Any:
    """An index in which integer tensors have become arrays."""
    return bare(index)


def _keep(tensor: Tensor | None, g: Any) -> Any:
    """retain_grad's hook: add g to the tensor's own `.grad`."""
    if tensor is not None:
        held = tensor._grad
        tensor._grad = boxed(g) if held is None else held + g
    return g


def _hooked(hook: Callable[[Tensor], Tensor | None], g: Any) -> Any:
    """The hook's answer in place of g, if it gave one that fits."""
    answer = hook(boxed(g))
    if answer is None:
        return g
    if not isinstance(answer, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    if answer.shape != g.shape:
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    return answer if type(g) is Tensor else answer._value


def boxed(value: Any) -> Tensor:
    """A tensor around a bare value; a tensor as it is."""
    return (
        value
        if type(value) is Tensor
        else Tensor(value if hasattr(value, "dtype") else np.float64(value))
    )


# -- recording -------------------------------------------------------------------------------


def apply(row: Op, operands: tuple[Any, ...], params: Mapping[str, Any]) -> Any:
    """Run an op's forward on bare values and, if anything is tracked, put a node on the tape."""
    values = [t._value if type(t) is Tensor else _constant(t) for t in operands]
    y = row.forward(*values, **params)
    if MODE.disturb is not None:
        y = MODE.disturb(row, y)
    out = Tensor(y if hasattr(y, "dtype") else np.float64(y))
    if MODE.recording:
        wanted = tuple([type(t) is Tensor and t._tracked for t in operands])
        if True in wanted:
            _record(row, operands, params, values, wanted, out)
    return out


def _record(
    row: Op,
    operands: tuple[Any, ...],
    params: Mapping[str, Any],
    values: list[Any],
    wanted: tuple[bool, ...],
    out: Tensor,
) -> None:
    """Put the node of `out` on the tape, with just the values that its VJPs will read."""
    keep, keep_y = row.keeps(wanted)
    edges = []
    forms = []
    watch = []
    for i, t in enumerate(operands):
        value = values[i]
        if wanted[i]:
            edges.append(t._node or t._step())
            forms.append((value.shape, value.dtype))
        else:
            edges.append(None)
            forms.append(None)
        if not keep[i]:
            values[i] = _stand_in(value)
        elif type(t) is Tensor:
            watch.append((i, t._cell, t._cell[0]))
    if keep_y:
        watch.append((-1, out._cell, 0))
    node = Node(
        row,
        tuple(edges),
        tuple(forms),
        tuple(values),
        params,
        out._value if keep_y else None,
        keep_y or True in keep,
        tuple(watch),
    )
    out._node = node
    out._tracked = True
    if MODE.observe is not None:
        MODE.observe(node, out, operands)


_ZERO = np.zeros(())


def _stand_in(value: Any) -> Any:
    """Something with the value's shape and dtype that keeps none of its memory."""
    if type(value) is np.ndarray:
        return np.broadcast_to(np.zeros((), value.dtype), value.shape) if value.ndim else _ZERO
    return _ZERO if type(value) is np.float64 else value


def _constant(value: Any) -> Any:
    """What is not a tensor, as NumPy takes it; sequences become arrays here, once."""
    return np.asarray(value) if type(value) in (list, tuple) else value


def _operator(row: Op, swapped: bool) -> Callable[[Tensor, Any], Any]:
    if swapped:
        return lambda self, other: apply(row, (other, self), {})
    return lambda self, other: apply(row, (self, other), {})


def _unary(row: Op) -> Callable[[Tensor], Any]:
    return lambda self: apply(row, (self,), {})


def _method(row: Op) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return row(self, *args, **kwargs)

    method.__name__ = row.name
    method.__doc__ = f"`{row.name}` of this tensor and the further arguments."
    return method


def _augmented(row: Op) -> Callable[[Tensor, Any], Tensor]:
    return lambda self, other: self._in_place(row, (other,), {})


def equip() -> None:
    """Give Tensor its operators and methods, all from the table of ops."""
    for symbol, name in advice.OPERATORS.items():
        setattr(Tensor, f"__{symbol}__", _operator(TABLE[name], swapped=False))
        setattr(Tensor, f"__r{symbol}__", _operator(TABLE[name], swapped=True))
        setattr(Tensor, f"__i{symbol}__", _augmented(TABLE[name]))
    for symbol, name in advice.UNARY.items():
        setattr(Tensor, f"__{symbol}__", _unary(TABLE[name]))
    for name, row in TABLE.items():
        for spelling in (name, *row.school):
            if not hasattr(Tensor, spelling):
                setattr(Tensor, spelling, _method(row))
    for name in ("add", "subtract", "multiply", "divide"):
        short = {"subtract": "sub", "multiply": "mul", "divide": "div"}.get(name, name)
        setattr(Tensor, f"{short}_", _augmented(TABLE[name]))


equip()
