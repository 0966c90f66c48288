"""Index notation: what is no product of matrices, written with sums, and read again."""

from typing import Any

import numpy as np
import pytest

from gradcheck.closed_forms.indexed import value
from gradcheck.derivation.forms import shown
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point

BY_HAND = {
    "a stack and a matrix": (
        "sum((A @ B)*C)",
        "inputs: {A: {shape: [2, 3, 4]}, B: {shape: [4, 3]}, C: {shape: [2, 3, 3]}}",
        {"A": "[i,j,k] = Σ_{l} C[i,j,l]·B[k,l]", "B": "[i,j] = Σ_{k,l} C[k,l,j]·A[k,l,i]"},
    ),
    "a form of four tensors": (
        "einsum('i,j,ijk,k->', a, b, T, c)",
        "inputs: {a: {shape: [2]}, b: {shape: [3]}, c: {shape: [4]}, T: {shape: [2, 3, 4]}}",
        {"a": "[i] = Σ_{j,k} b[j]·T[i,j,k]·c[k]", "T": "[i,j,k] = a[i]·b[j]·c[k]"},
    ),
    "the square of a matrix": (
        "A @ A",
        "inputs: {A: {shape: [2, 2]}}\njacobian: true",
        {"A": "[i,j,k,l] = δ[k,i]·A[l,j] + δ[l,j]·A[i,k]"},
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_it_is_written_as_by_hand(name: str) -> None:
    """Indices in the order of the axes, sums before what they sum."""
    program, inputs, due = BY_HAND[name]
    given = load_text(f'id: t\nprogram: "{program}"\n{inputs}').problems[0]
    point = given_point(given)
    found = shown(given, point, reverse(given.case(point)).gradients).indexed
    assert {part: found.get(part) for part in due} == due


A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4) - 5
x = np.array([0.5, -1.0, 2.0])
READ: dict[str, tuple[str, Any]] = {
    "Σ_{k} A[i,k]·B[k,j]": ("i,j", A @ B),
    "2·Σ_{k} A[i,k]²/3": ("i", 2 * np.sum(A**2, axis=1) / 3),
    "1 − Σ_{k} A[i,k]·x[k]": ("i", 1 - A @ x),
    "δ[i,j]·x[i] − x[i]·x[j]": ("i,j", np.diag(x) - np.outer(x, x)),
    "tanh(x[i])·A[j,i]": ("j,i", np.tanh(x) * A),
    "(x[i] > 0)·x[i]": ("i", (x > 0) * x),
    "A.T[i,j]/A.shape[1]": ("i,j", A.T / 3),
}


@pytest.mark.parametrize("text", READ)
def test_it_is_read_as_it_says(text: str) -> None:
    """A sum reaches to the end of its product."""
    places, due = READ[text]
    np.testing.assert_allclose(value(text, places, {"A": A, "B": B, "x": x}), due)
