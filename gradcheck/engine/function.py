"""`Function`: an op with a forward and a backward of the user's own, as in PyTorch.

On the tape a function is one node. Where it has several outputs, each output has a node of its own
that packs its cotangent into a bundle; bundles that meet at the function's node merge.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.context import Context
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.tape import OUTPUT, Node, form, noted
from gradcheck.engine.tensor import Tensor, apply_to_any, boxed, tracked
from gradcheck.engine.views import FOREIGN, View, write_through
from gradcheck.ops.row import Op


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Functions are applied, never made."""
        warnings.warn(advice.not_instantiated(type(self)), DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: functions are applied through their class."""
        raise RuntimeError(advice.LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The value."""
        raise NotImplementedError(advice.NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """What the context is to remember, where `forward` does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """A gradient for every argument of forward."""
        raise NotImplementedError(advice.NO_BACKWARD)

    vjp = backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward; put one node on the tape if any argument is tracked."""
        wanted = tuple(map(tracked, args))
        ctx = Context(wanted, plain=not any(isinstance(a, Tensor) for a in args))
        with Recording(False):
            result = cls._forwarded(ctx, args, kwargs)
        values = result if isinstance(result, tuple) else (result,)
        outputs = tuple(_own(cls, out, args, ctx) for out in values)
        if MODE.recording and True in wanted:
            live = [_carries_gradient(out, ctx) for out in values]
            _record(cls, ctx, args, outputs, live)
        return outputs if isinstance(result, tuple) else outputs[0]

    @classmethod
    def _forwarded(cls, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **kwargs)
        result = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, result)
        return result


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward whose own operations are not recorded.

    A derivative of what it answers raises RuntimeError, in PyTorch's words.
    """

    @wraps(backward)
    def once(ctx: Any, *cotangents: Any) -> Any:
        with Recording(False):
            answers = backward(ctx, *cotangents)
        if not MODE.recording or not any(map(tracked, cotangents)):
            return answers
        if isinstance(answers, tuple):
            return tuple(map(_final, answers))
        return _final(answers)

    return once


def _final(answer: Any) -> Any:
    """A gradient that refuses to be differentiated."""
    if not isinstance(answer, Tensor) or answer.dtype.kind != "f":
        return answer
    return apply_to_any(FINAL, (Tensor(answer._value, True),), {})


def _refuse_twice(y: Any, x: Any) -> Any:
    raise RuntimeError(advice.TWICE)


FINAL = Op(
    name="error",
    forward=np.copy,
    function=np.copy,
    vjps=(_refuse_twice,),
    grad_fn="Error",
    elementwise=False,
    rounds=False,
)


def _own(cls: type[Function], out: Any, args: tuple[Any, ...], ctx: Context) -> Any:
    """An output as a tensor of its own; memory that it shares must not be written through it."""
    if not isinstance(out, Tensor):
        return out
    if any(out is dirty for dirty in ctx._dirty):
        if out._tracked and out._node is None:
            raise RuntimeError(advice.LEAF_WRITTEN.replace("is being", "has been"))
        return out
    view = out._view
    if view is None and (out._tracked or any(out is arg for arg in args)):
        view = View(out, None)
    if view is not None:
        out = out.detach()
        out._view = View(view.base, view.path, f"{FOREIGN} {cls.__name__}")
    return out


def _carries_gradient(out: Any, ctx: Context) -> bool:
    constant = any(out is other for other in ctx._constant)
    return isinstance(out, Tensor) and out.dtype.kind == "f" and not constant


# -- the node ------------------------------------------------------------------------------------


def _record(
    cls: type[Function],
    ctx: Context,
    args: tuple[Any, ...],
    outputs: tuple[Any, ...],
    live: list[bool],
) -> None:
    """One node for the function; its outputs point to it, directly or through their own nodes."""
    node = noted(
        _row(cls, args, outputs),
        tuple(t._step() if tracked(t) else None for t in args),
        tuple(form(t._value) if isinstance(t, Tensor) else None for t in args),
        (),
        {},
        ctx,
        None,
    )
    for k, out in enumerate(outputs):
        if live[k]:
            maker = node if len(outputs) == 1 else _output(node, k)
            if out._view is not None and any(out is dirty for dirty in ctx._dirty):
                write_through(out, Tensor(out._value, True, maker))
            else:
                out._node, out._tracked = maker, True
    if ctx._keep(outputs):
        node.watch = ()
    if MODE.observe is not None:
        MODE.observe(node, outputs[0], args)


def _row(cls: type[Function], args: tuple[Any, ...], outputs: tuple[Any, ...]) -> Op:
    """The op row of one call; its one rule runs the user's backward and hands out its answers."""
    known = tuple(form(out._value) if isinstance(out, Tensor) else None for out in outputs)
    shapes = tuple(t.shape if isinstance(t, Tensor) else () for t in args)

    def rule(ctx: Any) -> Callable[..., Any]:
        answers: list[Any] = []

        def pull(position: int, g: Any) -> Any:
            if not answers:  # for all arguments at once
                parts = _parts(g)
                alive = any(isinstance(part, Tensor) for part in parts.values())
                with Recording(MODE.recording and alive):
                    answers[:] = _gradients(cls, ctx, parts, known, shapes)
            return answers[position]

        return pull

    return Op(
        name=cls.__name__,
        forward=cls.forward,
        function=cls.apply,
        vjps=rule,
        grad_fn=f"{cls.__name__}Backward",
        elementwise=False,
        operands=len(args),
    )


class _Bundle:
    """Cotangents of several outputs of one function, by position."""

    __slots__ = ("dtype", "parts", "shape")

    def __init__(self, parts: dict[int, Any]) -> None:
        self.parts = parts
        self.shape, self.dtype = (), None

    def __add__(self, other: "_Bundle") -> "_Bundle":
        parts = dict(self.parts)
        for k, g in other.parts.items():
            parts[k] = parts[k] + g if k in parts else g
        return _Bundle(parts)


def _output(node: Node, k: int) -> Node:
    """The node of output k of a function that has several."""
    row = Op(
        name=OUTPUT,
        forward=lambda bundle, index: bundle[index],
        function=lambda bundle, index: bundle[index],
        vjps=(lambda y, bundle, index: lambda g: _Bundle({index: g}),),
        grad_fn=node.op.grad_fn,
        elementwise=False,
        params=("index",),
    )
    return noted(row, (node,), (((), None),), (None,), {"index": k}, None, None)  # type: ignore[arg-type]


def _parts(g: Any) -> dict[int, Any]:
    return g.parts if isinstance(g, _Bundle) else {0: g}


def _gradients(
    cls: type[Function],
    ctx: Context,
    parts: dict[int, Any],
    known: tuple[Any, ...],
    shapes: tuple[Any, ...],
) -> list[Any]:
    """The user's backward, its answers counted and checked; bare unless the walk is recorded."""
    recorded = any(isinstance(g, Tensor) for g in parts.values())
    cotangents = [_cotangent(parts.get(k), known[k], ctx) for k in range(len(known))]
    with Recording(recorded):
        answers = _rule_of(cls)(ctx, *cotangents)
    answers = answers if isinstance(answers, tuple) else (answers,)
    name = f"{cls.__name__}Backward"
    if len(answers) < len(shapes) or any(g is not None for g in answers[len(shapes) :]):
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {len(shapes)}, "
            f"got {len(answers)})"
        )
    checked = [
        _checked(name, i, answers[i], shape) if want else None
        for i, (shape, want) in enumerate(zip(shapes, ctx.needs_input_grad, strict=True))
    ]
    return [g if g is None or recorded else g._value for g in checked]


def _cotangent(g: Any, known: Any, ctx: Context) -> Tensor | None:
    """What arrived at one output; zeros (or None, if so asked) where nothing did."""
    if g is not None:
        return boxed(g)
    return Tensor(np.zeros(*known)) if ctx.materialize_grads and known is not None else None


def _rule_of(cls: type[Function]) -> Callable[..., Any]:
    own_backward = cls.backward is not Function.backward
    own_vjp = cls.vjp is not Function.vjp
    if own_backward and own_vjp:
        raise RuntimeError(advice.BOTH_RULES)
    return cls.vjp if own_vjp else cls.backward


def _checked(name: str, i: int, g: Any, shape: tuple[int, ...]) -> Tensor | None:
    """A gradient that can be summed to its argument's shape, as PyTorch silently does."""
    if g is None:
        return None
    if not isinstance(g, Tensor):
        module = type(g).__module__
        kind = f"{module}." if module != "builtins" else ""
        raise RuntimeError(f"expected Variable or None (got {kind}{type(g).__name__})")
    if not _expands(shape, g.shape):
        raise RuntimeError(
            f"Function {name} returned an invalid gradient at index {i} - got {list(g.shape)} but "
            f"expected shape compatible with {list(shape)}"
        )
    return g


def _expands(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of this shape broadcasts to the other one."""
    tail = to[len(to) - len(shape) :]
    return len(to) >= len(shape) and all(n in (1, m) for n, m in zip(shape, tail, strict=True))
