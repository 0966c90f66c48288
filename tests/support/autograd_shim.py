"""gradcheck in the place of HIPS autograd: its names, as far as its own tests use them.

A plugin of pytest (`-p tests.support.autograd_shim`): importing it enters the modules. Complex
numbers and forward mode are not ours: samples with the first are left out, `fwd` is not run.
"""

import itertools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.engine import autograd as engine
from gradcheck.engine.tensor import Tensor
from gradcheck.ops.formula import BY_COMPOUND
from gradcheck.ops.row import BY_FUNCTION

STEP, NEAR = 1e-6, 1e-6
"""The step of a central difference, and how near it has to come: autograd's own numbers."""


# -- containers of numbers -------------------------------------------------------------------------


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """Lists, tuples and dicts with each entry changed."""
    if isinstance(tree, dict):
        return {key: mapped(change, value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(mapped(change, value) for value in tree)
    return change(tree)


def entries(tree: Any) -> list[Any]:
    """All entries, in their order."""
    if isinstance(tree, dict):
        return [e for key in tree for e in entries(tree[key])]
    if isinstance(tree, list | tuple):
        return [e for value in tree for e in entries(value)]
    return [tree]


def plain(value: Any) -> Any:
    """A tensor as NumPy's array or number."""
    return value.detach().numpy() if isinstance(value, Tensor) else value


def leaf(value: Any) -> Any:
    """A number that is differentiated; a tensor that is tracked already stays what it is."""
    if isinstance(value, Tensor) and value.requires_grad:
        return value.clone()  # what else is made of it does not count
    array = np.array(plain(value))
    return gradcheck.tensor(array if array.dtype.kind == "f" else array * 1.0, requires_grad=True)


# -- derivatives -----------------------------------------------------------------------------------


def pulled(out: Any, leaves: list[Any], g: list[Any], again: bool) -> list[Any]:
    """The cotangents of the leaves, from those of the outputs."""
    pairs = [
        (o, c)
        for o, c in zip(entries(out), g, strict=True)
        if isinstance(o, Tensor) and o.requires_grad
    ]
    if not pairs:
        return [gradcheck.tensor(np.zeros(x.shape)) for x in leaves]
    outs, gs = zip(*pairs, strict=True)
    return list(
        engine.grad(
            outs,
            leaves,
            [c if isinstance(c, Tensor) else gradcheck.tensor(c) for c in gs],
            create_graph=again,
            allow_unused=True,
            materialize_grads=True,
        )
    )


RUNNING: list[Any] = []
"""The functions that are differentiated now: what is found inside of one stays on its tape."""


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[..., Any], Any]:
    """The function from cotangents to cotangents, and the value."""
    inner = bool(RUNNING)
    tree = mapped(leaf, x)
    RUNNING.append(fun)
    try:
        out = fun(tree)
    except RuntimeError as error:  # PyTorch's kind, where autograd has another
        raise TypeError(str(error)) from error
    finally:
        RUNNING.pop()

    def vjp(g: Any) -> Any:
        found = iter(pulled(out, entries(tree), entries(g), again=True))
        return mapped(lambda _: next(found) if inner else plain(next(found)), tree)

    return vjp, out if inner else mapped(plain, out)


def _ones(out: Any) -> Any:
    if any(np.asarray(plain(e)).dtype.kind != "f" for e in entries(out)):
        raise TypeError("no derivative of what is no number")
    if np.size(plain(out)) != 1 and not isinstance(out, list | tuple | dict):
        raise TypeError("Grad only applies to real scalar-output functions.")
    return mapped(lambda e: np.ones(np.shape(plain(e))), out)


def of_one(operator: Callable[..., Any]) -> Callable[..., Any]:
    """An operator on functions of one argument, for the argument `argnum` (or several) of many."""

    def operated(fun: Callable[..., Any], argnum: Any = 0, *more: Any, **named: Any) -> Any:
        def derived(*args: Any, **kwargs: Any) -> Any:
            several = isinstance(argnum, list | tuple)
            where = list(argnum) if several else [argnum]

            def of_it(x: Any) -> Any:
                full = list(args)
                for k, value in zip(where, x if several else [x], strict=True):
                    full[k] = value
                return fun(*full, **kwargs)

            x = tuple(args[k] for k in where) if several else args[argnum]
            return operator(of_it, x, *more, **named)

        return derived

    return operated


@of_one
def grad(fun: Any, x: Any) -> Any:
    """The gradient of a function of numbers to a number."""
    vjp, out = make_vjp(fun, x)
    return vjp(_ones(out))


@of_one
def value_and_grad(fun: Any, x: Any) -> Any:
    """The value and the gradient."""
    vjp, out = make_vjp(fun, x)
    return out, vjp(_ones(out))


@of_one
def elementwise_grad(fun: Any, x: Any) -> Any:
    """The sum of the rows of the Jacobian."""
    vjp, out = make_vjp(fun, x)
    return vjp(mapped(lambda e: np.ones(np.shape(plain(e))), out))


@of_one
def jacobian(fun: Any, x: Any) -> Any:
    """The derivative of each entry of the value by each of x."""
    vjp, out = make_vjp(fun, x)
    shape = np.shape(plain(out))
    rows = []
    for k in np.ndindex(shape):
        g = np.zeros(shape)
        g[k] = 1.0
        rows.append(vjp(g))
    return np.reshape(np.stack(rows), shape + np.shape(plain(x)))


def hessian(fun: Any, argnum: int = 0) -> Any:
    """The Jacobian of the Jacobian."""
    return jacobian(jacobian(fun, argnum), argnum)


def grad_and_aux(fun: Any, argnum: int = 0) -> Any:
    """The gradient of the first of two values, and the second as it is."""

    def derived(*args: Any, **kwargs: Any) -> Any:
        aside: list[Any] = []

        def first(*given: Any) -> Any:
            value, aux = fun(*given, **kwargs)
            aside.append(mapped(plain, aux))
            return value

        return grad(first, argnum)(*args), aside[-1]

    return derived


def make_hvp(fun: Any, argnum: int = 0) -> Any:
    """At a point, the product of the Hessian with a vector."""

    def at(*args: Any, **kwargs: Any) -> Any:
        vjp, value = make_vjp(
            lambda x: grad(fun, argnum)(*args[:argnum], x, *args[argnum + 1 :], **kwargs),
            args[argnum],
        )
        return vjp, value

    return at


def hessian_tensor_product(fun: Any, argnum: int = 0) -> Any:
    """The product of the Hessian with a tensor, the last argument."""

    def product(*args: Any, **kwargs: Any) -> Any:
        *rest, v = args
        return make_hvp(fun, argnum)(*rest, **kwargs)[0](v)

    return product


def tensor_jacobian_product(fun: Any, argnum: int = 0) -> Any:
    """The product of a tensor, the last argument, with the Jacobian."""

    def product(*args: Any, **kwargs: Any) -> Any:
        *rest, v = args
        return np.tensordot(v, jacobian(fun, argnum)(*rest, **kwargs), np.ndim(v))

    return product


def make_ggnvp(f: Any, g: Any = lambda x: 0.5 * np.sum(x**2, axis=-1), f_argnum: int = 0) -> Any:
    """The product of the Gauss-Newton matrix with a vector."""

    def at(*args: Any, **kwargs: Any) -> Any:
        vjp, z = make_vjp(
            lambda x: f(*args[:f_argnum], x, *args[f_argnum + 1 :], **kwargs), args[f_argnum]
        )
        hvp = make_vjp(grad(g), z)[0]

        def jvp(v: Any) -> Any:  # by two pulls
            zero = gradcheck.tensor(np.zeros(np.shape(z)), requires_grad=True)
            x = leaf(args[f_argnum])
            out = f(*args[:f_argnum], x, *args[f_argnum + 1 :], **kwargs)
            (pull,) = engine.grad(out, [x], [zero], create_graph=True)
            return plain(engine.grad(pull, [zero], [gradcheck.tensor(v)])[0])

        return lambda v: vjp(hvp(jvp(v)))

    return at


def checkpoint(fun: Any) -> Any:
    """The function itself."""
    return fun


# -- autograd's own checks -------------------------------------------------------------------------


def scalar_close(a: Any, b: Any) -> bool:
    """Near to 1e-6, absolutely or relatively."""
    return bool(abs(a - b) < NEAR or abs(a - b) / abs(a + b) < NEAR)


def drawn_like(tree: Any) -> Any:
    """Numbers of the standard normal distribution in the shapes of others."""
    return mapped(lambda e: np.random.standard_normal(np.shape(plain(e))), tree)


def inner(a: Any, b: Any) -> Any:
    """The sum of the products of all entries."""
    pairs = zip(entries(a), entries(b), strict=True)
    return sum(np.sum(np.asarray(plain(u)) * np.asarray(plain(v))) for u, v in pairs)


def moved(x: Any, v: Any, step: float) -> Any:
    """X and so much of a direction."""
    steps = iter(entries(v))
    return mapped(lambda e: np.asarray(plain(e), dtype=float) + step * next(steps), x)


def check_vjp(fun: Any, x: Any) -> None:
    """One pulled cotangent against a central difference."""
    vjp, out = make_vjp(fun, x)
    v, g = drawn_like(x), drawn_like(out)
    exact = inner(v, vjp(g))
    ahead, behind = (mapped(plain, fun(moved(x, v, s))) for s in (STEP / 2, -STEP / 2))
    numeric = (inner(g, ahead) - inner(g, behind)) / STEP
    assert scalar_close(numeric, exact), f"analytic {exact}, numeric {numeric}"


def check_equivalent(x: Any, y: Any) -> None:
    """The same shapes, and the same numbers along a direction."""
    assert [np.shape(e) for e in entries(x)] == [np.shape(e) for e in entries(y)]
    v = drawn_like(x)
    assert scalar_close(inner(x, v), inner(y, v)), f"{x} against {y}"


def is_complex(tree: Any) -> bool:
    """Whether a complex number is among the entries."""
    return any(np.iscomplexobj(e) for e in entries(tree))


def check_grads(fun: Any, argnum: Any = 0, modes: Any = ("fwd", "rev"), order: int = 2) -> Any:
    """The gradients, and those of the gradients, against central differences."""
    where = tuple(argnum) if isinstance(argnum, list | tuple) else (argnum,)

    def at(*args: Any, **kwargs: Any) -> None:
        def of_some(xs: Any) -> Any:
            full = list(args)
            for k, x in zip(where, xs, strict=True):
                full[k] = x
            return fun(*full, **kwargs)

        if is_complex(list(args)):
            return
        xs = tuple(args[k] for k in where)
        check_vjp(of_some, xs)
        if order > 1:
            g = drawn_like(mapped(plain, of_some(xs)))
            check_vjp(lambda x: make_vjp(of_some, x)[0](g), xs)

    return at


def combo_check(fun: Any, argnums: Any = 0, modes: Any = None, order: int = 2) -> Any:
    """All combinations of the arguments and keywords."""

    def over(*lists: Any, **named: Any) -> None:
        for args in itertools.product(*lists):
            for values in itertools.product(*named.values()):
                kwargs = dict(zip(named, values, strict=True))
                check_grads(fun, argnums, order=order)(*args, **kwargs)

    return over


# -- the modules -----------------------------------------------------------------------------------


def array(values: Any, *args: Any, **kwargs: Any) -> Any:
    """Autograd's `np.array` keeps what is tracked: lists of tensors are stacked."""
    if isinstance(values, list | tuple) and any(isinstance(e, Tensor) for e in entries(values)):
        return np.stack([array(v) for v in values])
    return values if isinstance(values, Tensor) else np.array(values, *args, **kwargs)


def module(name: str, **names: Any) -> ModuleType:
    """A module of these names, entered where imports look."""
    made = ModuleType(name)
    made.__dict__.update(names)
    sys.modules[name] = made
    return made


class NumPy(ModuleType):
    """`autograd.numpy`, or a part of it: NumPy itself, but for `array` and lists of tensors."""

    def __init__(self, name: str, theirs: Any) -> None:
        """The module of a name, in the place of NumPy's module."""
        super().__init__(name)
        self.theirs = theirs

    def __getattr__(self, name: str) -> Any:
        """NumPy's own, of lists of tensors ours; what only autograd has is skipped."""
        theirs = getattr(self.theirs, name, None)
        if theirs is None:
            if not name.startswith("_"):
                pytest.skip(f"NumPy has no {name}")
            raise AttributeError(name)
        mine = BY_FUNCTION.get(theirs) or BY_COMPOUND.get(theirs) if callable(theirs) else None
        if mine is None:
            return theirs

        def function(*args: Any, **kwargs: Any) -> Any:
            lists = [a for a in args if isinstance(a, list | tuple)]
            held = any(isinstance(e, Tensor) for e in entries(lists))
            return (mine if held else theirs)(*args, **kwargs)

        return function


def enter() -> None:
    """Put all modules where the tests import them from."""
    numpys = NumPy("autograd.numpy", np)
    numpys.array = array  # type: ignore[attr-defined]
    sys.modules["autograd.numpy"] = numpys
    sys.modules["autograd.numpy.random"] = np.random
    linalg = NumPy("autograd.numpy.linalg", np.linalg)
    numpys.linalg = sys.modules["autograd.numpy.linalg"] = linalg  # type: ignore[attr-defined]

    def absent(*args: Any, **kwargs: Any) -> Any:
        pytest.skip("a part of autograd that has no counterpart here")

    boxes = {"list": list, "tuple": tuple, "dict": dict, "isinstance": isinstance}
    top = module(
        "autograd", numpy=numpys, grad=grad, jacobian=jacobian, hessian=hessian,
        elementwise_grad=elementwise_grad, value_and_grad=value_and_grad, make_vjp=_make_vjp,
        grad_and_aux=grad_and_aux, make_hvp=make_hvp, make_ggnvp=make_ggnvp, deriv=absent,
        hessian_tensor_product=hessian_tensor_product,
        tensor_jacobian_product=tensor_jacobian_product, checkpoint=checkpoint, make_jvp=absent,
        holomorphic_grad=absent, multigrad_dict=absent, **boxes,
    )  # fmt: skip
    top.__path__ = []  # type: ignore[attr-defined]
    module("autograd.builtins", **boxes)
    module("autograd.test_util", scalar_close=scalar_close, check_grads=check_grads,
           check_equivalent=check_equivalent, combo_check=combo_check)  # fmt: skip
    module("autograd.extend", primitive=absent, defvjp=absent)
    module("autograd.tracer", primitive=absent, isbox=lambda v: isinstance(v, Tensor))
    module("autograd.misc", const_graph=absent, flatten=absent)
    module("autograd.core", make_vjp=make_vjp, primitive_vjps={}, vspace=absent)
    module("autograd.wrap_util", unary_to_nary=of_one)


def _make_vjp(fun: Any, argnum: int = 0) -> Any:
    def at(*args: Any, **kwargs: Any) -> Any:
        return make_vjp(
            lambda x: fun(*args[:argnum], x, *args[argnum + 1 :], **kwargs), args[argnum]
        )

    return at


enter()
