"""Which way each bar looks: |x-1||x+1| is two absolute values, |x|y|z| could be two things.

Between two brackets, bars pair among themselves. A bar closes where a value ends and one is open;
it opens where a value follows. If that leaves more than one reading, the text is refused. Two
habits of textbooks decide first: inside an open bar, a bar between a value and a sign (`|x| - ...`)
closes, and so does the first of two after a value (`|x||y|`); they yield only where they leave no
reading at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gradcheck.answers.complaint import refused
from gradcheck.answers.scanner import Token
from gradcheck.answers.words import Words

OPENERS, CLOSERS = ("(", "[", "{", "|("), (")", "]", "}", "|)")
VALUES = ("number", "name", "fraction", "frac", "root")
STARTS, ENDS = (*OPENERS, "√", "∛"), (*VALUES, "transpose")
DEEPEST, MOST = 4, 100
OPEN, CLOSE, OTHER = "|(", "|)", ""


class Item(NamedTuple):
    """A token as the bars see it."""

    place: int
    bar: bool
    starts: bool
    ends: bool
    sign: bool
    number: bool
    breaks: bool


class State(NamedTuple):
    """How many bars are open, and whether the last item was a bar and which."""

    depth: int
    last: str


@dataclass(frozen=True)
class Path:
    """The sides chosen so far (a linked list) and how many other choices reach the same state."""

    count: int
    side: str = ""
    before: "Path | None" = None


def paired(tokens: Sequence[Token], words: Words, text: str) -> list[Token]:
    """The tokens with every bar replaced by an opening or a closing one."""
    result = list(tokens)
    bars = [token for token in tokens if token.text == "|"]
    if not bars:
        return result
    if len(bars) > MOST:
        raise refused(text, bars[MOST].start, f"more than {MOST} bars", "write abs(...) instead")
    for level in _levels(tokens, words):
        places = [item.place for item in level if item.bar]
        if places:
            sides = _sides(level, tokens, text)
            for place, side in zip(places, sides, strict=True):
                result[place] = result[place]._replace(text=side)
            _not_a_norm(places, sides, tokens, text)
    return result


def _levels(tokens: Sequence[Token], words: Words) -> Iterator[list[Item]]:
    """The items between each pair of brackets, an inner pair as its two ends."""
    stack: list[list[Item]] = [[]]
    for place, token in enumerate(tokens):
        item = _item(place, token, words)
        if token.kind == "op" and token.text in CLOSERS and len(stack) > 1:
            yield stack.pop()
        stack[-1].append(item)
        if token.kind == "op" and token.text in OPENERS:
            stack.append([])
    yield from stack


def _item(place: int, token: Token, words: Words) -> Item:
    """What matters of a token: whether a value starts or ends with it."""
    meaning = words.meaning(token.text) if token.kind == "name" else None
    function = bool(meaning and meaning.kind == "function")
    sign = token.kind == "op" and token.text in "+-"
    return Item(
        place,
        bar=token.text == "|",
        starts=token.kind in VALUES or token.text in STARTS or sign,
        ends=(token.kind in ENDS and not function) or token.text in CLOSERS,
        sign=sign,
        number=token.kind == "number",
        breaks=token.text in ",:",
    )


def _sides(level: Sequence[Item], tokens: Sequence[Token], text: str) -> list[str]:
    """The one way to read the bars of a level."""
    path = _readings(level, habits=True) or _readings(level, habits=False)
    first = next(tokens[item.place] for item in level if item.bar)
    if path is None:
        raise refused(
            text, first.start, "these bars do not pair up", "write abs(...) instead of |...|"
        )
    if path.count > 1:
        message = "these bars can be read in more than one way"
        raise refused(text, first.start, message, "write abs(...) instead of |...|")
    return _unwound(path)


def _readings(level: Sequence[Item], habits: bool) -> Path | None:
    """All readings of a level, merged; nothing if there are none."""
    states = {State(0, OTHER): Path(1)}
    for at, item in enumerate(level):
        before = level[at - 1] if at else None
        after = level[at + 1] if at + 1 < len(level) else None
        reached: dict[State, Path] = {}
        for state, path in states.items():
            for side in _choices(state, item, before, after, habits):
                depth = state.depth + (side == OPEN) - (side == CLOSE)
                step = Path(path.count, side, path) if item.bar else path
                key = State(depth, side)
                known = reached.get(key)
                reached[key] = (
                    Path(min(2, known.count + step.count), step.side, step.before)
                    if known
                    else step
                )
        states = reached
    ended = [path for state, path in states.items() if state.depth == 0 and state.last != OPEN]
    return (
        Path(sum(path.count for path in ended), ended[0].side, ended[0].before) if ended else None
    )


def _choices(
    state: State, item: Item, before: Item | None, after: Item | None, habits: bool
) -> Iterator[str]:
    """The sides an item may take here; an item that is no bar takes none, if it can stand here."""
    value = bool(before and before.ends)
    if not item.bar:
        fits = item.starts if state.last == OPEN else not (state.last == CLOSE and item.number)
        if fits and not (item.breaks and state.depth):
            yield OTHER
        return
    if state.depth and (value or state.last == CLOSE):
        yield CLOSE
    usual = bool(habits and state.depth and value and after and (after.sign or after.bar))
    if state.depth < DEEPEST and after and (after.starts or after.bar) and not usual:
        yield OPEN


def _unwound(path: Path) -> list[str]:
    """The sides of a path, first to last."""
    sides: list[str] = []
    step: Path | None = path
    while step and step.side:
        sides.append(step.side)
        step = step.before
    return sides[::-1]


def _not_a_norm(
    bars: Sequence[int], sides: Sequence[str], tokens: Sequence[Token], text: str
) -> None:
    """`||x||` is refused: it might mean a norm."""
    pairs, stack = set(), []
    for place, side in zip(bars, sides, strict=True):
        if side == OPEN:
            stack.append(place)
        else:
            pairs.add((stack.pop(), place))
    for left, right in sorted(pairs):
        if (left + 1, right - 1) in pairs:
            cure = "write norm(x) for a norm, abs(x) for an absolute value"
            raise refused(text, tokens[left].start, "double bars are not read", cure, 2)
