r"""Typed mathematics: a student's formula as text becomes a tree that is safe to compile.

How a formula is read, where people differ:

- `^` and `**` are the same power and group to the right: `2^3^2` is 2^(3^2).
- A sign binds more loosely than a power: `-x^2` is -(x^2).
- Factors side by side are a product of the same rank as `*`: `1/2x` is (1/2)*x, `a/b c` is (a/b)*c,
  and `e^2x` is (e^2)*x. A calculator, Python and most graders read it so; a book that means 1/(2x)
  draws a fraction bar, and so can a student: `\frac{1}{2x}` or `1/(2x)`.
- A word that nobody declared is split where that goes in one way only: `xsin2x` is x*sin(2*x),
  `2xy` is 2*x*y where x and y are declared; else it is read in other letters (`Sin`, `X` for x).
- A function without brackets takes the factors that follow it, powers included, up to an operator,
  a bracket, the next function or e^: `sin 2x` is sin(2*x), `sin x^2` is sin(x^2), `cos 2x/3` is
  cos(2*x)/3, `sin x cos x` is sin(x)*cos(x).
- `sin^2 x` is (sin(x))^2; `sin^-1 x` is arcsin(x); `log` is the natural logarithm.
- A root sign covers one factor with its power: `√2x` is sqrt(2)*x, `√x^2` is sqrt(x^2).
- `X^T` is the transpose unless T is declared; `max(a, b)` is maximum(a, b).
- Arrays side by side are a matrix product where only that fits, a matrix beside a vector, and in a
  text that has a transpose; there `·` is one too, `A^-1` is inv(A), `u v^T` is outer(u, v). `*` and
  ⊙ go entry by entry, as in NumPy; in a text with `X'` or `X^T`, without `@` and with a sign for
  every product, `*` between arrays of unlike shapes, or of a turned vector and another one, is a
  matrix product as in MATLAB. `A.x` is Mathematica's, `A %*% B` R's.
- In a list a blank parts two numbers where none follows the sign of the second: `[3 -1]`.
- `2u where u = x^2` is 2*(x^2); `at x = 2` is left out.
- `2e3` is 2000; where an input is called e, it is refused.
- Bars that can be paired in more than one way are refused.
- A comma between digits is a decimal comma, but in a list, in a call of several arguments and where
  it might part thousands (`1,234`). Square brackets that are no list and no index group.
- What stands around a formula (`f'(x) =`, `\boxed{}`, `$`, a full stop) is left out.

Each such rule leaves a note where it was applied, and what was understood is always echoed. Where
brackets may be missing, `bracketing` gives the other readings.

A text goes through `draft` (where each character was typed): `characters`, `listing`,
`definitions`, `piecewise`, `indices`, `wrapping`, `commas`;
then `tokens` (with `latex` and `signs`), `respelling`, `bars`; then `grammar` (with `values` and
`calls`) builds the tree.
Text is never evaluated: the parser builds the tree node by node from a closed vocabulary.
"""

from gradcheck.answers.answer import Entries, Numbers, Plain, read_answer
from gradcheck.answers.echo import echo
from gradcheck.answers.formula import Formula, read_formula
from gradcheck.answers.shapes import misfit
from gradcheck.answers.words import ALIASES, FUNCTIONS

__all__ = [
    "ALIASES",
    "FUNCTIONS",
    "Entries",
    "Formula",
    "Numbers",
    "Plain",
    "echo",
    "misfit",
    "read_answer",
    "read_formula",
]
