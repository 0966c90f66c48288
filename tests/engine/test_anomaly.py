"""Anomaly detection: backward stops at the first nan, in PyTorch's words."""

import warnings

import numpy as np
import pytest

from gradcheck.engine import detect_anomaly, set_detect_anomaly, tensor

PROGRAMS = {
    "sqrt": (lambda x: (x.sqrt() * 0.0).sum(), [0.0, 1.0]),
    "power": (lambda x: ((x * 0.0) ** 0.5 * 0.0).sum(), [1.0]),
    "number minus": (lambda x: (1 - x).log().mul(0.0).sum(), [1.0]),
    "second operand": (lambda x: ((x + 1.0) / x * 0.0).sum(), [0.0]),
    "nothing wrong": (lambda x: x.exp().sum(), [1.0]),
}


def told(lib, x, program):
    """The gradient or the error of a backward pass that looks for nan, and the first warning."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            with lib():
                program(x).backward()
            return x.grad.tolist(), str(caught[0].message)
        except RuntimeError as error:
            return str(error), str(caught[0].message)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_nan_is_named_as_pytorch_names_it(name):
    """The same function, the same output, the same warning at the start."""
    torch = pytest.importorskip("torch")
    program, values = PROGRAMS[name]
    hers = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    mine = tensor(values, requires_grad=True)
    expected = told(torch.autograd.detect_anomaly, hers, program)
    assert told(detect_anomaly, mine, program) == expected


def test_it_is_off_after_the_block():
    """Outside, nan goes through; `set_detect_anomaly` holds until it is switched off."""
    x = tensor([0.0], requires_grad=True)
    program = PROGRAMS["sqrt"][0]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
            program(x).backward()
        program(x).backward()
        assert np.isnan(x.grad.item())
        set_detect_anomaly(True)
        with pytest.raises(RuntimeError, match="0th output"):
            program(x).backward()
        set_detect_anomaly(False)
        program(x).backward()


def test_a_block_that_is_not_entered_changes_nothing():
    """As PyTorch's: made, but not entered, it only warns."""
    x = tensor([0.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        block = detect_anomaly()
    with np.errstate(all="ignore"):
        PROGRAMS["sqrt"][0](x).backward()
        with block, pytest.raises(RuntimeError, match="SqrtBackward0"), pytest.warns(match="Error"):
            PROGRAMS["sqrt"][0](x).backward()
