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
- `X^T`, `X'`, `Xᵀ` is the transpose of an array, `A^-1`, `A⁻¹` the inverse of a square matrix,
  whatever an input is called; `max(a, b)` is maximum(a, b).
- Arrays side by side are a matrix product where only that fits, a matrix beside a vector, and two
  square matrices in a text that has a transpose or an inverse; a dot between two vectors is their
  product, `u v^T` is outer(u, v). `*` goes entry by entry, as in NumPy.
- `x_1` is the first entry of a vector x, unless an input is called so.
- In a list a blank parts two numbers where none follows the sign of the second: `[3 -1]`.
- `2u where u = x^2` is 2*(x^2), `let u = x^2: 2u` too; `at x = 2` is left out.
- `1[x = max(x)]`, `1_{x > 0}` is one where that holds; `⟨a, x⟩`, `<a, x>` a product of vectors.
- `2e3` is 2000; where an input is called e, it is refused.
- Bars that can be paired in more than one way are refused.
- A comma between digits is a decimal comma, but in a list, in a call of several arguments and where
  it might part thousands (`1,234`). Square brackets that are no list and no index group.
- What stands around a formula (`f'(x) =`, `\boxed{}`, `$`, a full stop, words) is left out.

Each such rule leaves a note where it was applied, and what was understood is always echoed. What is
in doubt can be read again with the doubt turned (`other_readings`); where brackets may be missing,
`brackets` gives the other readings.

A text goes through `characters` (in plain ones, each with its place), `tokens` and `outline` (what
stands around, definitions, steps, `cases`); one parser (`operands`, `calls`, `grammar`) builds the
tree. Text is never evaluated: the tree is built node by node from a closed vocabulary.
"""

from gradcheck.answers.answer import Entries, NumberList, Plain, read_answer
from gradcheck.answers.echo import echo
from gradcheck.answers.formula import Formula, other_readings, read_formula
from gradcheck.answers.outline import WorkingStep
from gradcheck.answers.shapes import misfit
from gradcheck.answers.words import ALIASES, FUNCTIONS

__all__ = [
    "ALIASES",
    "FUNCTIONS",
    "Entries",
    "Formula",
    "NumberList",
    "Plain",
    "WorkingStep",
    "echo",
    "misfit",
    "other_readings",
    "read_answer",
    "read_formula",
]
