"""Typed texts that are refused: the column, and a phrase of the complaint or its cure."""

import pytest

from tests.support.typed import complaint

TABLE = r"""
4  | 2x I           | the names of this problem are
1  | q              | the names of this problem are
1  | thetta         | did you mean theta
1  | y_1            | write y[0] for the first entry
5  | x + C          | no constant of integration
2  | f'(x)          | primes are not read
2  | x′             | primes are not read
1  | d/dx x^2       | without derivative signs
1  | \frac{d}{dx} x | without derivative signs
2  | 0,5            | written with a point: 0.5
2  | 1,234          | thousands as 1234
1  | 1.234,5        | write 1234.5
1  | log2x          | write log 2x, or log2 x
3  | 2x, 3y         | lists in square brackets
2  | x!             | factorials
3  | 50% x          | percent
3  | 90°            | radians
1  | ||x||          | norm(x)
2  | x|             | do not pair
1  | |              | do not pair
7  | sin x 2        | a number right after a factor
1  | sin            | without its argument
1  | sin^2          | without its argument
1  | exp^-1(x)      | 1/exp(x)
1  | where(x)       | takes three arguments
1  | sin(x, axis=0) | no keywords
4  | np.foo(x)      | unknown function foo
2  | √              | root sign
8  | sum(X, foo=1)  | axis= and keepdims=
1  | sum X          | needs brackets
3  | x 3            | write * between them
2  | 1½             | mixed number
3  | x+             | write what should stand here
1  | *x             | missing factor
1  | (x             | never closed
2  | x)             | open a bracket before it
3  | (x]            | ) to close (
1  | ()             | empty brackets
3  | X[]            | an index
7  | a < x < y      | chain of comparisons
3  | x.grad         | .grad is not read
1  | \text{hi}      | unknown name hi
1  | \int x         | integral signs
1  | \begin{x}      | [[a, b], [c, d]]
9  | \frac{1}       | write what should stand here
1  | $x             | dollar sign
1  | é              | unknown name é
3  | (x;61)x        | lists in square brackets
2  | x∞             | infinity
3  | x^1001         | exponent beyond 1,000
3  | 9^9^9          | exponent beyond 1,000
10 | (10^999)^999   | too long to be an answer
1  | 1e999          | beyond 400
7  | x := 1; y      | give one formula
1  | None           | only in an index
1  | __import__('os').system('id') | unknown function
1  | ().__class__.__base__ | empty brackets
"""

ROWS = [tuple(part.strip() for part in row.split(" | ")) for row in TABLE.strip().splitlines()]
ROWS = [(int(row[0]), " | ".join(row[1:-1]), row[-1]) for row in ROWS]


@pytest.mark.parametrize(("column", "typed", "phrase"), ROWS, ids=[row[1] for row in ROWS])
def test_a_refusal_is_precise(column, typed, phrase):
    """A refused text has one complaint: line 1, the column of the fault, the reason and a cure."""
    fault = complaint(typed)
    assert phrase in f"{fault.message} - {fault.cure}"
    assert (fault.line, fault.column) == (1, column)
    assert fault.cure
    assert fault.source == typed
