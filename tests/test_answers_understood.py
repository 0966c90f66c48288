"""Typed formulas and what is understood: written by hand, one row a spelling."""

import ast

import pytest
from test_answers_vocabulary import read

from gradcheck.answers import ALIASES, FUNCTIONS, read_formula

TABLE = r"""
2x                          => 2*x
3x^2 + 2cos x               => 3*x**2 + 2*cos(x)
x sin x                     => x*sin(x)
3(x+1)                      => 3*(x + 1)
(x+1)(x-1)                  => (x + 1)*(x - 1)
2 pi x                      => 2*pi*x
x y                         => x*y
x y a                       => x*y*a
aa                          => aa
a a                         => a*a
x2                          => x2
x_1                         => x_1
x(x+1)                      => x*(x + 1)
2(3)                        => 2*3
x*y                         => x*y
x/y                         => x/y
x - y                       => x - y
x-y-a                       => x - y - a
x-(y-a)                     => x - (y - a)
x/(y/a)                     => x/(y/a)
x/y/a                       => x/y/a
x/(y a)                     => x/(y*a)
((x))                       => x
(x^2+1)^-1                  => (x**2 + 1)**-1
+x                          => +x
-x                          => -x
--x                         => --x
x--y                        => x - -y
x*-y                        => x*-y
-2x                         => -2*x
-(x+1)                      => -(x + 1)
x**2                        => x**2
x ** -2                     => x**-2
x^-2                        => x**-2
2^-x                        => 2**-x
2^3^2                       => 2**3**2
(2^3)^2                     => (2**3)**2
-x^2                        => -x**2
(-x)^2                      => (-x)**2
e^x                         => e**x
e^-x                        => e**-x
e^(2x)                      => e**(2*x)
e^{2x}                      => e**(2*x)
e^2x                        => e**2*x
e^-x^2                      => e**-x**2
e^x sin x                   => e**x*sin(x)
e^sin x                     => e**sin(x)
e^√x                        => e**sqrt(x)
e^|x|                       => e**absolute(x)
x^1/2                       => x**1/2
x^(1/2)                     => x**(1/2)
x^x                         => x**x
1/2x                        => 1/2*x
1/(2x)                      => 1/(2*x)
1/2 x^2                     => 1/2*x**2
(1/2)x                      => 1/2*x
2x/3y                       => 2*x/3*y
1/2sqrt(x)                  => 1/2*sqrt(x)
sin x                       => sin(x)
sin(x)                      => sin(x)
sin 2x                      => sin(2*x)
sin 2 x                     => sin(2*x)
sin 2x + 1                  => sin(2*x) + 1
sin x^2                     => sin(x**2)
sin -x                      => sin(-x)
sin x cos x                 => sin(x)*cos(x)
sin x*cos x                 => sin(x)*cos(x)
sin(x)cos(x)                => sin(x)*cos(x)
sin x y                     => sin(x*y)
sin pi x                    => sin(pi*x)
sin 2(x+1)                  => sin(2*(x + 1))
cos 2x/3                    => cos(2*x)/3
sin 2*x                     => sin(2)*x
sin sin x                   => sin(sin(x))
ln sin x                    => log(sin(x))
sin^2 x                     => sin(x)**2
sin**2 x                    => sin(x)**2
sin^2(x)cos(x)              => sin(x)**2*cos(x)
sin^2 2x                    => sin(2*x)**2
cos^n x                     => cos(x)**n
sin(x)^2                    => sin(x)**2
sin^-1 x                    => arcsin(x)
tan^(-1)(x)                 => arctan(x)
cosh^-1(x)                  => arccosh(x)
sec x tan x                 => sec(x)*tan(x)
sec^2 x                     => sec(x)**2
ln 2 cos x                  => log(2)*cos(x)
2^x ln 2                    => 2**x*log(2)
2^x ln(2) x                 => 2**x*log(2)*x
x ln x - x                  => x*log(x) - x
ln|x|                       => log(absolute(x))
ln 2|x|                     => log(2*absolute(x))
log x                       => log(x)
lg x                        => log10(x)
log_2 x                     => log2(x)
log_10(x)                   => log10(x)
log_3 x                     => log(x)/log(3)
log_a(x)                    => log(x)/log(a)
exp x                       => exp(x)
exp -x                      => exp(-x)
exp(x)^2                    => exp(x)**2
sqrt(x)                     => sqrt(x)
sqrt 2x                     => sqrt(2*x)
√x                          => sqrt(x)
√(x+1)                      => sqrt(x + 1)
√2x                         => sqrt(2)*x
√x^2                        => sqrt(x**2)
√√x                         => sqrt(sqrt(x))
3√x                         => 3*sqrt(x)
1/(2√x)                     => 1/(2*sqrt(x))
∛x                          => cbrt(x)
|x|                         => absolute(x)
2|x|                        => 2*absolute(x)
|x-1||x+1|                  => absolute(x - 1)*absolute(x + 1)
|x| |y|                     => absolute(x)*absolute(y)
|x|-|y|                     => absolute(x) - absolute(y)
2|x|+3|y|-1                 => 2*absolute(x) + 3*absolute(y) - 1
||x|-1|                     => absolute(absolute(x) - 1)
|x-|y||                     => absolute(x - absolute(y))
2|-x|                       => 2*absolute(-x)
x/|x|                       => x/absolute(x)
|x|^2                       => absolute(x)**2
|maximum(x, |y|)|           => absolute(maximum(x, absolute(y)))
sin |x| y                   => sin(absolute(x))*y
x·y×a⋅b∙n∗x                 => x*y*a*b*n*x
x÷y                         => x/y
x − y – a — b               => x - y - a - b
2π x²                       => 2*pi*x**2
x⁻¹                         => x**-1
xⁿ                          => x**n
x¹⁰                         => x**10
eˣ                          => e**x
sin²x                       => sin(x)**2
sin⁻¹x                      => arcsin(x)
½x                          => 1/2*x
x^½                         => x**(1/2)
θ^2                         => theta**2
2θx                         => 2*theta*x
x₁                          => x_1
x₂                          => x2
σ(x)(1-σ(x))                => sigmoid(x)*(1 - sigmoid(x))
x ≤ y                       => x <= y
0.5x                        => 0.5*x
.5                          => 0.5
5.                          => 5.0
1e-3                        => 0.001
1.5E+6                      => 1500000.0
1.5e-300                    => 1.5e-300
2×10^3                      => 2*10**3
2e                          => 2*e
2e^x                        => 2*e**x
$x^2$                       => x**2
\(x^2\)                     => x**2
\[x^2\]                     => x**2
\frac{1}{2}x                => 1/2*x
\frac12 x                   => 1/2*x
\frac1x                     => 1/x
\frac ax                    => a/x
\dfrac{x+1}{x-1}            => (x + 1)/(x - 1)
\tfrac{1}{x\ln 2}           => 1/(x*log(2))
\frac{\frac{1}{x}}{2}       => 1/x/2
\frac{x}{\frac{1}{2}}       => x/(1/2)
\sqrt{x}                    => sqrt(x)
\sqrt x                     => sqrt(x)
\sqrt2x                     => sqrt(2)*x
\sqrt[2]{x}                 => sqrt(x)
\sqrt[3]{x}                 => cbrt(x)
\sqrt[5]{x+1}               => (x + 1)**(1/5)
\sqrt[n]{x}                 => x**(1/n)
\sin x\cos x                => sin(x)*cos(x)
\sin{x}                     => sin(x)
\sin^{2}\left(x\right)      => sin(x)**2
\sin^{-1}x                  => arcsin(x)
\left(\sin x\right)^{2}     => sin(x)**2
\left|x\right|\lvert y\rvert => absolute(x)*absolute(y)
\bigl(x+1\bigr)\,y          => (x + 1)*y
\mathrm{e}^{-x}\cdot 2\times x => e**-x*2*x
\operatorname{sech}^2 x     => sech(x)**2
\log_{2} x                  => log2(x)
2\pi\theta                  => 2*pi*theta
x_{1}+x_{2}                 => x_1 + x2
y_{true}                    => y_true
\max(0,x)                   => maximum(0, x)
\exp\left(-\frac{x^2}{2}\right) => exp(-(x**2/2))
X^\top                      => X.T
X^{T}                       => X.T
Xᵀ                          => X.T
X.T                         => X.T
2/10 * X.T @ (X @ W + b - y_true) => 2/10*X.T @ (X @ W + b - y_true)
sum(X, axis=0)              => sum(X, axis=0)
X.sum(dim=0, keepdim=True)  => sum(X, axis=0, keepdims=True)
X.max(0)                    => max(X, axis=0)
sum(X, axis=(0,1))          => sum(X, axis=(0, 1))
mean((X@W)**2)              => mean((X @ W)**2)
(X @ W).T                   => (X @ W).T
np.exp(X)/np.sum(np.exp(X)) => exp(X)/sum(exp(X))
transpose(X)                => transpose(X)
max(0, x)                   => maximum(0, x)
max(X)                      => max(X)
maximum(x, 0)               => maximum(x, 0)
where(x>0, 1, 0)            => where(x > 0, 1, 0)
where(x != y, x, -y)        => where(x != y, x, -y)
X[0]                        => X[0]
X[-1]                       => X[-1]
X[:,0]                      => X[:, 0]
X[0:2, 1]                   => X[0:2, 1]
X[::2]                      => X[::2]
X[:, None]                  => X[:, None]
[2x, 1]                     => [2*x, 1]
"""

TWO = {"atan2", "pow", "sub", "mul", "div", "mm", "mv"}
ROWS = [tuple(part.strip() for part in row.split(" => ")) for row in TABLE.strip().splitlines()]


@pytest.mark.parametrize(("typed", "understood"), ROWS, ids=[row[0] for row in ROWS])
def test_what_is_understood(typed, understood):
    """Every typed formula is echoed in NumPy's spelling as the table has it."""
    assert read(typed).understood == understood


@pytest.mark.parametrize("short", sorted(ALIASES))
def test_every_alias_is_the_function_it_stands_for(short):
    """An alias reads as the NumPy function in the table."""
    assert ALIASES[short] in FUNCTIONS
    typed = f"{short}({', '.join('xyz'[: 2 if short in TWO else 1])})"
    assert f"{ALIASES[short]}(" in read_formula(typed, names="xyz", functions=FUNCTIONS).understood


@pytest.mark.parametrize("name", ["e", "i", "C", "gamma", "pi", "sin"])
def test_a_declared_name_wins(name):
    """A declared name is never read as a constant or a function."""
    formula = read(f"{name} + 1", names=(name,))
    assert isinstance(formula.tree.body.left, ast.Name)
    assert formula.understood == f"{name} + 1"


def test_a_declared_function_name_before_a_bracket_is_a_factor():
    """With an input called gamma, gamma(x) is a product, and a note says so."""
    formula = read("gamma(x)", names=("gamma", "x"))
    assert formula.understood == "gamma*x"
    assert "gamma(...) is read as a product" in formula.notes[0]


def test_subscripts_find_the_declared_spelling():
    """x_1, x_{1} and x₁ are x_1 where that is declared, else x1."""
    for typed in ("x_1", "x_{1}", "x₁"):
        assert read(typed, names=("x1",)).understood == "x1"
        assert read(typed, names=("x_1",)).understood == "x_1"


def test_every_node_knows_its_place():
    """Lines are 1 and columns are characters of the typed text, LaTeX included."""
    text = r"2x + \frac{\sin 3y}{|a|}"
    tree = read(text).tree
    spans = {
        ast.unparse(node): text[node.col_offset : node.end_col_offset]
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
    }
    assert spans["2 * x"] == "2x"
    assert spans["sin(3 * y)"] == r"\sin 3y"
    assert spans["3 * y"] == "3y"
    assert spans["absolute(a)"] == "|a|"
    assert spans["sin(3 * y) / absolute(a)"] == r"\frac{\sin 3y}{|a|}"
    assert {node.lineno for node in ast.walk(tree) if isinstance(node, ast.expr)} == {1}
