"""Whatever is typed: a value, a TextError or OutOfBudget, and nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.errors import OutOfBudget, TextError
from gradcheck.language import Budget, check_program
from gradcheck.language.run import run
from gradcheck.language.vocabulary import words
from tests.support.checked import CONTEXT, VOCABULARY, PlainNumPy

SMALL = Budget(
    steps=300, depth=9, elements=2_000, entries=500, total=50_000, products=50_000, bits=300
)

TABLE = yaml.safe_load(Path(__file__).with_name("fuzz.yaml").read_text())

TOKENS = [
    *sorted(
        words(
            """
            x m y sin np torch . .sin( .__class__ .grad ( ) [ ] , : ; = == != += -= @= ** * / // %
            @ + - ~ & | ^ < > is None not and or if else for in while def f return with no_grad()
            import lambda del try: except: class yield await async global 'a' f'{x}' 1 0 -1 0.5 1e9
            10**9 1e400 2j ... _ __import__('os') True range(9) append .T .shape [0] [None] [:,None]
            := -> # \\ repeat tile zeros outer array inv reshape pad sum max len list print é ｘ θ
            """
        )
    ),
    *("\n", "\n    ", "    ", " ", "\t", "\0"),
]


def change(text, edits):
    for start, length, piece in edits:
        at = start % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
    return text


def survives(text):
    """Check and run a text; only what is promised may be raised, and it tells a place."""
    inputs: dict[str, Any] = {"x": np.array([1.0, 2.0, 3.0]), "m": np.ones((2, 3))}
    message = "1:"
    try:
        program = check_program(text, declared=inputs, vocabulary=VOCABULARY)
        run(program, inputs, PlainNumPy(), SMALL, context=CONTEXT)
    except (TextError, OutOfBudget) as error:
        message = str(error)
    assert message[0].isdigit()
    assert "guard." not in message
    assert "0x" not in message.splitlines()[0] or "0x" in text


EDITS = st.lists(
    st.tuples(
        st.integers(0, 400), st.integers(0, 6), st.sampled_from(TOKENS) | st.text(max_size=2)
    ),
    max_size=4,
)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(st.sampled_from(TABLE["programs"]), EDITS)
def test_a_changed_program_runs_or_is_refused(text, edits):
    """Programs near to good ones reach every rule and every guard."""
    survives(change(text, edits))


@pytest.mark.parametrize("text", TABLE["examples"])
def test_what_was_once_answered_otherwise(text):
    survives(text)


@settings(deadline=None, derandomize=True, max_examples=250)
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
def test_any_tokens_run_or_are_refused(text):
    """The words of the language in any order."""
    survives(text)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.text(max_size=40))
def test_any_text_runs_or_is_refused(text):
    """Any characters at all."""
    survives(text)
