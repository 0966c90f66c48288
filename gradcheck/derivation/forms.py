"""The closed form of every gradient of a problem, as text in the program's own names."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from gradcheck.answers import read_formula
from gradcheck.answers.shapes import rows_named
from gradcheck.closed_forms.derive import cotangents, inlined
from gradcheck.closed_forms.index import Named, Product, Sum
from gradcheck.closed_forms.indexed import Writer
from gradcheck.closed_forms.indexed import value as index_value
from gradcheck.closed_forms.latex import Latex
from gradcheck.closed_forms.notation import Notation, sizes_in
from gradcheck.closed_forms.repeated import with_letters
from gradcheck.closed_forms.shown import Shown
from gradcheck.closed_forms.slopes import NoText
from gradcheck.derivation.run import COTANGENT, Derivation, derivation, steps_of
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import FORMULAS, KINDS, VOCABULARY
from gradcheck.language.running.run import run
from gradcheck.opinions.opinion import Array, Estimate, estimate
from gradcheck.opinions.tape import Tape
from gradcheck.problem.record import Point, Problem

__all__ = ["derived", "matrix_forms", "rows_in", "shown"]

LONGEST = 400  # characters; a longer text is not read by anybody
LARGEST = 1_000  # the same before letters stand for its repeated parts
UNUSUAL = (LookupError, ValueError, TypeError, SyntaxError)
"""What a rule raises of parameters that it does not know: then nothing is shown."""
AGREES = 1e-9  # of the largest entry: text in float64 against a gradient in float64
MATRIX = 2  # axes


def matrix_forms(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The gradient by each input as NumPy text, where there is one that can be trusted.

    Every text is read again as a program over the inputs and the program's own values, and is
    kept only if it gives the gradient that was `judged` at the point. Where the value is no scalar
    there is none: an answer cannot name the cotangent.
    """
    found = _found(problem, point)
    return {} if found is None else _trusted(found, judged)


def _found(problem: Problem, point: Point) -> Derivation | None:
    """The run in index notation, where it can be said and asked."""
    if problem.cotangent is not None:
        return None
    try:
        found = derivation(problem.plain, problem.given(point))
        _ = found.gradients
    except (ArithmeticError, GradcheckError, *UNUSUAL):
        return None
    return found


def _trusted(found: Derivation, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The texts that give what was judged."""
    return {
        part: text
        for part, text in _texts(found).items()
        if part in judged and _is_short(text) and _gives(text, found.values, judged[part])
    }


def _is_short(text: str) -> bool:
    """Whether somebody reads it: with letters for what it says more than once, if need be."""
    if not LONGEST < len(text) <= LARGEST:
        return len(text) <= LONGEST
    whole, named = with_letters(text, ())
    return sum(map(len, (whole, *named.values()))) <= LONGEST


def shown(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> Shown:
    """The forms that can be trusted, in each notation in which they are read as what they say."""
    found = _found(problem, point)
    if found is None:
        return Shown()
    texts = _trusted(found, judged)
    arrays = {name: np.asarray(value) for name, value in found.values.items()}
    axes = {name: array.ndim for name, array in arrays.items()}
    rows = rows_in(texts.values(), {name: array.shape for name, array in arrays.items()})

    def kept(notation: Notation) -> dict[str, str]:
        written = {part: notation.written(text) for part, text in texts.items()}
        read = {part: _understood(text, arrays) for part, text in written.items()}
        same = {p for p, t in read.items() if t == texts[p]}
        given = {p for p in read.keys() - same if read[p] and _gives(read[p], arrays, judged[p])}
        return {part: text for part, text in written.items() if part in same | given}

    others = {name: g for name, g in judged.items() if not is_matrix_form(texts.get(name, ""), g)}
    indexed = _indexed(found, others) if others else {}
    rows = rows if texts.keys() - indexed.keys() else {}
    return Shown(texts, kept(Notation(axes, rows)), kept(Latex(axes)), indexed, axes, rows)


def is_matrix_form(text: str, judged: Estimate) -> bool:
    """Whether a text is one that people read: at most two axes, no `einsum`, no axes moved."""
    hard = "einsum" in text or "transpose(" in text
    return bool(text) and not hard and len(judged.shape) <= MATRIX


def _understood(text: str, names: Mapping[str, Array]) -> str:
    """What is read in an answer, as NumPy text; nothing where it is not read."""
    try:
        return read_formula(text, names=names, functions=FORMULAS.functions).understood
    except TextError:
        return ""


def rows_in(texts: Iterable[str], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The sizes in texts that an `n` in an answer is read as, with that letter."""
    usual = rows_named(shapes)
    if usual is None or "n" in shapes:
        return {}
    found = [size for size in sizes_in(texts) if size.endswith(".shape[0]")]
    names = [(size, size.removesuffix(".shape[0]")) for size in found]
    return {s: "n" for s, name in names if shapes[name][0] == shapes[usual][0]}


def derived(problem: Problem, point: Point) -> dict[str, str]:
    """The texts as they are derived; NoText where an op of the program has no index form."""
    return _texts(derivation(problem, point))


def _texts(found: Derivation) -> dict[str, str]:
    texts = {}
    for part, whole in found.gradients.items():
        with suppress(NoText, LookupError, ValueError):  # what cannot be printed is left out
            texts[part] = found.printer.text(whole, "" if found.problem.has_rows else part)
    return texts


def _indexed(of: Derivation, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The gradients in index notation, `[i,j] = Σ_{k} A[i,k]·B[k,j]`, each read again."""
    names, found = of.values, {}
    taken = frozenset({*names, *(step.name for step in of.steps)})
    for part, whole in of.gradients.items():
        if part not in judged:
            continue
        with suppress(GradcheckError, NoText, LookupError, ValueError, TypeError, SyntaxError):
            places, text = Writer(of.printer, taken).text(whole)
            if len(text) <= LONGEST and _is(index_value(text, places, names), judged[part]):
                found[part] = f"[{places}] = {text}" if places else f"= {text}"
    return found


def chained(
    problem: Problem, tape: Tape, variables: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, str]:
    """How the gradient by each named value is made of those nearer to the end, as NumPy text.

    A gradient is called `cotangent_of_H`; `values` are the arrays of all names in the texts. What
    has no text, or one that does not give its array when read again, is left out.
    """
    steps = steps_of(problem, tape, dict(values) | dict(variables))
    end = steps[-1]
    seed = Product(factors=(Named(COTANGENT, end.axes),)) if end.shape else Product()
    hidden = {step.name: step for step in steps if step.hidden}
    whole = Derivation(problem, steps, values)
    found = {}
    for step, name, g in cotangents(steps, Sum((seed,), end.axes), hidden=False):
        if step is end or step.hidden or name not in values:
            continue
        with suppress(NoText, LookupError, ValueError):  # what cannot be printed is left out
            text = whole.printer.text(whole.known.said(inlined(g, hidden)), step.name)
            if len(text) <= LONGEST and _gives(text, values, estimate(values[name], 0.0)):
                found[step.name] = text
    return found


def value_of(text: str, names: Mapping[str, Any]) -> Array | None:
    """What a text comes to, read as a program; None where it is none."""
    try:
        program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
        return np.asarray(run(program, names, KINDS["float"], Budget()).value, dtype=np.float64)
    except (GradcheckError, TypeError, ValueError):
        return None


def _gives(text: str, names: Mapping[str, Any], judged: Estimate) -> bool:
    """Whether a text, read again, is the gradient."""
    found = value_of(text, names)
    return found is not None and _is(found, judged)


def _is(found: Array, judged: Estimate) -> bool:
    """Whether numbers are the gradient, up to what float64 loses."""
    due = np.asarray(judged.value)
    room = AGREES * np.max(np.abs(due), initial=1e-300) + np.asarray(judged.error)
    return found.shape == due.shape and bool(np.all(np.abs(found - due) <= room))
