"""Keep the mistakes that reproduce an answer at every point; say one, several, or none.

Answers with the same values have the same explanation, however they are typed: the last ones are
remembered beside what is prepared.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate

import numpy as np

from gradcheck.diagnosis.line import Made, Span, measure_width
from gradcheck.diagnosis.preparing import Prepared, PreparedTerm
from gradcheck.diagnosis.tables import (
    ABSOLUTE,
    NOTHING_FITS,
    RELATIVE,
    GivenAnswer,
    bound_rounding,
    find_ratio,
    flatten,
    is_equal,
    scale_of,
)
from gradcheck.mistakes import Mistake, calculus, whole_answer
from gradcheck.mistakes.backprop import subsets
from gradcheck.mistakes.row import COVERING, GENERIC, TELLING, VAGUE
from gradcheck.values import Array, Params, Value

PREFERRED = {True: ("calculus", "whole"), False: ("backprop", "whole")}
HABIT = 0.5  # of those who make a mistake once, so many make it every time


@dataclass(frozen=True)
class Hypothesis:
    """One mistake that would give just this answer, and where in the program it was made.

    `span` is the largest stretch of the text on which it makes no difference where; None for the
    whole answer, and for a mistake made `everywhere`. `with_` is a second mistake, made together
    with this one. `texts` is what the words may mention; it is written of what was `made`.
    """

    mistake: Mistake
    span: Span
    everywhere: bool = False
    texts: Params = field(default_factory=dict)
    with_: "Hypothesis | None" = None
    made: Made | None = field(default=None, repr=False, compare=False)

    @property
    def ids(self) -> tuple[str, ...]:
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
        if other.mistake.verb == "answer" or (self.everywhere and other.everywhere):
            return True
        return bool(self.made and other.made and self.made.lies_within(other.made))

    def write_texts(self) -> "Hypothesis":
        """With what the words may mention: it is written for those that fit alone."""
        texts, with_ = self.made.texts if self.made else self.texts, self.with_
        return replace(self, texts=texts, with_=with_ and with_.write_texts(), made=None)


def make_hypothesis(made: Made, with_: Hypothesis | None = None) -> Hypothesis:
    return Hypothesis(made.mistake, made.span, made.everywhere, with_=with_, made=made)


@dataclass(frozen=True)
class Diagnosis:
    """What gives an answer: the mistakes that fit, and true sentences on it.

    `hypotheses` are in the words that suit the problem: calculus for numbers, backprop for
    tensors. `beneath` fit as well, in the other family's words; nobody needs to be told both. What
    one number says is `doubtful`: other mistakes may give it as well.
    """

    hypotheses: tuple[Hypothesis, ...] = ()
    remarks: tuple[str, ...] = ()
    beneath: tuple[Hypothesis, ...] = ()
    doubtful: bool = False

    @property
    def certainty(self) -> str:
        """`unique` (one mistake fits), `torn` (several: all are said), or `unnamed`."""
        if not self.hypotheses:
            return "unnamed"
        return "torn" if self.doubtful or len(self.hypotheses) > 1 else "unique"


def rank_hypotheses(
    found: Sequence[Hypothesis], scalar: bool
) -> tuple[tuple[Hypothesis, ...], tuple[Hypothesis, ...]]:
    """One hypothesis an id, the commonest first: those that are told, then those beneath.

    Told are those of the preferred family that tell most, but for what lies within a place that
    another one covers.
    """

    def order(h: Hypothesis) -> tuple[Value, ...]:
        """Of one id: the preferred family, at a site, at the largest site, the commonest."""
        width = measure_width(h.span)
        return (not h.is_preferred(scalar), h.rank, h.everywhere, -width, -h.mistake.common)

    best: dict[tuple[str, ...], Hypothesis] = {}
    for each in sorted(found, key=order):
        best.setdefault(each.ids, each)
    ordered = sorted(best.values(), key=lambda h: -h.common)
    own = [h for h in ordered if h.is_preferred(scalar)] or ordered
    least = max(min((h.rank for h in own), default=0), TELLING)
    telling = [h for h in own if h.rank <= least]
    told = [h for h in telling if not any(map(h.is_covered, telling))]
    beneath = [h for h in ordered if h not in told]
    return tuple(h.write_texts() for h in told), tuple(h.write_texts() for h in beneath)


# -- words -----------------------------------------------------------------------------------------

# `u = u` and `v = v` say nothing: they stand where the arguments have no short text.
NOTHING_SAID = re.compile(r"(,? with u = u(?:, v = v)?(?=[.,:])|, v = v(?=[.,:]))")
QUOTED = frozenset({"text", "whole", "typed"})  # as it was typed
READY = frozenset({"stage", "cure"})  # in words already
BESIDE = re.compile(r"(?<=\d) ?\* ?(?=[a-zA-Z]\b(?!\())")  # between a number and a letter
LONGEST = 48  # characters of a program in a sentence
MARKED = "the marked expression"
EVERYWHERE = " It happened at every such place."
PLAIN = {
    "text": "the expression", "whole": "the sum", "u": "u", "v": "v", "w": "the inside",
    "du": "u'", "dv": "v'", "dw": "its derivative", "c": "the constant", "factor": "a constant",
    "typed": "1/(2x)", "cure": "with another one", "h": "the other letter",
}  # fmt: skip
WORDS = re.compile("`((?:the|an) [^`]*)`")  # that stand where a piece of the program would
# What PLAIN's words make of a sentence that was written for an expression.
SMOOTHED = {
    " to `an earlier value`": "",
    " to `u`": "",
    "`u`": "an earlier value",
    "factor the constant": "constant factor",
    "constant the constant": "constant",
    "the the constant": "the constant",
    "product `the expression`": "product",
    "statistic `the expression`": "statistic",
    f"statistic `{MARKED}`": f"statistic in {MARKED}",
    "exponent the constant": "exponent",
    "derivative a constant:": "derivative plus a constant:",
    "where the constant belongs": "where another belongs",
    "over the constant": "over an axis",
    "derivative its derivative": "derivative",
    "inside, its derivative,": "inside",
    "inside, its derivative:": "inside:",
    " is its derivative: its minus was lost": " lost its minus",
    "its derivative, the derivative of": "the derivative of",
}


def write_words(hypothesis: Hypothesis, source: str = "") -> str:
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
    with_ = hypothesis.with_
    return f"{sentence} And: {write_words(with_, source)}" if with_ else sentence


@lru_cache(maxsize=1_000)
def _smooth(sentence: str) -> str:
    """A sentence without clumsy words; remembered, as a class makes the same few mistakes."""
    for clumsy, plain in SMOOTHED.items():
        sentence = sentence.replace(clumsy, plain)
    sentence = WORDS.sub(r"\1", NOTHING_SAID.sub("", sentence))
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


# -- which mistakes give an answer -----------------------------------------------------------------


MOST_PAIRS = 4
REMEMBERED = 1_000  # explanations to one problem: some hundred bytes each
CONSISTENT = "so short an answer fits more than one story: this is consistent with it, no more"
NO_NUMBER = "the answer is infinite, or no number, where the gradient is one"


def explain(
    prepared: Prepared,
    part: str,
    answer: Sequence[Array | None],
    *,
    slopes: Iterable[float | None] | None = None,
    slack: Value = 0.0,
) -> Diagnosis:
    """Name what gives this answer to one part, from its values at the prepared points.

    `answer[k]` is the answer at point k, or None where it is not known (a number typed for one
    point says nothing of the others). `slopes` are the derivatives of the answer by the part's
    input, point by point, where they are known: an antiderivative is told by them, and no more of
    them are taken than that needs. `slack` is half a unit of the last digit of a rounded number,
    one for all entries or one for each. The fewest mistakes win: one, made at a site or, as a
    misconception, at every site; a factor of the whole answer or of a term; two mistakes. Of a
    right answer nothing is said.
    """
    points = [k for k, a in enumerate(answer) if a is not None]
    shapes = {np.shape(a) for a in answer if a is not None}
    if len(shapes) != 1:
        return Diagnosis()
    flat, shape = flatten([answer[k] for k in points]), shapes.pop()
    same = shape == np.shape(prepared.right[0][part])
    right = prepared.flat[part][points] if same else None
    wanted = GivenAnswer(points, flat, shape, np.ravel(slack), right)
    digest = blake2b(flat.tobytes() + wanted.slack.tobytes()).digest()
    known: dict[Value, Diagnosis] = prepared.explained
    key = (part, slopes is None, *points, shape, digest)
    if key not in known:
        if len(known) >= REMEMBERED:
            known.clear()
        with np.errstate(all="ignore"):
            known[key] = _explain(prepared, part, wanted, slopes or ())
    return known[key]


def _explain(
    prepared: Prepared, part: str, wanted: GivenAnswer, slopes: Iterable[float | None]
) -> Diagnosis:
    if wanted.is_right:
        return Diagnosis()
    if not np.isfinite(wanted.flat).all():
        return Diagnosis(remarks=(NO_NUMBER,))
    first = prepared.right[wanted.points[0]][part]
    for found in _rank_by_cost(prepared, part, wanted, slopes):
        told, beneath = rank_hypotheses(found, prepared.scalar)
        if told:
            doubtful = wanted.is_single or not wanted.carries()
            said = (*list_remarks(wanted, first, told), *([CONSISTENT] if doubtful else []))
            return Diagnosis(told, said, beneath, doubtful)
    return Diagnosis(remarks=list_remarks(wanted, first))


def _rank_by_cost(
    prepared: Prepared, part: str, wanted: GivenAnswer, slopes: Iterable[float | None]
) -> Iterator[Sequence[Hypothesis]]:
    """Hypotheses that fit, cheapest first; what is vague needs as much evidence as two mistakes."""
    table = prepared.tables[part].get(wanted.shape, NOTHING_FITS)
    fits = [prepared.made[n] for n in table.fitting(wanted)]
    found = [make_hypothesis(made) for made in fits if made.mistake.rank < VAGUE]
    if _is_integral(prepared, part, wanted, slopes):
        found.append(Hypothesis(whole_answer.integrated_instead, prepared.span))
    yield found + _find_unsummed(prepared, part, wanted)
    if not wanted.carries(2):
        return
    if wanted.right is not None:  # a mistake and a sign at the same place: one story of two
        turned = [prepared.made[n] for n in prepared.turned.get(part, NOTHING_FITS).fitting(wanted)]
        named = [made for made in turned if made.mistake.id != calculus.sign_error.id]
        yield [make_hypothesis(made, Hypothesis(calculus.sign_error, made.span)) for made in named]
    slips = [make_hypothesis(made) for made in fits if made.mistake.rank == VAGUE]
    yield [*_find_coefficients(prepared, part, wanted), *slips]
    yield [make_hypothesis(made) for made in fits if made.mistake.rank > VAGUE]
    pairs = [] if wanted.is_single else _find_pairs(prepared, part, wanted)
    yield pairs if len({h.ids for h in pairs}) <= MOST_PAIRS else []


def _is_integral(
    prepared: Prepared, part: str, wanted: GivenAnswer, slopes: Iterable[float | None]
) -> bool:
    if wanted.shape:
        return False
    pairs = ((a, b) for a, b in zip(slopes, prepared.values, strict=False) if a is not None)
    room = ABSOLUTE * max((abs(float(v)) for v in prepared.values if not v.shape), default=0.0)
    known = (not b.shape and abs(a - b) <= RELATIVE * abs(b) + room for a, b in pairs)
    each = zip(prepared.right, prepared.values, strict=True)
    # of exp the gradient is the program itself
    fits = bool(next(known, False)) and all(known)
    return fits and not all(is_equal(g[part], v) for g, v in each)


DEEPEST = 4  # axes of an answer: a longer one is nobody's cotangent


def _find_unsummed(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """The axes over which the answer has to be summed to be the gradient, where there are any."""
    right = prepared.flat[part][wanted.points]
    if len(wanted.shape) > DEEPEST or wanted.flat.shape[1] <= right.shape[1]:
        return []
    whole = wanted.flat.reshape(-1, *wanted.shape)
    for axes in subsets(len(wanted.shape)):
        made = whole.sum(axis=tuple(k + 1 for k in axes)).reshape(len(whole), -1)
        if made.shape == right.shape and all(map(is_equal, made, right)):
            said = " and ".join(f"axis {k}" for k in axes)
            return [Hypothesis(whole_answer.not_summed, prepared.span, texts={"c": said})]
    return []


# -- a coefficient ---------------------------------------------------------------------------------

DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # others are a ratio, not a slip
LARGEST = 100
VALUES = 3  # below, any term could be scaled to fit


def _find_coefficients(prepared: Prepared, part: str, wanted: GivenAnswer) -> Iterator[Hypothesis]:
    """Each term of the sum that, times a number, turns the gradient into the answer."""
    right = wanted.right
    if wanted.flat.size < VALUES or np.any(wanted.slack) or right is None:
        return
    for term in prepared.terms:
        share = term.shares[part][wanted.points]
        for row, factor, texts in _list_factors(prepared, part, wanted, term, share):
            if wanted.is_made(row.wrong(right, share, factor)):
                if texts:
                    yield Hypothesis(row, term.span, texts=texts)
                break
    if wanted.shape == ():
        yield from _find_added(prepared, wanted, right)


def _list_factors(
    prepared: Prepared, part: str, wanted: GivenAnswer, term: PreparedTerm, share: Array
) -> Iterator[tuple[Mistake, Value, Params]]:
    """What a term may be times too much: a constant of the problem or one over it; by two numbers.

    A whole number that stands in a whole number's place, or a simple fraction. Nothing is said of
    the number that is due.
    """
    if not share.any() or not np.isfinite(share).all():
        return
    for name in sorted(term.names & prepared.constants.keys()):
        value = prepared.constants[name][wanted.points][:, None]
        if np.any(np.abs(value) != 1):
            yield calculus.constant_missing, 1 / value, {"c": name}
            yield calculus.constant_again, value, {"c": name}
    factor = find_ratio(wanted.excess + share, share, wanted.scale)
    if not wanted.is_made(calculus.coefficient_slip.wrong(wanted.right, share, factor)):
        return
    due = term.coefficient(part)
    written = round(due * factor) if due else 0
    if due and 0 < abs(written) <= LARGEST:
        said = {"factor": str(written), "c": str(due)}
        yield calculus.number_slip, written / due, said if written != due else {}
    simple = _simplify(factor)
    if simple not in (None, 0, 1):
        yield calculus.coefficient_slip, float(simple or 0), {"factor": str(simple)}


def _simplify(number: float) -> Fraction | None:
    simple = Fraction(number).limit_denominator(max(DENOMINATORS))
    fits = abs(number - simple) <= RELATIVE * abs(simple) and abs(simple) <= LARGEST
    return simple if fits and simple.denominator in DENOMINATORS else None


def _find_added(prepared: Prepared, wanted: GivenAnswer, right: Array) -> Iterator[Hypothesis]:
    """A constant of the problem, or a simple number, added to the derivative everywhere."""
    tried: list[tuple[str, Value]] = []
    for name, values in prepared.constants.items():
        value = values[wanted.points][:, None]
        tried += [(f"plus {name}", value), (f"minus {name}", -value)]
    number = float(wanted.excess[np.argmin(wanted.scale), 0])
    simple = _simplify(number) if wanted.is_made(right + number) else None
    if simple:
        tried.append((f"{'plus' if simple > 0 else 'minus'} {abs(simple)}", float(simple)))
    for said, constant in tried:
        if np.any(constant) and wanted.is_made(calculus.constant_added.wrong(right, constant)):
            yield Hypothesis(calculus.constant_added, prepared.span, texts={"factor": said})
            return


# -- two mistakes ----------------------------------------------------------------------------------

OFTEN, USUAL = 0.4, 0.65  # how common one of two is to be; both, of an answer that says little


def _find_pairs(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """Pairs that give the answer: two wrong rules, or a mistake and a factor of the whole."""
    if np.any(wanted.slack):
        return []
    table = NOTHING_FITS if wanted.right is None else prepared.pairs.get(part, NOTHING_FITS)
    rules = dict.fromkeys(tuple(sorted(pair)) for pair in table.fitting(wanted).tolist())
    pairs = [(prepared.made[i], prepared.made[j]) for i, j in rules]
    pairs += _pair_with_whole(prepared, part, wanted)
    name = prepared.cases[0].parts[part]
    x = np.array([prepared.cases[k].inputs[name] for k in wanted.points], dtype=float)
    least = USUAL if pairs and wanted.is_monomial(x) else 0.0
    found = []
    for pair in pairs:
        # one of the two is seen often: two rare ones give whatever one likes
        both = sorted(pair, key=lambda made: (-made.mistake.common, made.mistake.id))
        often, rare = (made.mistake.common for made in both)
        if often >= OFTEN and rare >= least and min(made.mistake.rank for made in both) < VAGUE:
            found.append(make_hypothesis(both[0], make_hypothesis(both[1])))
    return sorted(found, key=lambda h: -h.common)


def _pair_with_whole(
    prepared: Prepared, part: str, wanted: GivenAnswer
) -> Iterator[tuple[Made, Made]]:
    """A mistake, and then a sign, a factor of two or a transposition of the whole answer."""
    answers = [(whole_answer.whole_sign, wanted.shape, -wanted.flat)]
    answers += [(whole_answer.factor_two, wanted.shape, k * wanted.flat) for k in (0.5, 2.0)]
    if len(wanted.shape) == 2:
        turned = wanted.flat.reshape(-1, *wanted.shape).swapaxes(1, 2).reshape(len(wanted.flat), -1)
        answers.append((whole_answer.transposed, wanted.shape[::-1], turned))
    for row, shape, flat in answers:
        table = prepared.tables[part].get(shape, NOTHING_FITS)
        for made in (prepared.made[n] for n in table.fitting(wanted, flat)):
            own = made.mistake
            vague = GENERIC if row is whole_answer.factor_two and own.common < USUAL else VAGUE
            if own.family != "whole" and own.id != row.id and own.rank < vague:
                yield made, Made(row, prepared.span, made.at)


# -- what can be said without guessing -------------------------------------------------------------

LISTED = 6
NEAR = 1e-2  # a number of two digits, rounded
VISIBLE = 1e-6  # of the gradient: a constant that is told from rounding


def list_remarks(
    wanted: GivenAnswer, first: Array, named: Sequence[Hypothesis] = ()
) -> tuple[str, ...]:
    """True sentences on the difference from the gradient (at first `first`); none is said twice."""
    right = wanted.right
    if right is None:
        said = f"the gradient has the shape {first.shape}, the answer {wanted.shape}"
        turned = wanted.shape == first.shape[::-1]
        return (f"{said}: is it transposed?" if turned else said,)
    added = any(h.mistake is calculus.constant_added for h in named)
    found = (
        _compare_size(wanted, right),
        "" if added else _compare_level(wanted),
        _compare_nearness(wanted, right),
        _list_entries(wanted, first) if first.ndim else "",
    )
    return tuple(filter(None, found))


def _compare_size(wanted: GivenAnswer, right: Array) -> str:
    if right.size < 2 or not right.any():
        return ""
    k = find_ratio(wanted.flat, right, wanted.level)
    known = f"{k:.6g}"
    apart = np.abs(wanted.flat - k * right) > bound_rounding(k * right, 0.0)
    return "" if known in ("0", "1") or apart.any() else f"the answer is {known} times the gradient"


def _compare_level(wanted: GivenAnswer) -> str:
    excess, scale = wanted.excess, wanted.scale
    constant = float(excess[np.argmin(scale), 0]) if excess.size > 1 else 0.0
    size, allowed = abs(constant), bound_rounding(np.full((len(scale), 1), constant), scale)
    # so small beside the gradient that rounding might have made it
    hidden = scale.size > 1 and np.sum(size > VISIBLE * scale) < 2
    if not constant or hidden or (np.abs(excess - constant) > allowed).any():
        return ""
    return f"the answer is the gradient {'plus' if constant > 0 else 'minus'} {size:.6g}"


def _compare_nearness(wanted: GivenAnswer, right: Array) -> str:
    """Whether the answer is almost right, or a formula that is right at the given point alone."""
    each = (scale_of(wanted.excess) / wanted.level).tolist()  # nan where both are zero
    apart = max(each) if wanted.level.all() else 0.0
    if 0 < apart <= NEAR:
        return f"the answer is within {apart:.1g} of the gradient, relatively: was it rounded?"
    if each[0] > NEAR:
        return ""
    fits = (np.abs(wanted.excess) <= bound_rounding(right, wanted.scale)).all(axis=1)
    if len(fits) > 1 and fits[0] and not fits[1:].any() and np.ptp(wanted.flat) > 0:
        return "the answer is right at the given values alone: others count, too"  # numbers put in
    return ""


def _list_entries(wanted: GivenAnswer, right: Array) -> str:
    """Which entries are off, where not all of them are, and what they have in common."""
    allowed = bound_rounding(np.ravel(right), 0.0) + wanted.slack
    here = ~(np.abs(wanted.excess[0]) <= allowed).reshape(right.shape)
    places = [list(map(int, place)) for place in np.argwhere(here)]
    if len(places) in (0, right.size):
        return ""
    if len(places) == 1:
        return f"only the entry {places[0]} is off"
    common = next((name for name, mask in _list_patterns(right) if np.array_equal(here, mask)), "")
    if common:
        return f"only the entries {common} are off"
    listed = ", ".join(map(str, places[:LISTED]))
    more = f" and {len(places) - LISTED} more" if len(places) > LISTED else ""
    return f"only the entries {listed}{more} are off"


def _list_patterns(right: Array) -> Iterator[tuple[str, Array]]:
    if right.ndim == 2:
        at = np.indices(right.shape)
        for axis, name in ((0, "row"), (1, "column")):
            yield from ((f"of {name} {k}", at[axis] == k) for k in range(right.shape[axis]))
        yield "on the diagonal", at[0] == at[1]
        yield "off the diagonal", at[0] != at[1]
    yield "where the gradient is positive", right > 0
    yield "where the gradient is negative", right < 0
