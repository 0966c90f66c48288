"""What a diagnosis says: hypotheses in order, and how certain it is of them."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from gradcheck.diagnosis.acts import Made
from gradcheck.diagnosis.line import Span
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import COVERING, TELLING
from gradcheck.values import Params, Value

PREFERRED = {True: ("calculus", "whole"), False: ("backprop", "whole")}
HABIT = 0.5  # of those who make a mistake once, so many make it every time


@dataclass(frozen=True)
class Hypothesis:
    """One mistake that would give just this answer, and where in the program it was made.

    `span` is the largest stretch of the text on which it makes no difference where; None for the
    whole answer, and for a mistake made `everywhere`. `with_` is a second mistake, made together
    with this one. `texts` is what the words may mention (see `words`). `nodes` are those of the
    straight line at which a rule of calculus was made, `below` all that they are made of, as bits.
    """

    mistake: Mistake
    span: Span
    everywhere: bool = False
    texts: Params = field(default_factory=dict)
    with_: "Hypothesis | None" = None
    nodes: int = 0
    below: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the mistakes, one or two."""
        return (self.mistake.id, *(self.with_.ids if self.with_ else ()))

    @property
    def rank(self) -> int:
        """How little it tells: of two mistakes that of the vaguer one."""
        return max(self.mistake.rank, self.with_.rank if self.with_ else 0)

    @property
    def common(self) -> float:
        """How often this is seen: at every site less often, of two mistakes both together."""
        here = self.mistake.common * (HABIT if self.everywhere else 1.0)
        return here * (self.with_.common if self.with_ else 1.0)

    def is_preferred(self, scalar: bool) -> bool:
        """Whether it is in the words that suit the problem."""
        own = self.mistake.family in PREFERRED[scalar]
        return own and (self.with_ is None or self.with_.is_preferred(scalar))

    def is_covered(self, other: "Hypothesis") -> bool:
        """Whether it was made in what the other one's place is made of, and that one covers.

        Of the whole answer nothing else needs to be said; at every site one rule covers another.
        """
        if not other.mistake.rank == COVERING < self.mistake.rank or self.ids[1:] != other.ids[1:]:
            return False
        everything = other.mistake.verb == "answer" or (self.everywhere and other.everywhere)
        return everything or bool(self.nodes & other.below)


def hypothesis_of(made: Made, with_: Hypothesis | None = None) -> Hypothesis:
    """That a mistake was made, perhaps with a second one."""
    nodes = below = 0
    if made.line is not None and made.rule is not None and made.rule.place is not None:
        for k in made.rule.place.ks:
            nodes |= 1 << k
            below |= made.line.above[k]
    return Hypothesis(made.mistake, made.span, made.everywhere, made.texts, with_, nodes, below)


@dataclass(frozen=True)
class Diagnosis:
    """`unique` (one mistake fits), `torn` (several: all are said), or `unnamed`.

    `hypotheses` are in the words that suit the problem: calculus for numbers, backprop for
    tensors. `beneath` fit as well, in the other family's words; nobody needs to be told both.
    """

    certainty: str
    hypotheses: tuple[Hypothesis, ...] = ()
    remarks: tuple[str, ...] = ()
    beneath: tuple[Hypothesis, ...] = ()


def rank_hypotheses(
    found: Sequence[Hypothesis], scalar: bool
) -> tuple[tuple[Hypothesis, ...], tuple[Hypothesis, ...]]:
    """One hypothesis an id, the commonest first: those that are told, then those beneath.

    Told are those of the preferred family that tell most, but for what lies within a place that
    another one covers.
    """

    def order(h: Hypothesis) -> tuple[Value, ...]:
        """Of one id: the preferred family, at a site, at the largest site, the commonest."""
        width = h.span[-1] - h.span[-2] if h.span is not None else -1
        return (not h.is_preferred(scalar), h.rank, h.everywhere, -width, -h.mistake.common)

    best: dict[tuple[str, ...], Hypothesis] = {}
    for each in sorted(found, key=order):
        best.setdefault(each.ids, each)
    ordered = sorted(best.values(), key=lambda h: -h.common)
    own = [h for h in ordered if h.is_preferred(scalar)] or ordered
    least = max(min((h.rank for h in own), default=0), TELLING)
    told = [h for h in own if h.rank <= least]
    told = [h for h in told if not any(map(h.is_covered, told))]
    return tuple(told), tuple(h for h in ordered if h not in told)


# -- words -----------------------------------------------------------------------------------------

# `u = u` and `v = v` say nothing: they stand where the arguments have no short text.
NOTHING_SAID = re.compile(r"(,? with u = u(?:, v = v)?(?=[.,:])|, v = v(?=[.,:]))")
QUOTED = frozenset({"text", "whole", "typed", "sign"})  # as it was typed
READY = frozenset({"stage", "cure"})  # in words already
BESIDE = re.compile(r"(?<=\d) ?\* ?(?=[a-zA-Z]\b(?!\())")  # between a number and a letter
LONGEST = 48  # characters of a program in a sentence
MARKED = "the marked expression"
EVERYWHERE = " It happened at every such place."
PLAIN = {
    "text": "the expression", "whole": "the sum", "u": "u", "v": "v", "w": "the inside",
    "du": "u'", "dv": "v'", "dw": "its derivative", "c": "the constant", "factor": "a constant",
    "typed": "1/(2x)", "sign": "bracket", "cure": "with another one", "h": "the other letter",
}  # fmt: skip
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
        said = source[text[-2] : text[-1]] if isinstance(text, tuple) else text
        if said and name not in READY:
            said = _shorten(said) if name in quoted else by_hand(said)
        texts[name] = said or texts[name]
    sentence = _smooth(hypothesis.mistake.says.format_map(texts))
    sentence += EVERYWHERE if hypothesis.everywhere else ""
    sentence += hypothesis.texts.get("stage", "")
    return f"{sentence} And: {words(hypothesis.with_, source)}" if hypothesis.with_ else sentence


@lru_cache(maxsize=1_000)
def _smooth(sentence: str) -> str:
    """A sentence without clumsy words; remembered, as a class makes the same few mistakes."""
    for clumsy, plain in SMOOTHED.items():
        sentence = sentence.replace(clumsy, plain)
    sentence = NOTHING_SAID.sub("", sentence)
    return sentence[:1].upper() + sentence[1:]


@lru_cache(maxsize=1_000)
def by_hand(text: str) -> str:
    """A formula of a program as it is written by hand: `-2*a*x**2` as -2a x^2."""
    return re.sub(r" ?\* ?", " ", BESIDE.sub("", text.replace("**", "^")))


def _shorten(text: str) -> str:
    """A piece of a program; a long one, or one cut out of brackets, is read where it is marked."""
    depths = [*accumulate((c in "([") - (c in ")]") for c in text)]
    whole = not depths or (min(depths) >= 0 and not depths[-1])
    return text if whole and len(text) <= LONGEST and "\n" not in text else MARKED
