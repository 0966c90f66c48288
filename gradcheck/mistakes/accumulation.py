"""The backprop family where paths meet: a contribution lost, doubled or put in the place of all."""

from gradcheck.mistakes.row import mistake, pull

overwritten_not_accumulated = mistake(
    "overwritten-not-accumulated",
    verb="accumulate",
    wrong=lambda m: m.g,
    says="`{text}` is used more than once: the gradients of all its uses add up, here only one of "
    "them is left.",
    example=("sum(x**3 + sin(x))", {"x": "3*x**2"}, {"x": (3,)}),
    common=0.8,
)

for _side, _answer in (("held", "2*A @ x"), ("g", "2*A.T @ x")):
    mistake(
        "matrix-taken-as-symmetric",
        verb="accumulate",
        where=lambda m: m.matrix,
        wrong=lambda m, side=_side: 2 * getattr(m, side),
        says="`{text}` meets the matrix from both sides, once transposed: taking twice one of them "
        "needs a symmetric matrix.",
        example=("x @ A @ x", {"x": _answer}, {"x": (3,), "A": (3, 3)}),
        common=0.7,
        habit=False,
    )

one_path_left = mistake(
    "overwritten-not-accumulated",
    verb="keep",
    wrong=lambda e, _: 0 * e.right,
    says="`{text}` is used more than twice: the gradients of all its uses add up, here only one of "
    "them is left.",
    example=("sum(x**3 + sin(x) + exp(x))", {"x": "cos(x)"}, {"x": (3,)}),
    common=0.7,
    habit=False,
)

counted_twice = pull(
    "counted-twice",
    where=lambda e: e.shared,
    wrong=lambda e: 2 * e.right,
    says="What comes back from `{text}` was added twice.",
    example=("sum(x**3 + sin(x))", {"x": "6*x**2 + cos(x)"}, {"x": (3,)}),
    common=0.4,
    habit=False,
)

path_dropped = pull(
    "path-dropped",
    wrong=lambda e: 0 * e.right,
    says="The path back through `{text}` to `{u}` is missing from the gradient.",
    example=("sum((x - mean(x))**3)", {"x": "3*(x - mean(x))**2"}, {"x": (5,)}),
    common=0.65,
    habit=False,
)
