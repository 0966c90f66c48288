"""Every elementwise row against PyTorch: value, gradient, second derivative, closed form, ball."""

import math

import numpy as np
import pytest

from gradcheck.ops import TABLE
from tests.support.torch_ops import (
    drawn,
    same_gradients,
    same_in_exact_numbers,
    same_second_derivatives,
    torch,
)

F = torch.nn.functional
op = TABLE.__getitem__


class Psi(torch.autograd.Function):
    """log gamma (n = -1), digamma, and its derivatives: PyTorch's own trigamma has 10 digits."""

    @staticmethod
    def forward(ctx, n, x):
        """By PyTorch's accurate functions: lgamma, digamma and Hurwitz's zeta."""
        ctx.n, ctx.x = n, x
        if n < 1:
            return torch.digamma(x) if n == 0 else torch.lgamma(x)
        return (-1) ** (n + 1) * math.factorial(n) * torch.special.zeta(n + 1.0, x)

    @staticmethod
    def backward(ctx, g):
        """The next one of the family."""
        return None, g * Psi.apply(ctx.n + 1, ctx.x)


# ours (by its NumPy name where it has one), PyTorch's, and the interval to draw from
UNARY = {
    "absolute": (np.absolute, torch.abs, (-2, 2)),
    "fabs": (np.fabs, torch.abs, (-2, 2)),
    "acosh": (np.arccosh, torch.acosh, (1.2, 4)),
    "acot": (op("acot"), lambda x: torch.pi / 2 - torch.atan(x), (-2, 2)),
    "acoth": (op("acoth"), lambda x: torch.atanh(1 / x), (1.2, 4)),
    "acsc": (op("acsc"), lambda x: torch.asin(1 / x), (1.2, 4)),
    "acsch": (op("acsch"), lambda x: torch.asinh(1 / x), (0.2, 3)),
    "acsch<0": (op("acsch"), lambda x: torch.asinh(1 / x), (-3, -0.2)),
    "arccos": (np.arccos, torch.acos, (-0.9, 0.9)),
    "arcsin": (np.arcsin, torch.asin, (-0.9, 0.9)),
    "arcsinh": (np.arcsinh, torch.asinh, (-2, 2)),
    "arctan": (np.arctan, torch.atan, (-2, 2)),
    "arctanh": (np.arctanh, torch.atanh, (-0.9, 0.9)),
    "asec": (op("asec"), lambda x: torch.acos(1 / x), (1.2, 4)),
    "asec<0": (op("asec"), lambda x: torch.acos(1 / x), (-4, -1.2)),
    "asech": (op("asech"), lambda x: torch.acosh(1 / x), (0.1, 0.9)),
    "cbrt": (np.cbrt, lambda x: torch.sign(x) * torch.abs(x) ** (1 / 3), (-2, 2)),
    "ceil": (np.ceil, torch.ceil, (-3, 3)),
    "cos": (np.cos, torch.cos, (-3, 3)),
    "cosh": (np.cosh, torch.cosh, (-2, 2)),
    "cot": (op("cot"), lambda x: 1 / torch.tan(x), (0.3, 2.8)),
    "coth": (op("coth"), lambda x: 1 / torch.tanh(x), (0.3, 3)),
    "csc": (op("csc"), lambda x: 1 / torch.sin(x), (0.3, 2.8)),
    "csch": (op("csch"), lambda x: 1 / torch.sinh(x), (0.3, 3)),
    "deg2rad": (np.deg2rad, torch.deg2rad, (-180, 180)),
    "radians": (np.radians, torch.deg2rad, (-180, 180)),
    "degrees": (np.degrees, torch.rad2deg, (-3, 3)),
    "rad2deg": (np.rad2deg, torch.rad2deg, (-3, 3)),
    "digamma": (op("digamma"), lambda x: Psi.apply(0, x), (0.2, 8)),
    "elu": (op("elu"), F.elu, (-2, 2)),
    "elu(1.7)": (lambda x: op("elu")(x, alpha=1.7), lambda x: F.elu(x, alpha=1.7), (-2, 2)),
    "erf": (op("erf"), torch.erf, (-2, 2)),
    "erfc": (op("erfc"), torch.erfc, (-2, 2)),
    "erfinv": (op("erfinv"), torch.erfinv, (-0.9, 0.9)),
    "exp": (np.exp, torch.exp, (-2, 2)),
    "exp2": (np.exp2, torch.exp2, (-2, 2)),
    "expm1": (np.expm1, torch.expm1, (-2, 2)),
    "floor": (np.floor, torch.floor, (-3, 3)),
    "gamma": (op("gamma"), lambda x: torch.exp(Psi.apply(-1, x)), (0.3, 5)),
    "gelu": (op("gelu"), F.gelu, (-3, 3)),
    "gelu(tanh)": (
        lambda x: op("gelu")(x, approximate="tanh"),
        lambda x: F.gelu(x, approximate="tanh"),
        (-3, 3),
    ),
    "leaky_relu": (op("leaky_relu"), F.leaky_relu, (-2, 2)),
    "leaky_relu(.2)": (lambda x: op("leaky_relu")(x, 0.2), lambda x: F.leaky_relu(x, 0.2), (-2, 2)),
    "log": (np.log, torch.log, (0.1, 4)),
    "log10": (np.log10, torch.log10, (0.1, 4)),
    "log1p": (np.log1p, torch.log1p, (-0.9, 4)),
    "log2": (np.log2, torch.log2, (0.1, 4)),
    "loggamma": (op("loggamma"), lambda x: Psi.apply(-1, x), (0.2, 6)),
    "logsigmoid": (op("logsigmoid"), F.logsigmoid, (-4, 4)),
    "nan_to_num": (np.nan_to_num, torch.nan_to_num, (-3, 3)),
    "negative": (np.negative, torch.neg, (-2, 2)),
    "polygamma(2)": (lambda x: op("polygamma")(2, x), lambda x: Psi.apply(2, x), (0.3, 8)),
    "positive": (np.positive, torch.positive, (-2, 2)),
    "x**3": (lambda x: x**3, lambda x: x**3, (-2, 2)),
    "x**-2": (lambda x: x**-2, lambda x: x**-2, (0.3, 2)),
    "2**x": (lambda x: 2.0**x, lambda x: 2.0**x, (-2, 2)),
    "reciprocal": (np.reciprocal, torch.reciprocal, (0.3, 3)),
    "relu": (op("relu"), torch.relu, (-2, 2)),
    "rint": (np.rint, torch.round, (-3, 3)),
    "round": (np.round, torch.round, (-3, 3)),
    "round(1)": (lambda x: np.round(x, 1), lambda x: torch.round(x, decimals=1), (-3, 3)),
    "rsqrt": (op("rsqrt"), torch.rsqrt, (0.3, 3)),
    "sec": (op("sec"), lambda x: 1 / torch.cos(x), (-1.2, 1.2)),
    "sech": (op("sech"), lambda x: 1 / torch.cosh(x), (-2, 2)),
    "selu": (op("selu"), F.selu, (-2, 2)),
    "sigmoid": (op("sigmoid"), torch.sigmoid, (-4, 4)),
    "sign": (np.sign, torch.sign, (-2, 2)),
    "silu": (op("silu"), F.silu, (-4, 4)),
    "sin": (np.sin, torch.sin, (-3, 3)),
    "sinc": (np.sinc, torch.sinc, (-2, 2)),
    "sinh": (np.sinh, torch.sinh, (-2, 2)),
    "softplus": (op("softplus"), F.softplus, (-4, 4)),
    "sqrt": (np.sqrt, torch.sqrt, (0.2, 3)),
    "square": (np.square, torch.square, (-2, 2)),
    "tan": (np.tan, torch.tan, (-1.2, 1.2)),
    "tanh": (np.tanh, torch.tanh, (-2, 2)),
    "trunc": (np.trunc, torch.trunc, (-3, 3)),
    "fix": (np.fix, torch.fix, (-3, 3)),
}

BINARY = {
    "add": (np.add, torch.add, (-2, 2), (-2, 2)),
    "subtract": (np.subtract, torch.sub, (-2, 2), (-2, 2)),
    "multiply": (np.multiply, torch.mul, (-2, 2), (-2, 2)),
    "divide": (np.divide, torch.div, (-2, 2), (0.3, 2)),
    "power": (np.power, torch.pow, (0.2, 2), (-2, 2)),
    "float_power": (np.float_power, torch.float_power, (0.2, 2), (-2, 2)),
    "arctan2": (np.arctan2, torch.atan2, (-2, 2), (-2, 2)),
    "copysign": (np.copysign, torch.copysign, (-2, 2), (-2, 2)),
    "fmax": (np.fmax, torch.fmax, (-2, 2), (-2, 2)),
    "fmin": (np.fmin, torch.fmin, (-2, 2), (-2, 2)),
    "maximum": (np.maximum, torch.maximum, (-2, 2), (-2, 2)),
    "minimum": (np.minimum, torch.minimum, (-2, 2), (-2, 2)),
    "fmod": (np.fmod, torch.fmod, (-5, 5), (0.5, 2)),
    "remainder": (np.remainder, torch.remainder, (-5, 5), (0.5, 2)),
    "remainder<0": (np.mod, torch.remainder, (-5, 5), (-2, -0.5)),
    "floor_divide": (np.floor_divide, lambda a, b: torch.floor(a / b), (-5, 5), (0.5, 2)),
    "hypot": (np.hypot, torch.hypot, (-2, 2), (-2, 2)),
    "logaddexp": (np.logaddexp, torch.logaddexp, (-3, 3), (-3, 3)),
    "logaddexp2": (np.logaddexp2, torch.logaddexp2, (-3, 3), (-3, 3)),
    "xlogy": (op("xlogy"), torch.xlogy, (-2, 2), (0.2, 3)),
}
SINGLE = ((), (2, 3))
PAIRS = (
    ((), ()),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 1, 2), (3, 1)),
)


def case(name, shapes):
    """The program of that name, with values drawn for the shapes from a generator of its own."""
    ours, theirs, *intervals = UNARY.get(name) or BINARY[name]
    rng = np.random.default_rng(abs(hash((len(name), shapes))) % 2**32 + sum(map(ord, name)))
    values = [drawn(rng, s, *i) for s, i in zip(shapes, intervals, strict=True)]
    return ours, theirs, values, rng


CASES = [(name, (shape,)) for name in UNARY for shape in SINGLE]
CASES += [(name, pair) for name in BINARY for pair in PAIRS]
SMALL = [(name, ((2,),)) for name in UNARY] + [(name, ((2, 1), (2,))) for name in BINARY]


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_value_and_gradient(name, shapes):
    """An elementwise op and its VJPs agree with PyTorch's for every shape, broadcast or not."""
    same_gradients(*case(name, shapes))


@pytest.mark.parametrize(("name", "shapes"), SMALL)
def test_second_derivative(name, shapes):
    """The VJPs are made of ops themselves: differentiated again they agree with PyTorch's."""
    same_second_derivatives(*case(name, shapes))


@pytest.mark.parametrize(("name", "shapes"), SMALL)
def test_exact_numbers(name, shapes):
    """The closed form and the balls of a row are the same function as PyTorch's."""
    same_in_exact_numbers(*case(name, shapes))


def test_table_is_covered():
    """Every elementwise row is compared here; heaviside has no derivative to compare."""
    named = {name.split("(")[0].split("<")[0] for name in (*UNARY, *BINARY)}
    spelled = {s for n in named if n in TABLE for s in TABLE[n].school} | {"arccosh"}
    rows = {name for name, row in TABLE.items() if row.elementwise}
    assert rows - named - spelled == {"heaviside"}
