"""Views: they follow their base, write through to it, and carry the right gradient."""

import random

import numpy as np
import pytest

import gradcheck
from gradcheck import grad, no_grad, tensor
from tests.support.oracle import double, torch


def test_a_write_into_integers_does_not_lose_a_gradient():
    """Where PyTorch silently cuts the gradient, the engine raises."""
    counts = tensor([1, 2])
    with pytest.raises(RuntimeError, match="floating point"):
        counts[0] = tensor(2.5, requires_grad=True)


def test_updates_in_training_touch_the_array_in_place():
    """`w -= lr * g` under no_grad writes where w lies: the array that w handed out sees it."""
    w = tensor(np.ones(2), requires_grad=True)
    seen = w.detach().numpy()
    with no_grad():
        w -= 0.5
    assert seen.tolist() == [0.5, 0.5]


# -- repeated indices and writes to shared memory: against PyTorch, or by hand ---------------------


START = np.arange(12.0).reshape(3, 4) / 7 - 0.5
VIEWS = (
    *("[1]", "[:, 3]", "[0, 1]", ".T", "[1:]", "[::2]", "[:, ::2]", "[None]", ".unsqueeze(0)"),
    *(".diagonal()", ".reshape(-1)", "[...]", ".detach()", ".clone()", " * 1.5"),
)
WHOLE = VIEWS[-4:]  # of the same shape
OF_ANY = (".reshape(-1)", "[None]", "[...]", ".unsqueeze(0)")
ACTS = (" *= {}", " += {}", " -= {}", ".mul_({})", ".sin_()", ".zero_()", ".fill_({})")
REGIONS = ("[0]", "[:]", "[1:]", "[:, 1]", "[::2]", "[0, 2]", "[[0, 2]]", "[...]", "[:, [1, 3]]")


def test_of_several_writes_to_one_entry_the_last_has_the_gradient():
    """What was overwritten at once has no influence; PyTorch leaves this case open."""
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = gradcheck.zeros(3)
    y[[0, 0, 1]] = x
    assert y.tolist() == [2.0, 3.0, 0.0]
    (y * tensor([10.0, 20.0, 30.0])).sum().backward()
    np.testing.assert_array_equal(x.grad, [0, 10, 20])


@pytest.mark.parametrize("use", [lambda v: v * 3, lambda v: 3 * v, np.sin, lambda v: v @ v])
def test_a_view_is_tracked_as_soon_as_its_base_is(use):
    x, base = tensor(2.0, requires_grad=True), gradcheck.zeros(3)
    view = base[:1]
    base[0] = x
    assert use(view).requires_grad


def test_rows_written_twice():
    """The same of whole rows, and of one number that is broadcast to all of them."""
    x = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    v = tensor(5.0, requires_grad=True)
    y = gradcheck.zeros(3, 2)
    y[[2, 2]] = x
    y[[0, 0], [1, 1]] = v
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [[0, 0], [1, 1]])
    assert v.grad == 1


def _program(r):
    """A random program of views, copies and writes of x and w (3 x 4), with its sum `acc`."""
    whole, parts = ["y"], []
    lines = [r.choice(["y = x * 2.0", "y = zeros(3, 4)"]), "acc = x.sum()"]
    for k in range(r.randrange(2, 7)):
        name, view = r.choice(whole), r.choice(VIEWS)
        region = r.choice(REGIONS)
        written = r.choice(["1.0", "w[0, 0]", f"{r.choice(whole)}{region}", f"(w * 3.0){region}"])
        target, further = r.choice(whole + parts), r.choice(OF_ANY)
        made, line = r.choice([
            (f"v{k}", f"v{k} = {name}{view}"),
            (f"v{k}", f"v{k} = {target}{further}"),
            ("", target + r.choice(ACTS).format(r.choice(["2.0", "w[0, 0]"]))),
            ("", f"{name}{region} = {written}"),
            ("", f"{name} = {name} * w"),
            ("", f"acc = acc + ({name}[[0, 0, 2]] ** 2).sum()"),
        ])  # fmt: skip
        lines.append(line)
        if made:
            is_whole = line.startswith(f"v{k} = {name}") and line.endswith(WHOLE)
            (whole if is_whole else parts).append(made)
    return [*lines, *(f"acc = acc + ({n} * {n}).sum()" for n in whole + parts), "acc.backward()"]


def _run(lines, module, leaf):
    names = {"zeros": module.zeros, "x": leaf(START), "w": leaf(START + 0.8)}
    try:
        for line in lines:
            exec(line, names)
    except RuntimeError:
        return None
    grads = [names[n].grad for n in "xw"]
    return names["acc"].item(), *(0 * START if g is None else g.numpy() for g in grads)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(300))
def test_random_programs(seed):
    """Where PyTorch answers, ours is the same (it refuses views older than the tape)."""
    lines = _program(random.Random(seed))
    with double():
        theirs = _run(lines, torch, lambda v: torch.tensor(v, requires_grad=True))
    ours = _run(lines, gradcheck, lambda v: tensor(v, requires_grad=True))
    if theirs is not None:
        assert ours is not None, lines
        for mine, right in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, right, rtol=1e-12, atol=1e-12, err_msg=str(lines))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.bool_])
@pytest.mark.parametrize("name", ["sqrt", "sin", "exp", "arctan2"])
def test_small_integers_are_computed_in_float64(dtype, name):
    """NumPy would take float16 or float32 for them; PyTorch takes its default dtype."""
    x = tensor(np.array([1, 0, 1], dtype))
    given = [x, x] if name == "arctan2" else [x]
    y = getattr(np, name)(*given)
    wide = [np.array([1.0, 0.0, 1.0])] * len(given)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, getattr(np, name)(*wide))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *((lambda m=m: m(2, size=(2,)), "given once") for m in (gradcheck.randn, gradcheck.zeros)),
        (lambda: gradcheck.randint(low=0, size=(2,)), "`high` and `size`"),
    ],
)
def test_a_shape_is_given_once(make, words):
    with pytest.raises(TypeError, match=words):
        make()


def test_what_is_read_may_lie_where_is_written():
    """PyTorch refuses both: here all is read before anything is written, and parts are no less."""
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y[1:] = y[:-1]  # x0^2, x0^2, x1^2
    (y * tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [22.0, 400.0, 0.0]
    z = x * 2
    for k, part in enumerate(z):
        part.mul_(k)
    assert grad(z.sum(), x)[0].tolist() == [0.0, 2.0, 4.0]


def test_numbers_that_were_saved_and_set_anew_are_missed():
    """PyTorch goes back with the new ones, of whatever shape, without a word."""
    w = tensor([2.0, 3.0], requires_grad=True)
    y = (w * w).sum()
    w.data = w.data * 10
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()
