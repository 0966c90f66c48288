r"""Names that an answer defines itself: `2x cos(u) where u = x^2`, `u = x^2; 2x cos u`.

What stands for a name is written in its place. A name that is not used is none of these, but after
`where`, and neither is one that the problem knows: `4 where x = 2` says at which point.
"""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gradcheck.answers.characters import characters
from gradcheck.answers.draft import Draft
from gradcheck.answers.gradients import GRADIENT
from gradcheck.answers.words import Words
from gradcheck.answers.wrapping import names_a_derivative

BELOW = re.compile(r"where|with|wobei|mit|avec|où|con|donde")
PARTS = re.compile(
    rf"[()\[\]{{}}]|\n|;|\\\\|,(?!\d)|\b(?:{BELOW.pattern}|"
    r"and|for|let|set|then|so|thus|hence|und|für|sei|dann|et|soit|alors|sia|allora)\b"
)
PRIME = "['′’]"
NAME = rf"[^\W\d]\w*{PRIME}?|d[^\W\d]\w*\s?/\s?d[^\W\d]\w*"  # also u' and du/dx
INSIDE = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # an equals sign in a call parts nothing
DEFINITION = re.compile(rf"[\s$]*({NAME})\s*:?=((?:[^=<>≤≥≠()]|{INSIDE})+?)[\s$.]*")
LETTER = re.compile(r"[^\W\d]")
AT = re.compile(
    r"[^<>≤≥≠=]*?([\s,]+(?:at|for|when|where|with|if|bei|für|mit|wenn|en|pour|per)\s*"
    r"\$?\s*([^\W\d]\w*)\s*=\s*[-−]?[\d.,/]+[\s$.]*)"
)
MOST, LENGTH = 6, 2_000  # definitions; characters, written out

Span = tuple[int, int]


class Definition(NamedTuple):
    """A name and what stands for it."""

    name: str
    text: str


def definitions(draft: Draft, words: Words) -> None:
    """Write what an answer defines in place of the names; what defines nothing stays as it is."""
    if (place := _at_a_point(draft.text, words)) is not None:
        draft.note(f"`{draft.text[slice(*place)].strip(' ,$.')}` is left out")
        draft.cut(0, place[0])
    found = _found(draft.text, words)
    if found is None:
        return
    formula, defined = found
    draft.cut(*formula)
    for _ in defined:  # one may be used in another
        for name, text in defined:
            draft.swap(_mention(name), f"({text})")
            if len(draft.text) > LENGTH:
                return
    draft.note("; ".join(f"{name} is read as {text}" for name, text in defined))


def defines(text: str, words: Words) -> bool:
    """Whether an answer to a problem with such names defines others, or says at which point."""
    if "=" not in text:
        return False
    draft = Draft.of(text)
    characters(draft)
    return _found(draft.text, words) is not None or _at_a_point(draft.text, words) is not None


def _at_a_point(text: str, words: Words) -> Span | None:
    """The place of `at x = 2` behind what is no formula by cases."""
    match = AT.fullmatch(text) if "=" in text else None
    return match.span(1) if match and match[2] in words.names else None


def _found(text: str, words: Words) -> tuple[Span, list[Definition]] | None:
    """The place of the formula, and the definitions that it uses; None where there are none."""
    if "=" not in text:
        return None
    parts = {part: sign for part, sign in _parts(text) if text[slice(*part)].strip(" $")}
    defined, rest = list[Definition](), list[Span]()
    for part, sign in parts.items():
        match = DEFINITION.fullmatch(text, *part)
        others = [other for other in parts if other != part]
        used = match and (BELOW.fullmatch(sign) or _used(match[1], text, others))
        if match and used and _is_own(match[1], match[2], words):
            defined.append(Definition(match[1], match[2].strip()))
        else:
            rest.append(part)
    rest = _asked(text, rest, words)
    named = len({each.name for each in defined})
    if len(rest) != 1 or not 0 < named == len(defined) <= MOST:
        return None
    return (rest[0], defined) if text.count("=", *rest[0]) <= 1 else None


def _is_own(name: str, text: str, words: Words) -> bool:
    """Whether a name is the student's: also `dz` for a gradient, and e where that is a formula."""
    meaning = words.meaning(name)
    if meaning is not None and meaning.kind == "constant":
        return bool(LETTER.search(text)) and not _mention(name).search(text)
    return meaning is None or (name.startswith(GRADIENT) and {name, name[1:]} <= words.names)


def _asked(text: str, rest: list[Span], words: Words) -> list[Span]:
    """Of several parts the one called a derivative: `y = sin u; y' = 2x cos u`.

    The others must define what is not used.
    """
    left = {part: text[slice(*part)].partition("=")[0] for part in rest}
    called = [part for part in rest if names_a_derivative(left[part], label=True)]
    if len(rest) < 2 or len(called) != 1 or "=" not in text[slice(*called[0])]:
        return rest
    others = (DEFINITION.fullmatch(text, *part) for part in rest if part != called[0])
    return called if all(o is not None and _is_own(o[1], o[2], words) for o in others) else rest


def _used(name: str, text: str, parts: Collection[Span]) -> bool:
    return any(_mention(name).search(text, *part) for part in parts)


def _mention(name: str) -> re.Pattern[str]:
    """The name as a word of its own, also after a coefficient; `u'` is another."""
    spelled = re.sub(PRIME, "", re.escape(name)) + (PRIME if re.search(PRIME, name) else "")
    return re.compile(rf"(?<![^\W\d]){spelled}(?!\w|\s*{PRIME})")


def _parts(text: str) -> Iterator[tuple[Span, str]]:
    """The stretches between signs and words that part, outside of brackets; what parts before."""
    at, level, before = 0, 0, ""
    for match in PARTS.finditer(text):
        sign = match[0]
        level += (sign in "([{") - (sign in ")]}")
        if level == 0 and sign not in "()[]{}":
            yield (at, match.start()), before
            at, before = match.end(), sign
    yield (at, len(text)), before
