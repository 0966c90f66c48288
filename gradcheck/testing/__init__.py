"""Assertions for test suites: `assert_gradient` and `assert_vjp` on unmodified NumPy functions."""

from gradcheck.testing.assertions import (
    GradientError,
    Result,
    assert_gradient,
    assert_vjp,
    check,
)

__all__ = ["GradientError", "Result", "assert_gradient", "assert_vjp", "check"]
