"""Assertions for test suites: gradients, backward passes, Jacobian-vector products, Hessians."""

from gradcheck.testing.assertions import (
    GradientError,
    assert_gradient,
    assert_hessian,
    assert_jvp,
    assert_vjp,
    check,
    check_table,
)
from gradcheck.testing.result import Result

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
