"""Methods in programs: by position too they mean what the engine's own methods mean, and PyTorch's.

The three opinions share the language, so a method that it reads otherwise deceives them all: what
it reads is held against the engine's methods, which never saw a program, and against PyTorch.
"""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck import tensor
from gradcheck.engine.tensor import Tensor
from gradcheck.errors import GradcheckError
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.program import check_program, run
from tests.support.cases import solved

CHOSEN = yaml.safe_load(Path(__file__).with_name("chosen.yaml").read_text())

NAMES = sorted(
    name
    for name in VOCABULARY.functions | VOCABULARY.aliases.keys()
    if callable(getattr(Tensor, name, None)) and name not in VOCABULARY.methods
)
CALLS = (
    "", "0", "1", "-1", "2", "0, 1", "1, 0", "2, 1", "1, True", "0, True", "(0, 1)", "[0, 1]",
    "2, 0, True", "3, 2", "y", "y, 0", "y, 1", "y > 1, y", "0, 1, 1",
    "dim=0", "dim=1, keepdim=True", "axis=0", "axis=0, keepdims=True",
)  # fmt: skip
SHAPES = {"square": (3, 3), "stack": (2, 3, 3), "vector": (4,)}
NUMPYS = {
    "std": "divides by n by itself",
    "var": "divides by n by itself",
    "max": "gives the values alone",
    "min": "gives the values alone",
}
"""Methods that NumPy's arrays have too: they mean what NumPy means by them."""
FAULTS = (
    GradcheckError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
    RuntimeError, NotImplementedError, AssertionError,
)  # fmt: skip


def inputs(shape):
    """Two arrays of numbers between 0 and 2, none of them twice."""
    rng = np.random.default_rng(7)
    return {name: rng.permutation(np.linspace(0.1, 1.9, int(np.prod(shape)))).reshape(shape)
            for name in "xy"}  # fmt: skip


def answered(call):
    """What a call gives as an array, None where it is refused."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
        if type(found).__name__ == "Tensor":
            found = found.detach().numpy()
        return None if isinstance(found, tuple | list) else np.asarray(found, dtype=float)
    except FAULTS:
        return None


@cache
def checked(text):
    """The program of a text in x and y, the same for every kind of number; None if refused."""
    try:
        return check_program(text, declared=("x", "y"), vocabulary=VOCABULARY)
    except FAULTS:
        return None


def in_a_program(text, kind, values):
    """The value of a program on one kind of number, None where it is refused."""
    program = checked(text)
    if program is None:
        return None
    lifted = {
        name: tensor(v, requires_grad=True) if kind == "tensor" else KINDS[kind].lift(v)
        for name, v in values.items()
    }
    return answered(lambda: run(program, lifted, KINDS[kind], Budget()).value)


def by_method(text, box, values):
    """The value of the same text in Python, on the engine's (or PyTorch's) tensors."""
    return answered(lambda: eval(text, {name: box(v) for name, v in values.items()}))


def same(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


def otherwise(name, box, *kinds):
    """Where a program answers something else than the method; what one of them refuses is left."""
    found = []
    for shape, sizes in SHAPES.items():
        values = inputs(sizes)
        for text in filter(checked, (f"x.{name}({args})" for args in CALLS)):
            due = by_method(text, box, values)
            for kind in kinds if due is not None else ():
                answer = in_a_program(text, kind, values)
                if answer is not None and not same(answer, due):
                    found.append((text, kind, shape))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_the_engines(name):
    assert otherwise(name, lambda v: tensor(v, requires_grad=True), "tensor", "float") == []


@pytest.mark.parametrize("name", sorted(set(NAMES) - NUMPYS.keys()))
def test_a_method_is_pytorchs(name):
    """What a program answers is what PyTorch answers to the same text."""
    torch = pytest.importorskip("torch")
    assert otherwise(name, torch.tensor, "tensor") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.norm(1, 0)", lambda x: np.abs(x).sum(0)),
        ("x.norm(2, 1, True)", lambda x: np.sqrt((x * x).sum(1, keepdims=True))),
        ("x.norm(3, dim=1)", lambda x: (np.abs(x) ** 3).sum(1) ** (1 / 3)),
        ("x.norm(1)", lambda x: np.abs(x).sum()),
    ],
)
def test_the_norm_along_an_axis(text, expected):
    """PyTorch's order of arguments: the order of the norm, then the axis; by hand."""
    values = inputs((3, 3))
    assert same(in_a_program(text, "float", values), np.asarray(expected(values["x"])))


@pytest.mark.parametrize("text", ["x.repeat(2, 1)", "x.repeat(2)"])
def test_what_cannot_be_meant_is_refused(text):
    """PyTorch's own meaning differs from NumPy's: both doors say what to write."""
    values = inputs((3, 3))
    with pytest.raises(GradcheckError, match="PyTorch"):
        check_program(text, declared=values, vocabulary=VOCABULARY)
    with pytest.raises(TypeError, match="PyTorch"):
        eval(text, {"x": tensor(values["x"])})


@pytest.mark.parametrize(("program", "x", "slope"), CHOSEN)
def test_what_is_chosen_off_the_tape_hangs_on_no_sampled_rounding(program, x, slope):
    """Slopes by hand. What float64 gives exactly is rounded no more, nor a whole exponent."""
    verdict = solved(program, x)
    found = verdict.opinions["reverse"].gradients["x"]
    assert verdict.verdict == "agree"
    assert found.value == pytest.approx(slope, rel=1e-14)
    assert found.error < 1e-12


def test_what_rounding_loses_off_the_tape_is_in_the_bar():
    """Of 0.1 + 0.2 - 0.3 float64 keeps no digit; of 1.1^50 it loses some."""
    lost, power = (solved(f"x * ({text})", 2.5) for text in ("0.1 + 0.2 - 0.3", "1.1**50"))
    assert (lost.verdict, power.verdict) == ("unstable-forward", "agree")
