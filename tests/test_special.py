"""SciPy's special functions in a program: they are followed as ours, and never imported."""

import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp, check

special = pytest.importorskip("scipy.special")
POINT = 0.375
ROWS = (Path(__file__).parent / "special.txt").read_text().splitlines()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.partition(" ")[0])
def test_the_slope_is_known(row):
    """Against mpmath's; no opinion abstains, but where SymPy's form is not read."""
    ours, theirs, *abstains = row.split(" | ")
    found = check(eval(f"lambda x: {ours}", vars(special) | {"np": np}), POINT)
    assert found.verdict == "agree"
    assert [n for n, each in found.worst.opinions.items() if each.abstains] == abstains
    slope = mpmath.diff(eval(f"lambda x: {theirs}", vars(mpmath)), POINT)
    assert float(found.gradient) == pytest.approx(float(slope), 1e-12)


def test_a_gelu_of_scipy_is_judged():
    """The exact form, right and with the density forgotten."""

    def gelu(x):
        return x * (1 + special.erf(x / np.sqrt(2))) / 2

    def back(c, x):
        phi = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        return c * ((1 + special.erf(x / np.sqrt(2))) / 2 + x * phi)

    x = np.array([-1.5, 0.2, 0.9])
    assert assert_vjp(gelu, back, x)
    with pytest.raises(GradientError, match="path-dropped"):
        assert_vjp(gelu, lambda c, x: c * (1 + special.erf(x / np.sqrt(2))) / 2, x)


def test_what_has_no_row_is_left_to_floats():
    """One opinion, in the function's own name."""
    found = check(special.ellipk, POINT)
    assert "no derivative for ellipk" in " ".join(found.message.split())
    assert float(found.gradient) == pytest.approx(float(mpmath.diff(mpmath.ellipk, POINT)), 1e-9)


def test_a_parameter_that_is_no_number_is_left_to_floats():
    """Orders side by side: what may stand there is said."""
    found = check(lambda x: np.sum(special.jv(np.arange(2), x)), POINT)
    assert "`v` has to be one number" in " ".join(found.message.split())


def test_it_is_not_imported():
    """A check of NumPy's own functions leaves SciPy where it is."""
    words = "import sys, numpy; from gradcheck.testing import check; check(numpy.tanh, 0.5)"
    words += "; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == 0
