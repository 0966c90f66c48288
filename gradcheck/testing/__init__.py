"""Assertions for test suites: gradients, backward passes, Jacobian-vector products, Hessians."""

from gradcheck.testing.assertions import (
    GradientError,
    Result,
    assert_gradient,
    assert_vjp,
    check,
)
from gradcheck.testing.derivatives import assert_hessian, assert_jvp, check_table

__all__ = [
    "GradientError",
    "Result",
    "assert_gradient",
    "assert_hessian",
    "assert_jvp",
    "assert_vjp",
    "check",
    "check_table",
]
