"""SciPy's special functions in a program: they are followed as ours, and never imported."""

import subprocess
import sys

import mpmath
import numpy as np
import pytest

from gradcheck.ops import SCIPYS
from gradcheck.testing import GradientError, assert_vjp, check
from tests.support.examples import MPMATH

special = pytest.importorskip("scipy.special")
POINT = 0.375
OF_ONE = sorted(SCIPYS.keys() - {"xlogy"})


@pytest.mark.parametrize("name", OF_ONE)
def test_the_slope_is_known_to_all_three(name):
    """Against mpmath's of the row; no opinion abstains."""
    found = check(getattr(special, name), POINT)
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.worst.opinions.values())
    assert float(found.gradient) == pytest.approx(
        float(mpmath.diff(MPMATH[SCIPYS[name]], POINT)), 1e-12
    )


def test_of_two_arguments():
    """The slopes of x*log(y)."""
    found = check(special.xlogy, 2.0, 3.0)
    np.testing.assert_allclose(found.gradient, [np.log(3), 2 / 3], rtol=1e-14)


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
    """Bessel's functions: one opinion, in the function's own name."""
    found = check(special.j0, POINT)
    assert "no derivative for j0" in " ".join(found.message.split())
    assert float(found.gradient) == pytest.approx(-float(mpmath.besselj(1, POINT)), 1e-9)


def test_it_is_not_imported():
    """A check of NumPy's own functions leaves SciPy where it is."""
    words = "import sys, numpy; from gradcheck.testing import check; check(numpy.tanh, 0.5)"
    words += "; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == 0
