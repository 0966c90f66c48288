r"""Typed mathematics: a student's formula as text becomes a tree that is safe to compile.

How a formula is read, where people differ:

- `^` and `**` are the same power, group to the right and bind more tightly than a sign.
- Factors side by side are a product of the rank of `*`: `1/2x` is (1/2)*x, `e^2x` is (e^2)*x, as
  calculators have it; a book that means 1/(2x) draws a fraction bar, and so can `\frac{1}{2x}`.
- A word that nobody declared is split where that goes in one way only, `xsin2x` is x*sin(2*x); else
  it is read in other letters (`Sin`, `X` for x).
- A function without brackets takes the factors that follow it, powers included, up to an operator,
  a bracket, the next function or e^; a root sign takes one. `sin^2 x` is (sin(x))^2, `sin^-1 x`
  is arcsin(x), `log` is natural.
- `X^T`, `X'`, `Xᵀ` transpose an array, `A^-1`, `A⁻¹` invert a square matrix, whatever an input is
  called. Arrays side by side are a matrix product where only that fits, and two square matrices in
  a text that has a transpose or an inverse; a dot between two vectors is their product.
- `x_1` is the first entry of a vector x, unless an input is called so; `1_{x > 0}` is one there. An
  index takes all its values, in a sum or as its left side says: `∂L/∂W_ij = ∑_n d_ni x_nj`.
- `2u where u = x^2` is 2*(x^2); what stands around a formula (`f'(x) =`, `$`, words) is left out.
- A comma between digits is a decimal comma, but in a list, in a call of several arguments and where
  it might part thousands. `2e3` is 2000; where an input is called e, it is refused.

What was decided or left out is noted, and what was understood is always echoed. What is in doubt
can be read again with the doubt turned (`list_other_readings`) or other brackets (`rebracket`).

A text goes through `tokens` (plain characters first, each with its place), `outline` and `prose`
(what stands around, definitions, steps, `cases`); one parser (`operands`, `calls`, `grammar`)
builds the tree. Text is never evaluated: the tree is built node by node from a closed vocabulary.
"""

from gradcheck.answers.answer import Entries, NumberList, Plain, read_answer
from gradcheck.answers.formula import Formula, list_other_readings, read_formula
from gradcheck.answers.outline import WorkingStep
from gradcheck.answers.tree import describe_misfit, echo
from gradcheck.answers.words import ALIASES, FUNCTIONS

__all__ = [
    "ALIASES",
    "FUNCTIONS",
    "Entries",
    "Formula",
    "NumberList",
    "Plain",
    "WorkingStep",
    "describe_misfit",
    "echo",
    "list_other_readings",
    "read_answer",
    "read_formula",
]
