"""The oracle of the engine's tests: one snippet run on PyTorch and on the engine, told alike."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradcheck

torch = pytest.importorskip("torch")


Snippet = Callable[[Any], Any]


@contextmanager
def double() -> Iterator[None]:
    before, always = torch.get_default_dtype(), torch.is_warn_always_enabled()
    torch.set_default_dtype(torch.float64)
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        torch.set_warn_always(always)


def _leaf(m: Any) -> Callable[..., Any]:
    return lambda data, **named: m.tensor(data, requires_grad=True, **named)


def _offer(lib: Any) -> Any:
    m = SimpleNamespace(
        tensor=lib.tensor,
        grad=lib.autograd.grad,
        backward=lib.autograd.backward,
        no_grad=lib.no_grad,
        enable_grad=lib.enable_grad,
        set_grad_enabled=lib.set_grad_enabled,
        is_grad_enabled=lib.is_grad_enabled,
        Function=lib.autograd.Function,
        MSELoss=lib.nn.MSELoss,
        CrossEntropyLoss=lib.nn.CrossEntropyLoss,
        Linear=lib.nn.Linear,
        SGD=lib.optim.SGD,
        Adam=lib.optim.Adam,
        float32=lib.float32,
        float64=lib.float64,
        lib=lib,
    )
    m.leaf = _leaf(m)
    return m


ours, theirs = partial(_offer, gradcheck), partial(_offer, torch)


def made(m: Any, forward: Any, backward: Any = None, **named: Any) -> Any:
    members = {"forward": forward, "backward": backward, **named}
    statics = {name: staticmethod(f) for name, f in members.items() if f is not None}
    return type("Fn", (m.Function,), statics)


def told(snippet: Snippet, m: Any) -> Any:
    """What a snippet gives: its value or its error, and its warnings, as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = text(snippet(m))
        except Exception as error:  # noqa: BLE001 - errors are what is compared
            answer = f"{type(error).__name__}: {cleaned(str(error))}"
    said = [f"{w.category.__name__}: {cleaned(str(w.message))}" for w in caught]
    return answer, [words for words in said if "torch.jit" not in words]


def text(value: Any) -> str:
    if isinstance(value, tuple | list) and type(value).__name__ in ("tuple", "list"):
        return f"({', '.join(map(text, value))})"
    if isinstance(value, tuple):
        return str(tuple(value))
    if isinstance(value, np.generic):
        return repr(value.item())
    return cleaned(repr(value))


def cleaned(words: str) -> str:
    """Words without addresses and without the places in PyTorch's sources."""
    words = re.sub(r" at 0x[0-9a-f]+", "", words)
    words = re.sub(r" ?\(Triggered internally at .*", "", words)
    words = re.sub(r"<class '.*\.(\w+)'>", r"<class '\1'>", words)
    return words.replace("torch.autograd.function.", "").strip()


def same(snippet: Snippet) -> None:
    with double():
        expected = told(snippet, theirs())
    mine = told(snippet, ours())
    if any(words in expected[0] for words in RARE):
        mine, expected = (each[0].partition(":")[0] for each in (mine, expected))
    assert not expected[0].startswith("NameError"), expected
    assert mine == expected, (mine, expected)


RARE = (
    "single memory location", "created in no_grad mode", "is a view and is being modified inplace",
    "deepcopy protocol", "attempting to assign a gradient with dtype", "but got: allow_unused",
    "expected sequence of length", "given to hessian should contain", "grad_and_value(f)(*args)",
)  # fmt: skip
"""Refusals that lessons do not provoke: their kind is PyTorch's, their words are ours."""
