r"""Formulas as LaTeX: braces where they are needed, `\ln` for what programs call log."""

import pytest

from gradcheck.report.latex import latex


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("3*x**2 - 2*cos(x)", r"3\,x^{2}-2\,\cos\left(x\right)"),
        ("x**10", "x^{10}"),
        ("(x + 1)**2", r"\left(x+1\right)^{2}"),
        ("a*exp(-k*x)", r"a\,e^{-k\,x}"),
        ("x/(x**2 + 1)", r"\frac{x}{x^{2}+1}"),
        ("sqrt(x)*2", r"\sqrt{x} \cdot 2"),
        ("log(x) + log10(x)", r"\ln\left(x\right)+\log_{10}\left(x\right)"),
        ("relu(theta_1)", r"\operatorname{relu}\left(\theta_{1}\right)"),
        ("X.T @ y_true", r"X^{T} \cdot y_{\mathit{true}}"),
        ("a_b_c", r"a_{\mathit{b\_c}}"),
        ("-2*x*cos(x**2)", r"-2\,x\,\cos\left(x^{2}\right)"),
        ("a - (b - c)", r"a-\left(b-c\right)"),
        ("a - (-2)*x", r"a-\left(-2\,x\right)"),
        ("a*(-x)", r"a\,\left(-x\right)"),
        ("2*3*x", r"2 \cdot 3\,x"),
        ("a*2**x", r"a \cdot 2^{x}"),
        ("a/b/c", r"\frac{\frac{a}{b}}{c}"),
        ("(a/b)**2", r"\left(\frac{a}{b}\right)^{2}"),
        ("(-x)**2", r"\left(-x\right)^{2}"),
        ("-x**2", "-x^{2}"),
        ("abs(x)", r"\left|x\right|"),
        ("sum([1], axis=0)", r"\operatorname{sum}\left(\left[1\right], \text{axis} = 0\right)"),
        ("for x in y", ""),
        (
            "where(x > 0, 2*x, -1)",  # rows as people write them
            r"\begin{cases}2\,x & \text{if } x>0 \\ -1 & \text{otherwise}\end{cases}",
        ),
    ],
)
def test_formulas(text, written):
    """As one would write them by hand."""
    assert latex(text) == written
