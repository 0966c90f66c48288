"""Budgets: what is too much is refused before it is made, and what is not is not."""

import resource
from collections.abc import Iterator

import numpy as np
import pytest

from gradcheck.engine.autograd import tensor
from gradcheck.errors import OutOfBudget
from gradcheck.language import Budget, check_program, run
from gradcheck.language.budget import multiplications
from gradcheck.language.kinds import KINDS, VOCABULARY
from tests.support.checked import value

LONG = np.ones(100_000)
DOUBLING = "l = [0]\nfor i in range(99):\n    l = "

# A program in `n` = 2 and `y` of 100 000 ones; the line of the fault; what there is too much of.
BOMBS = [
    ("n**10**10", 1, "exponent"),
    ("10**10**10", 1, "exponent"),
    ("9**9999", 1, "bits"),
    ("np.power(10, 10**10)", 1, "exponent"),
    ("power(y, 10**10)", 1, "exponent"),
    ("2**-10**9", 1, "exponent"),
    ("y**10**9", 1, "exponent"),
    ("for i in range(99):\n    n = n * n", 2, "bits"),
    ("for i in range(99):\n    n *= n", 2, "bits"),
    ("for i in range(99):\n    n = np.multiply(n, n)", 2, "bits"),
    ("[0] * 10**9", 1, "entries"),
    ("10**9 * [0]", 1, "entries"),
    ("(0,) * 10**9", 1, "entries"),
    ("l = [0]\nl *= 10**9", 2, "entries"),
    ("range(10**12)", 1, "elements"),
    ("range(10**30)", 1, "elements"),
    ("range(0, -10**12, -1)", 1, "elements"),
    ("list(range(10**7))", 1, "entries"),
    ("sorted(zip(range(10**7), range(10**7)))", 1, "entries"),
    ("tuple(y) + tuple(y) * 10", 1, "entries"),
    ("while True:\n    pass", 1, "steps"),
    ("while n:\n    n = 1", 1, "steps"),
    ("for i in range(10**6):\n    pass", 1, "steps"),
    ("for i in range(1000):\n    for j in range(1000):\n        pass", 2, "steps"),
    ("l = [0]\nfor v in l:\n    l.append(v)", 2, "steps"),
    ("[i for i in range(10**6)]", 1, "steps"),
    ("sum(i * j for i in range(10**4) for j in range(10**4))", 1, "steps"),
    ("def f(a):\n    return f(a + 1)\nf(0)", 2, "calls inside calls"),
    ("def f(a):\n    return g(a)\ndef g(a):\n    return f(a)\nf(0)", 4, "calls inside calls"),
    ("def f(a):\n    return f(a - 1) + f(a - 1) if a else 0\nf(40)", 2, "steps"),
    (DOUBLING + "l + l", 3, "entries"),
    (DOUBLING + "l * 2", 3, "entries"),
    (DOUBLING + "[l, l]\narray(l)", 4, "entries"),
    (DOUBLING + "[l, l]\nl == [l]", 4, "entries"),
    (DOUBLING + "[l, l]\nl", 4, "entries"),
    (DOUBLING + "[l, l]\ny[l]", 4, "entries"),
    ("l = [0]\nfor i in range(99):\n    l.extend(l)", 3, "entries"),
    ("l = [0]\nl.append(l)\nstack(l)", 3, "entries"),
    ("l = [0]\nl.append(l)\nsum(l == l for i in l)", 3, "entries"),
    ("stack([y] * 10**5)", 1, "elements"),
    ("y[:, None] * y", 1, "elements"),
    ("y[:, None] - y", 1, "elements"),
    (
        DOUBLING + "[l, l]\nm = [0]\nfor i in range(99):\n    m = [m, m]\nsorted([l, m])",
        7,
        "entries",
    ),
    (DOUBLING + "[l, l]\nl + array([1.0, 2.0])", 4, "entries"),
    (DOUBLING + "[l, l]\nz = array([1.0, 2.0])\nz[0] = l", 5, "entries"),
    (DOUBLING + "[l, l]\nz = array([1.0, 2.0])\nz[0] += l", 5, "elements"),
    ("y[:, None] < y", 1, "elements"),
    ("y[:, None] + [1] * 10**5", 1, "elements"),
    ("y[:, None] @ y[None]", 1, "elements"),
    ("(y[:, None] == y).sum()", 1, "elements"),
    ("z = y[:, None]\nz += y", 2, "elements"),
    ("np.maximum(y, y[:, None])", 1, "elements"),
    ("where(y > 0, y, y[:, None])", 1, "elements"),
    ("zeros((10**5, 10**5))", 1, "elements"),
    ("zeros(array([10**5, 10**5]))", 1, "memory"),
    ("ones(10**9)", 1, "elements"),
    ("full(shape=10**9, fill_value=1)", 1, "elements"),
    ("eye(10**6)", 1, "elements"),
    ("arange(10**12)", 1, "elements"),
    ("arange(0, 1, 1e-12)", 1, "memory"),
    ("linspace(0, 1, 10**12)", 1, "elements"),
    ("linspace(0, y, 10**5)", 1, "memory"),
    ("outer(y, y)", 1, "elements"),
    ("kron(y, y)", 1, "elements"),
    ("tensordot(y, y, 0)", 1, "memory"),
    ("einsum('i,j->ij', y, y)", 1, "elements"),
    ("einsum('i,j', y, y)", 1, "elements"),
    ("tile(y, 10**6)", 1, "elements"),
    ("repeat(y, 10**6)", 1, "elements"),
    ("repeat(y[:2], [10**9, 10**9])", 1, "elements"),
    ("pad(y, 10**8)", 1, "elements"),
    ("diag(y)", 1, "elements"),
    ("broadcast_to(y, (10**6, 10**5)) + 1", 1, "elements"),
    ("y[arange(10**5)[:, None] + zeros((1, 200), dtype=int)]", 1, "elements"),
    ("z = zeros((1000, 1000))\nz[[0] * 20_000]", 2, "elements"),
    ("z = zeros((1000, 1000))\nz[[0] * 20_000] += 1", 2, "elements"),
    ("round(y[0], 10**9)", 1, "elements"),
    ("z = ones((1200, 1200))\nz @ z", 2, "multiplications"),
    ("inv(eye(1200))", 1, "multiplications"),
    ("for i in range(10**4):\n    ones(10**6)", 2, "altogether"),
    ("for i in range(10**4):\n    list(y)", 2, "altogether"),
    ("z = ones(10**6)\nfor i in range(10**4):\n    z = z + 1", 3, "altogether"),
    ("int(1e300)**11", 1, "bits"),
]


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Memory as the workers have it, in which what strangers wrote is run."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (32 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize(("text", "line", "phrase"), BOMBS)
def test_what_is_too_much_is_refused_at_its_place(text: str, line: int, phrase: str) -> None:
    """Each bomb is refused by the limit it breaks, before it is made."""
    with pytest.raises(OutOfBudget, match=phrase) as caught:
        value(text, n=2, y=LONG.copy())
    assert str(caught.value).startswith(f"{line}:")
    assert " - " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "ones_like(y, shape=(10**5, 10**5))",
        "zeros_like(y, float, None, True, (10**5, 10**5))",
        "y[:, None].expand(100_000, 50).tolist()",
    ],
)
def test_what_makers_and_lists_would_take_is_refused(text: str) -> None:
    """In the words of problems: nothing of it is made."""
    program = check_program(text, declared=["y"], vocabulary=VOCABULARY)
    with pytest.raises(OutOfBudget, match=r"elements|entries"):
        run(program, {"y": tensor(LONG)}, KINDS["tensor"], Budget())


# A program in `y`, and a budget that just suffices for it: one less, and it is refused.
EXACT = [
    ("for i in range(10):\n    pass", "steps", 11),
    ("n = 0\nwhile n < 10:\n    n += 1", "steps", 11),
    ("[sin(i) for i in range(10)]", "steps", 21),
    ("def f(a):\n    return f(a - 1) if a else 0\nf(6)", "depth", 7),
    ("y[:, None] * y[:7]", "elements", 140),
    ("zeros((3, 5))", "elements", 15),
    ("range(33)", "elements", 33),
    ("[0] * 4 + [1]", "entries", 5),
    ("l = []\nfor i in range(9):\n    l.append(i)", "entries", 9),
    ("ones((2, 3)) @ ones((3, 4))", "products", 24),
    ("4096 * 4", "bits", 16),
    ("2**12", "exponent", 12),
    ("y + y", "total", 20),
]


@pytest.mark.parametrize(("text", "limit", "enough"), EXACT)
def test_a_limit_is_exact(text: str, limit: str, enough: int) -> None:
    """What just fits runs; with one less of the same it does not."""
    value(text, Budget(**{limit: enough}), y=np.ones(20))
    with pytest.raises(OutOfBudget):
        value(text, Budget(**{limit: enough - 1}), y=np.ones(20))


HOMEWORK = [
    "for step in range(1000):\n    w = w - 0.1 * (X.T @ (X @ w - y)) / 50\nw.sum()",
    "losses = []\nfor i in range(5000):\n    losses.append(((X @ w - y)**2).mean())\nsum(losses)",
    "((X[:, None, :] - X[None])**2).sum(axis=2).mean()",
    "X[arange(50), [0] * 50].sum() + X[X > 0].sum() + einsum('ij,kj->ik', X, X).sum()",
    "z = ones((2000, 2000))\nz[z > 0].sum() + z[..., [0, 1]].sum() + z[None, 3, [0] * 9].sum()",
    "n = 1\nfor i in range(1, 101):\n    n = n * i\nn",
    "(1 + w / 10**4)**10**4",
    "matrix_power(X.T @ X / 100, 50).sum() + inv(X.T @ X + eye(3)).sum()",
]


@pytest.mark.parametrize("text", HOMEWORK)
def test_a_homework_fits_the_budget_with_ease(text: str) -> None:
    """Training loops, distances, factorials: nobody who means well meets a limit."""
    generator = np.random.default_rng(0)
    inputs = {"X": generator.normal(size=(50, 3)), "y": np.ones(50), "w": np.ones(3)}
    assert np.isfinite(np.sum(np.float64(value(text, **inputs))))


@pytest.mark.parametrize(
    ("name", "sizes", "products"),
    [
        ("matmul", [(4, 6), (6, 5)], 120),
        ("dot", [(7,), (7,)], 7),
        ("outer", [(7,), (3,)], 21),
        ("linalg.inv", [(5, 5)], 125),
    ],
)
def test_products_of_matrices_are_counted(
    name: str, sizes: list[tuple[int, ...]], products: int
) -> None:
    """Rows times columns times what is summed, from the sizes alone."""
    args = [np.eye(*s) if len(s) == 2 else np.ones(s) for s in sizes]
    *module, function = name.split(".")
    made = getattr(getattr(np, *module) if module else np, function)(*args)
    assert multiplications(args, made) == products
