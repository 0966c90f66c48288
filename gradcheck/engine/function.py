"""`Function`: an op with a forward and a backward of the user's own, as in PyTorch.

On the tape a function is one node. Where it has several outputs, the node's value is all their
entries in a line, of which each output is a piece, picked by a node of its own.
"""

from collections.abc import Callable
from itertools import accumulate, pairwise
from math import prod
from operator import getitem
from weakref import ref

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.tape import OUTPUT, make_node, stand_in
from gradcheck.engine.tensor import Tensor, box, to, track
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op
from gradcheck.values import Routine, Value


class Context:
    """PyTorch's `ctx`: saved tensors with their versions, and whatever attribute the user sets."""

    def __init__(self, wanted: tuple[bool, ...]) -> None:
        self.needs_input_grad = wanted
        self._constant: tuple[Value, ...] = ()
        self._kept: tuple[Value, ...] = ()
        self._saved: tuple[Callable[[], Value], ...] = ()

    def save_for_backward(self, *tensors: Value) -> None:
        """Keep arguments or outputs for backward; writes to them in between are noticed."""
        self._kept = tensors

    @property
    def saved_tensors(self) -> tuple[Value, ...]:
        """What was saved, in its order; raises RuntimeError where it was overwritten since."""
        return tuple(read() for read in self._saved)

    def mark_non_differentiable(self, *outputs: Value) -> None:
        self._constant = outputs

    def _save(self, outputs: tuple[Value, ...]) -> bool:
        """Save what is kept, now that the outputs have their nodes; whether there is any."""
        kept, self._kept, self._constant = self._kept, (), ()
        for i, t in enumerate(kept):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self._saved = tuple(_make_reader(t, any(t is out for out in outputs)) for t in kept)
        return any(t is not None for t in kept)


def _make_reader(t: Tensor | None, is_output: bool) -> Callable[[], Tensor | None]:
    """How to read a saved tensor: an output without its node (or the node would hold itself)."""
    if t is None:
        return lambda: None
    value, tracked, memory, version = t._value, t._tracked, t._memory, t._version
    maker: Callable[[], Value] = (lambda: None) if t._node is None else ref(t._node)
    held = None if is_output else t

    def read() -> Tensor:
        node = maker()
        if memory.version != version:
            written = "" if is_output else memory.writer
            name = written or (node.name() if node else "")
            raise RuntimeError(advice.explain_change(value, name, memory.version, version))
        if held is not None:
            return held
        twin = Tensor(value, tracked, node)
        twin._writes = memory
        return twin

    return read


class Function:
    """An op with a forward and a backward of your own: subclass it, and call `apply`.

    `forward(ctx, *args)` or, with `setup_context(ctx, inputs, output)` beside it, `forward(*args)`;
    `backward(ctx, *cotangents)` gives one gradient (or None) an argument of forward. Both are
    static. What backward needs, forward keeps with `ctx.save_for_backward(...)`.

    Raises
    ------
    RuntimeError
        In PyTorch's words, where backward gives too few gradients, or one of another shape.

    Examples
    --------
    >>> from gradcheck import tensor
    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * g
    >>> x = tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    @staticmethod
    def forward(*args: Value, **kwargs: Value) -> Value:
        raise NotImplementedError(advice.NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Value, inputs: tuple[Value, ...], output: Value) -> Value:
        """What the context is to remember, where `forward` does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Value, *cotangents: Value) -> Value:
        """A gradient for every argument of forward."""
        raise NotImplementedError(advice.NO_BACKWARD)

    @classmethod
    def run_forward(cls, ctx: Value, *args: Value, **kwargs: Value) -> Value:
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **kwargs)
        result = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, result)
        return result

    @classmethod
    def apply(cls, *args: Value, **kwargs: Value) -> Value:
        """Run forward; put one node on the tape if any argument is tracked."""
        ctx = Context(tuple(map(track, args)))
        held = MODE.held
        with Recording(False):
            result = cls.run_forward(ctx, *args, **kwargs)
        values = result if isinstance(result, tuple) else (result,)
        outputs = tuple(_copy_shared(out, args) for out in values)
        if MODE.recording and True in ctx.needs_input_grad:
            live = [
                isinstance(v, Tensor)
                and v.dtype.kind == "f"
                and not any(v is each for each in ctx._constant)
                for v in values
            ]
            _record(cls, ctx, args, outputs, live)
        MODE.held = held  # its backward says what changes with what
        return outputs if isinstance(result, tuple) else outputs[0]


def _copy_shared(out: Value, args: tuple[Value, ...]) -> Value:
    """An output as a tensor of its own, in memory of its own where it is part of an argument."""
    shared = isinstance(out, Tensor) and (out._tracked or out._view or any(out is a for a in args))
    return Tensor(np.array(out._value)[()]) if shared else out


# -- the node ------------------------------------------------------------------------------------


PICK = Op(
    name=OUTPUT, forward=getitem, function=getitem, elementwise=False, params=("index", "where"),
    vjps=(lambda y, line, index, where: lambda g: TABLE["scatter"](
        np.reshape(g, -1), shape=(where[-1],), index=slice(where[index], where[index + 1])
    ),),
)  # fmt: skip
"""Output number `index` of a line in which the outputs begin and end at `where`."""


def _make_row(
    cls: type[Function], args: tuple[Value, ...], known: tuple[Value, ...], where: list[int]
) -> Op:
    """The row of one call, whose outputs have forms and begin in their line at `where`."""
    shapes = tuple(t.shape if isinstance(t, Tensor) else () for t in args)

    def split(g: Value) -> list[Value]:
        """The outputs' cotangents: zeros where nothing arrived, None for what is no tensor."""
        if len(known) == 1:
            return [box(g)]
        pieces = zip(known, pairwise(where), strict=True)
        return [form and to(box(g)[a:b].reshape(form[0]), form[1]) for form, (a, b) in pieces]

    def rule(ctx: Context) -> Routine:
        """The rule for all arguments: runs the user's backward once and hands out its answers."""
        answers: list[Value] = []

        def pull(position: int, g: Value) -> Value:
            if not answers:
                recorded = isinstance(g, Tensor)
                answers[:] = _ask_user(cls, ctx, split(g), shapes, recorded=recorded)
            return answers[position]

        return pull

    return Op(
        name=cls.__name__, forward=cls.forward, function=cls.apply, elementwise=False, vjps=rule,
        operands=len(args), grad_fn=f"{cls.__name__}Backward",
    )  # fmt: skip


def _record(
    cls: type[Function],
    ctx: Context,
    args: tuple[Value, ...],
    outputs: tuple[Value, ...],
    live: list[bool],
) -> None:
    """One node for the function; its outputs point to it, directly or through their own nodes."""
    known = tuple(map(_form, outputs))
    where = list(accumulate((prod(form[0]) if form else 0 for form in known), initial=0))
    row = _make_row(cls, args, known, where)
    edges = tuple(t._step() if track(t) else None for t in args)
    node = make_node(row, edges, tuple(map(_form, args)), (), {})
    node.y = ctx
    line = ((where[-1],), np.dtype(np.float64))
    for k, out in enumerate(outputs):
        if live[k]:
            picked = PICK, (node,), (line,), (None,), {"index": k, "where": where}
            out._tracked, out._node = True, node if len(outputs) == 1 else make_node(*picked)
    if ctx._save(outputs):
        node.watch = ()
    if MODE.observe is not None:
        MODE.observe(node, outputs[0], args)


def _form(t: Value) -> Value:
    return stand_in(t._value)[0] if isinstance(t, Tensor) else None


def _ask_user(
    cls: type[Function],
    ctx: Context,
    cotangents: list[Value],
    shapes: tuple[Value, ...],
    *,
    recorded: bool,
) -> list[Value]:
    """The user's backward, its answers counted and checked; bare unless the walk is recorded."""
    with Recording(recorded):
        answers = cls.backward(ctx, *cotangents)
    answers = answers if isinstance(answers, tuple) else (answers,)
    name = f"{cls.__name__}Backward"
    if len(answers) < len(shapes) or any(g is not None for g in answers[len(shapes) :]):
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {len(shapes)}, "
            f"got {len(answers)})"
        )
    wanted = [g if want else None for g, want in zip(answers, ctx.needs_input_grad, strict=False)]
    for i, (piece, shape) in enumerate(zip(wanted, shapes, strict=True)):
        if piece is not None:
            _refuse_unfit(name, i, piece, shape)
    return [g if g is None or recorded else g._value for g in wanted]


def _refuse_unfit(name: str, i: int, g: Value, shape: tuple[int, ...]) -> None:
    """Gradients that cannot be summed to their argument's shape; others PyTorch silently sums."""
    if not isinstance(g, Tensor):
        module = type(g).__module__.replace("builtins", "")
        kind = f"{module}.{type(g).__name__}".lstrip(".")
        raise RuntimeError(f"expected Variable or None (got {kind})")
    tail = g.shape[g.ndim - len(shape) :] if g.ndim >= len(shape) else ()
    if len(tail) < len(shape) or any(n not in (1, m) for n, m in zip(shape, tail, strict=True)):
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {i} - got {list(g.shape)} but "
            f"expected shape compatible with {list(shape)}"
        )
