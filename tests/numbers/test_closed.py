"""What is asked of SymPy while forms are written, and by everybody else."""

import sympy

from gradcheck.numbers.closed import leave_hard_open


def test_hard_questions_are_open_in_our_own_forms_alone():
    """A sinh with any multiple of i*pi added is real: SymPy says so, but where we write forms."""

    def ask(name):
        r, k = sympy.Symbol(name, real=True), sympy.Symbol("k", integer=True)
        return sympy.sinh(r + sympy.I * sympy.pi * k, evaluate=False).is_real

    with leave_hard_open():
        assert ask("inside") is None
    assert ask("outside") is True
