"""The small questions of the hot path: what is remembered of a shape, of a leaf, of the order.

`native.py` says in Python what `native.pxd` says in C: CI runs this file on both. Most is asked
where the tape asks.
"""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck import tensor
from gradcheck.engine import native
from gradcheck.engine.tape import stand_in

ROWS = np.arange(12.0).reshape(3, 4)
ODD = {
    "number": np.float64(2.5),
    "single": np.float32(2.5),
    "no axes": np.array(3.0),
    "empty": np.zeros((0, 2)),
    "turned": ROWS.T,
    "every other": ROWS[:, ::2],
    "single precision": ROWS.astype(np.float32),
    "the other byte order": ROWS.astype(ROWS.dtype.newbyteorder()),
    "integers": np.arange(3),
    "masked": np.ma.masked_array(ROWS),
    "memory of a file": np.zeros(3).view(np.memmap),
    "four axes": np.zeros((2, 1, 3, 1)),
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_what_stands_in_for_an_operand_has_its_shape_and_dtype(value):
    """Asked twice: the second answer may come from memory."""
    for _ in range(2):
        form, blank = stand_in(value)
        assert form == (value.shape, value.dtype)
        assert (np.shape(blank), blank.dtype) == form


@given(st.lists(st.lists(st.integers(0, 70), max_size=4).map(tuple), min_size=1, max_size=40))
def test_shapes_are_not_mistaken_for_one_another(shapes):
    """Far more shapes than there are places for them, each asked for again at the end."""
    arrays = [np.broadcast_to(1.0, shape).view() for shape in shapes]
    for a in arrays + arrays[::-1]:
        form, blank = stand_in(a)
        assert form[0] == blank.shape == a.shape


def test_a_place_is_the_same_for_the_same_shape():
    """Else nothing would ever be found again."""
    for shape in ((), (3,), (3, 4), (64, 64), (2, 1, 5)):
        place = native.spot(np.zeros(shape))
        assert 0 <= place < native.SPOTS
        assert place == native.spot(np.ones(shape, dtype=np.float32))


def test_a_leaf_has_one_end_while_a_graph_leads_there():
    """And another one afterwards: the tensor does not keep it alive."""
    x = tensor(2.0, requires_grad=True)
    y, z = x * 3.0, x + 1.0
    end = y.grad_fn.next_functions[0][0]
    assert z.grad_fn.next_functions[0][0] is end
    gone = weakref.ref(end)
    del y, z, end
    gc.collect()
    assert gone() is None
    assert (x * 2.0).grad_fn.next_functions[0][0].variable is x


def test_a_hook_keeps_the_end_of_its_leaf():
    """With a hook the tensor holds its end firmly: no graph may lead there yet."""
    x = tensor(2.0, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(float(g)))
    gc.collect()
    (x * 3.0).backward()
    assert seen == [3.0]


def test_later_is_later():
    assert native.tick() < native.tick()


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_the_questions_in_python(value):
    """Against NumPy's own attributes; the wrong shape and the wrong dtype are told apart."""
    form = value.shape, value.dtype
    assert native.has_form(value, form)
    assert native.has_shape(value, form[0])
    assert not native.has_shape(value, (*form[0], 1))
    assert not native.has_form(value, (form[0], np.dtype(np.complex64)))
    assert native.of_type(value, value.dtype) == (type(value) is np.ndarray)
