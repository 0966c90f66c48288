"""A wrong formula that another reader, or another pair of brackets, would have made right."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from gradcheck.answers import Formula
from gradcheck.answers.brackets import Other, bracketed_otherwise
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.grading.key import Key
from gradcheck.mistakes import typing
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.problem.record import Part

BITS = 64
CLOSE = 1e-6  # relative: floats that differ by more cannot be the same formula
FLOATS: Mapping[str, Callable[[float], float]] = {
    **{
        name: getattr(math, name)
        for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "sqrt", "log"]
    },
    **{
        f"arc{name}": getattr(math, f"a{name}")
        for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]
    },
    "absolute": abs,
    "sec": lambda x: 1 / math.cos(x),
    "csc": lambda x: 1 / math.sin(x),
    "cot": lambda x: 1 / math.tan(x),
}


def with_other_brackets(key: Key, part: Part, formula: Formula) -> Iterator[Other]:
    """The formula with other brackets, where a look at floats does not rule it out."""
    point = _floats(key)
    due = _due(key, part.name)
    for other in bracketed_otherwise(formula, key.words):
        if due is None or _is_near(other.tree.body, point, due):
            yield other


def brackets_missing(formula: Formula, right: Other) -> Diagnosis:
    """A bracket is missing, or a sign between two names."""
    typed = formula.text[formula.tokens[0].start : formula.tokens[-1].end]
    more = right.typed.count("*") - typed.count("*")
    sign = "multiplication sign" if more > 0 else "bracket"
    texts = {"typed": right.typed, "u": formula.understood, "sign": sign}
    return Diagnosis("unique", (Hypothesis(typing.brackets_missing, None, texts=texts),))


def _floats(key: Key) -> dict[str, float]:
    """The single numbers of the given point."""
    given = key.spots[0].given.items()
    return {name: float(value.item()) for name, value in given if not value.shape}


def _due(key: Key, part: str) -> float | None:
    """The gradient at the given point, where it is one number."""
    inputs = key.problem.inputs
    if key.run is not None or part not in inputs or inputs[part].shape:
        return None
    with precision(BITS):
        found = key.reference(0, part)(BITS)
    due = middle(found)  # type: ignore[arg-type]
    return due if math.isfinite(due) else None


def _is_near(body: ast.expr, point: Mapping[str, float], due: float) -> bool:
    """Whether a formula may be right, as far as floats say; where they say nothing, it may."""
    try:
        value = _value(body, point)
    except LookupError:
        return True
    except (ArithmeticError, ValueError, TypeError):  # a root of a negative number is complex
        return False
    if isinstance(value, complex):
        return False
    return abs(value - due) <= CLOSE * max(abs(value), abs(due))


def _value(node: ast.expr, point: Mapping[str, float]) -> float:
    """The value of a formula in floats; LookupError for what has none here."""
    match node:
        case ast.Constant(int() | Fraction() as number):
            return float(number)
        case ast.Name(name):
            return point[name] if name in point else {"pi": math.pi, "e": math.e}[name]
        case ast.BinOp(left, op, right):
            a, b = _value(left, point), _value(right, point)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
                case ast.Pow():
                    return a**b  # type: ignore[no-any-return]
        case ast.UnaryOp(op, inner):
            return -_value(inner, point) if isinstance(op, ast.USub) else _value(inner, point)
        case ast.Call(ast.Name(name), [inner]):
            return FLOATS[name](_value(inner, point))
    raise LookupError
