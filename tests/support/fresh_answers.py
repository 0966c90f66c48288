r"""Answers as a class types them, with the verdict that a teacher gives, written before any reader.

A line without indentation is a question: the expression, its inputs, and by which of them, parted
by ¦. Below it stand right answers after `+`, wrong ones after `-`, each on a line of its own.
"""

import shlex
from typing import NamedTuple

CALCULUS = r"""
x**3 + 2*sin(x) ¦
    + 3x^2+2cosx
    + 3x²+2cos(x)
    + f'(x)=3x^2+2cos x
    + \frac{dy}{dx}=3x^2+2\cos x
    + y' = 3·x² + 2·cos x.
    - 3x^2-2cosx
    - 3x+2cosx
    - x^2+2cosx
exp(-x**2) ¦
    + -2xe^(-x^2)
    + -2x e^{-x^2}
    + −2x·exp(−x²)
    + e^(-x^2)*(-2x)
    + e^(-x²)·(−2x)
    + -2x/e^(x^2)
    - e^(-x^2)
    - -2xe^(x^2)
    - -2e^(-x^2)
log(x)/x ¦ x=2
    + (1-ln x)/x^2
    + \frac{1-\ln x}{x^2}
    + (1/x·x − ln x)/x²
    + 1/x^2 - ln(x)/x^2
    + x^-2 (1 - lnx)
    - 1-lnx/x^2
    - (ln x - 1)/x^2
    - 1/x^2
sqrt(1 + x**2) ¦
    + x/√(1+x²)
    + x/sqrt(1+x^2)
    + \frac{x}{\sqrt{1+x^2}}
    + 1/2 (1+x^2)^(-1/2) * 2x
    + ½(1+x²)^(-½)·2x
    + x(1+x^2)^{-1/2}
    - 1/(2√(1+x²))
    - 1/2(1+x^2)^(1/2)*2x
tan(x) ¦
    + sec^2 x
    + 1/cos²x
    + 1+tan²(x)
    + sec x · sec x
    + (cos x)^-2
    - sec x tan x
    - cot x
sin(x)*cos(x) ¦
    + cos²x − sin²x
    + cos 2x
    + cosx·cosx-sinx·sinx
    + cos(2x)
    - -sinx cosx
    - cos x^2 - sin x^2
x**x ¦ x=1.5
    + x^x (ln x + 1)
    + x^x(1+lnx)
    + e^(x ln x)(ln x+1)
    - x·x^(x-1)
    - x^x ln x
arctan(2*x) ¦
    + 2/(1+4x^2)
    + 2/(1+(2x)²)
    + \frac{2}{1+4x^{2}}
    - 1/(1+4x^2)
    - 2sec^2(2x)
abs(x) ¦ x=-1.5
    + x/|x|
    + sgn(x)
    + 1 if x > 0 else -1
    - 1
    - |x|/x^2
"""

MATRICES = r"""
((X @ w - y)**2).sum() ¦ X=5x3 y='[1, 2, 0.5, -1, 3]' w='[0.3, -1, 2]' ¦ w
    + 2X^T(Xw-y)
    + 2 Xᵀ(Xw − y)
    + 2X'(X w - y)
    + 2*X.T@(X@w-y)
    + 2X^\top (Xw - y)
    + 2 \mathbf{X}^T(\mathbf{X}w - y)
    + 2X^TXw - 2X^Ty
    + -2X^T(y - Xw)
    + 2(Xw-y)^T X
    - X^T(Xw-y)
    - 2X(Xw-y)
    - 2(Xw-y)
    - 2X^T(Xw+y)
    - 2X.T*(X@w-y)
x @ A @ x ¦ A=3x3 x='[1, -0.5, 2]' ¦ x
    + (A+A^T)x
    + (A + Aᵀ)x
    + A x + A^T x
    + Ax + A'x
    + (A+A.T)@x
    + x^T(A + A^T)
    - 2Ax
    - A^T x
    - (A + A^T)*x
logsumexp(z) ¦ z='[0.3, -0.5, 0.8, 1]' ¦ z
    + softmax(z)
    + exp(z)/sum(exp(z))
    + e^z/sum(e^z)
    + \frac{e^z}{\sum e^{z}}
    + s where s = softmax(z)
    - e^z
    - log(softmax(z))
    - 1/sum(exp(z))
trace(A @ X) ¦ A=3x3 X=3x3 ¦ X
    + A^T
    + A'
    + Aᵀ
    + A^\top
    + A.T
    - A
    - tr(A)
logdet(S) ¦ S='[[3, 1], [0.5, 2]]' ¦ S
    + S^{-T}
    + (S^{-1})^T
    + inv(S).T
    + inv(S)'
    + (S⁻¹)ᵀ
    + (S^T)^{-1}
    - S^{-1}
    - 1/S
    - inv(S)
norm(x) ¦ x='[1, -0.5, 2]' ¦ x
    + x/‖x‖
    + x/||x||
    + x/norm(x)
    + x/sqrt(x·x)
    + x/√(xᵀx)
    + \frac{x}{\|x\|_2}
    - 2x
    - x
    - 1/‖x‖
trace(M @ inv(S)) ¦ S='[[3, 1], [0.5, 2]]' M='[[1, 2], [3, 5]]' ¦ S
    + -(S^{-1} M S^{-1})^T
    + -S^{-T} M^T S^{-T}
    - S^{-1} M S^{-1}
    - -M S^{-2}
(a @ x)**2 ¦ a='[0.5, 2, -1]' x='[1, -0.5, 2]' ¦ x
    + 2(a·x)a
    + 2 a (a^T x)
    + 2⟨a, x⟩a
    + 2(a @ x)*a
    - 2a
    - 2(a·x)x
x[0]*x[1]**2 ¦ x='[0.7, -1.5]' ¦ x
    + [x_2^2, 2x_1x_2]
    + [x₂², 2x₁x₂]
    + (x_2^2, 2 x_1 x_2)
    - [2x_1x_2, x_2^2]
    - [x_1^2, 2x_1x_2]
"""

WORDS = r"""
x**3 ¦
    + so 3x^2
    + So, 3x².
    + 3x² using the chain rule
    + 3x^2 (by the power rule)
    + 3x^2 (power rule)
    + by the power rule: 3x^2
    + by the power rule 3x^2
    + the derivative is 3x^2
    + The answer is 3x^2.
    + 3x^2 is the answer
    + I got 3x^2
    + I think it's 3x^2
    + it is 3x^2
    + my answer: 3x^2
    + Answer = 3x^2
    + Therefore f'(x) = 3x^2
    + hence, the derivative is 3x²
    + f'(x) is 3x^2
    + we get 3x^2
    + Die Ableitung ist 3x^2
    + La dérivée est 3x^2
    + a) 3x^2
    + 1. 3x^2
    + (a) 3x^2
    + 3x^2 because of the power rule
    + 3x^2, by the power rule
    + 3x^2  # power rule
    + 3x^2 // using the power rule
    + = 3x^2 ✓
    + using the power rule we get 3x^2
    + 3 x^2 for all x
    + bring the exponent down, so 3x^2
    - so 2x^2
    - I think it's x^2
    - 3x by the power rule
    - the derivative is 3x^3 (power rule)
    - so x^2/3
    - 3x^2 or 2x^3
    - it is not 3x^2
    - 3x^2 plus 5
    - 3x^2 + C + 1
"""


class Fresh(NamedTuple):
    """A question as `check` takes it, an answer, and whether a teacher calls it right."""

    expression: str
    given: tuple[str, ...]
    wrt: str
    typed: str
    right: bool


def rows(table: str) -> list[Fresh]:
    """The answers of a table."""
    found: list[Fresh] = []
    expression, given, wrt = "", (), ""
    for line in table.strip("\n").splitlines():
        if line.startswith(" "):
            sign, _, typed = line.strip().partition(" ")
            found.append(Fresh(expression, given, wrt, typed, sign == "+"))
            continue
        expression, inputs, wrt = (*[part.strip() for part in line.split("¦")], "")[:3]
        given = tuple(_parts(inputs))
    return found


def _parts(inputs: str) -> list[str]:
    """`x=2 S='[[1, 2], [3, 4]]'` in its parts."""
    return shlex.split(inputs)
