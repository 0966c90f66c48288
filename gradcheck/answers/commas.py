"""Commas, apostrophes and blanks inside numbers: `0,5`, `1'234.5`, `1,234.5`.

A comma between two digits is a decimal comma where nothing else can be meant: not between the
brackets of a list, not in a call that takes several arguments, and not where it might part
thousands (`1,234`). What could be either is refused with both spellings.
"""

import re
from collections.abc import Iterator

from gradcheck.answers.complaint import refused
from gradcheck.answers.draft import Draft
from gradcheck.answers.words import ARITY, Words

APART = re.compile(r"(?<![\w.,])(\d{1,3})((?:['’\u202f\u2009\u00a0]\d{3})+)(?![\d'’])")
DOTTED = re.compile(r"(?<=[A-Za-z\])])\.(?=[*/^])")  # x.^2 of MATLAB
MIXED = re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3})+,\d+(?![\w,])")
ENGLISH = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,})(?![\d,])")
DECIMAL = re.compile(r"(?<![\w.,])(\d+),(\d+)(?![\d,])", re.ASCII)
WORD = re.compile(r"([A-Za-z]\w*)\s*$", re.ASCII)
LIST, CALL, GROUP = "list", "call", "group"


def commas(draft: Draft, words: Words, single: bool) -> None:
    """Numbers with their decimal point and nothing between their digits.

    `single` says that one number is due, so that a bare `2,5` cannot be a list of two.
    """
    if "." in draft.text:
        draft.swap(DOTTED, "")
    if "'" in draft.text or not draft.text.isascii():
        draft.swap(APART, lambda m: m[1] + re.sub(r"\D", "", m[2]))
    if "," not in draft.text and ";" not in draft.text:
        return
    kinds = dict(_places(draft.text, words))
    mixed = MIXED.search(draft.text)
    if mixed:
        cure = f"write {mixed[0].replace('.', '').replace(',', '.')}"
        message = "points and a comma in one number"
        raise refused(draft.text, mixed.start(), message, cure, len(mixed[0]))
    _separated(draft, kinds)
    _without_thousands(draft, kinds)
    kinds = dict(_places(draft.text, words))
    bare = DECIMAL.fullmatch(draft.text.strip().lstrip("+-"))
    for match in DECIMAL.finditer(draft.text):
        at = match.start(2) - 1
        if kinds.get(at, GROUP) == GROUP and (single or not bare):
            _refuse_thousands(draft.text, match)
            draft.text = f"{draft.text[:at]}.{draft.text[at + 1 :]}"
            draft.note(f"{match[0]} is read as {match[1]}.{match[2]}")


def _separated(draft: Draft, kinds: dict[int, str]) -> None:
    """`[0,5; 1,5]`: a list parted by semicolons has decimal commas."""
    parted = [m.start() for m in re.finditer(";", draft.text) if kinds.get(m.start()) != GROUP]
    if not parted or any(kinds.get(at, GROUP) == GROUP for at in parted):
        return
    if re.search(r"\]\s*;|;\s*\[", draft.text):
        return
    text = DECIMAL.sub(r"\1.\2", draft.text)
    draft.text = "".join("," if at in parted else char for at, char in enumerate(text))
    draft.note("semicolons are read as separators, commas between digits as decimal commas")


def _without_thousands(draft: Draft, kinds: dict[int, str]) -> None:
    """`1,234.5` and `1,234,567` cannot be anything but thousands, outside of a list."""
    draft.swap(
        ENGLISH,
        lambda m: m[0].replace(",", "") if kinds.get(m.start() + 1, GROUP) == GROUP else None,
    )


def _refuse_thousands(text: str, match: re.Match[str]) -> None:
    """`1,234` might be 1.234 or 1234; `0,234` and `12,34` might not."""
    if len(match[2]) == 3 and len(match[1]) <= 3 and match[1][0] != "0":
        whole, parts = match[1], match[2]
        cure = f"decimals are written with a point: {whole}.{parts}, thousands as {whole}{parts}"
        raise refused(text, match.start(2) - 1, "a comma inside a number", cure)


def _places(text: str, words: Words) -> Iterator[tuple[int, str]]:
    """The kind of bracket around each place of a text."""
    stack: list[str] = []
    for at, char in enumerate(text):
        if char == "[":
            stack.append(LIST)
        elif char in "({":
            stack.append(_opened(text[:at], words, stack[-1] if stack else GROUP, char))
        elif char in ")]}" and stack:
            stack.pop()
        yield at, stack[-1] if stack else GROUP


def _opened(before: str, words: Words, outside: str, char: str) -> str:
    """What a bracket is: that of a call with several arguments, or one that groups."""
    named = WORD.search(before) if char == "(" else None
    if named:
        meaning = words.meaning(named[1]) or words.meaning(named[1].lower())
        function = meaning is not None and meaning.kind == "function"
        several = function and meaning is not None and ARITY.get(meaning.name) != 1
        return CALL if several else GROUP
    tuple_of_a_keyword = before.rstrip().endswith("=") and outside == CALL
    return LIST if tuple_of_a_keyword or before.rstrip().endswith(".") else GROUP
