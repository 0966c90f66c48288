"""The sentence that a hypothesis says, with the student's own expressions filled in."""

import re
from collections import defaultdict
from functools import lru_cache
from typing import Any

from gradcheck.diagnosis.hypothesis import Hypothesis

# `u = u` and `v = v` say nothing: they stand where the arguments have no short text.
NOTHING_SAID = re.compile(r"(,? with u = u(?:, v = v)?(?=[.,:])|, v = v(?=[.,:]))")
QUOTED = frozenset({"text", "whole", "typed", "cure", "sign"})  # as it was typed
BESIDE = re.compile(r"(?<=\d) ?\* ?(?=[a-zA-Z]\b(?!\())")  # between a number and a letter
LONGEST = 48  # characters of a program in a sentence
MARKED = "the marked expression"
EVERYWHERE = " It happened at every such place."
PLAIN = {
    "text": "the expression",
    "whole": "the sum",
    "u": "u",
    "v": "v",
    "w": "the inside",
    "du": "u'",
    "dv": "v'",
    "dw": "its derivative",
    "c": "the constant",
    "factor": "a constant",
    "typed": "1/(2x)",
    "sign": "bracket",
    "cure": "with another one",
    "h": "the other letter",
}
# What PLAIN's words make of a sentence that was written for an expression.
SMOOTHED = {
    "`the expression`": "the expression",
    f"`{MARKED}`": MARKED,
    "`the sum`": "the sum",
    " to `an earlier value`": "",
    " to `u`": "",
    "`an earlier value`": "an earlier value",
    "`u`": "an earlier value",
    "factor the constant": "constant factor",
    "constant the constant": "constant",
    "statistic the expression": "statistic",
    f"statistic {MARKED}": f"statistic in {MARKED}",
    "exponent the constant": "exponent",
    "its derivative, the derivative of the inside": "the derivative of the inside",
}


def words(hypothesis: Hypothesis, source: str = "") -> str:
    """What to tell the student; `source` is the program's text, into which the spans point."""
    texts = defaultdict(str, PLAIN)
    quoted = QUOTED | ({"u"} if hypothesis.mistake.family == "backprop" else set())
    place = {} if hypothesis.span is None else {"text": hypothesis.span}
    for name, text in {**hypothesis.texts, **place}.items():
        said = _read(text, source)
        if said:
            texts[name] = (
                said if name == "stage" else _short(said) if name in quoted else by_hand(said)
            )
    sentence = _smoothed(hypothesis.mistake.says.format_map(texts))
    sentence += EVERYWHERE if hypothesis.everywhere else ""
    sentence += hypothesis.texts.get("stage", "")
    return f"{sentence} And: {words(hypothesis.with_, source)}" if hypothesis.with_ else sentence


@lru_cache(maxsize=1_000)
def _smoothed(sentence: str) -> str:
    """A sentence without clumsy words; remembered, as a class makes the same few mistakes."""
    for clumsy, plain in SMOOTHED.items():
        sentence = sentence.replace(clumsy, plain)
    sentence = NOTHING_SAID.sub("", sentence)
    return sentence[:1].upper() + sentence[1:]


@lru_cache(maxsize=1_000)
def by_hand(text: str) -> str:
    """A formula of a program as it is written by hand: `-2*a*x**2` as -2a x^2."""
    text = BESIDE.sub("", text.replace("**", "^"))
    return re.sub(r" ?\* ?", " ", text)


def _short(text: str) -> str:
    """A piece of a program; a long one is read where it is marked."""
    return text if len(text) <= LONGEST and "\n" not in text else MARKED


def _read(text: Any, source: str) -> str:
    """A span of the source, or words that are ready."""
    if isinstance(text, tuple):
        return source[text[-2] : text[-1]]
    return text or ""
