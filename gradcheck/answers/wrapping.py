r"""What stands around a formula: dollar signs, `\boxed{}`, quotation marks, full stops, left sides.

A left side is a name for the derivative: `f'(x) =`, `dy/dx =`, `\frac{d}{dx} f(x) =`, `W.grad:`,
`Answer:`. An equals sign between two formulas is no left side and stays.
"""

import re
import unicodedata
from collections.abc import Iterator

from gradcheck.answers.complaint import clipped
from gradcheck.answers.draft import Draft
from gradcheck.answers.respelling import falls_apart
from gradcheck.answers.words import Words

PAIRS = (
    ("$$", "$$"),
    ("$", "$"),
    (r"\(", r"\)"),
    (r"\[", r"\]"),
    ("```", "```"),
    ("`", "`"),
    ('"', '"'),
    ("“", "”"),
    ("„", "“"),
    ("„", "”"),
    ("«", "»"),
    ("”", "”"),
    ("‘", "’"),
    ("'", "'"),
)
LEFT = tuple(left for left, _ in PAIRS)
ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\{(?:equation|align|aligned|gather|displaymath|math|split)\*?\}"
)
REMARK = re.compile(r"(?<=\S)\s+(?:#|//|%)(?=\s).*")  # as programs have them
ALIGNED = re.compile(r"&(?==)|(?<==)&")
TRAILING = re.compile(r"(?:\\[,;:! ]|\\\\|\\q?quad|[\s;,:?…]|=)+$")
LEADING = re.compile(r"^(?:\\[,;:! ]|\\q?quad\b|[\s;•◦▪≈]|=>|->|[:=])+")
STOP = re.compile(r"\.+$")
NUMBER = re.compile(r"\s*[-+]?\d+\.")
ITEM = re.compile(r"^(?:[a-hA-H]|[ivxIVX]{2,4}|\d{1,2})\)\s+(?=\S)|^\d{1,2}\.\s+(?=\d)")
BRACKETED_ITEM = re.compile(r"^\(([a-h]|[ivx]{1,4})\)\s+(?=[^\s*/^+-])")
ARTICLE = "the"  # or th(e), to those who write th for tanh
LONG = 4  # letters: among the words of a remark there is one
APOSTROPHE = re.compile("['’]")
ABOUT = re.compile(
    r"^(?:about|around|roughly|approx(?:imately|\.)?|circa|ca\.|etwa|environ)\s+(?=[-+\d.])"
)
TIMES_TEN = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]))")
ASIDE = re.compile(  # words behind a formula: `, by the chain rule`, `(chain rule)`
    r"(?<=\S)(?:\s*[,;]\s*(?P<after>[^\W\d_]+(?:[\s'’-]+[^\W\d_]+)+)"
    r"|\s+[(\[](?P<inside>[^\W\d_]+(?:[\s'’-]+[^\W\d_]+)*)[)\]])\s*\.?\s*$"
)

SPACING = re.compile(r"\\(?:left|right|[,;:! ]|displaystyle|mathrm|operatorname|text)|[\s{}]")
PRIME = re.compile(r"\^?(?:['′’´]|\\prime)+")
DERIVATIVE = re.compile(
    r"\\[dt]?fracd\^?\d?\w*d\w+\^?\d?.*|d\^?\d?[a-zA-Z]*(?:\([^()]*\))?/d[a-zA-Z]\w*\^?\d?.*|d[a-zA-Z]|"
    r"(?:∂|\\partial)\S*/(?:∂|\\partial)\S*|\\[dt]?frac\\partial.*|(?:∇|\\nabla)\S*|"
    r"\\dot\S+|D_?[a-zA-Z]?\(?\[?[a-zA-Z(]*\)?\]?|grad\S*|(?:∂|\\partial)_\w+\S*"
)
NAMED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\^?\(\d\))?(?:\([\w,.]*\))?(?:\|_\S+)?")
LABEL = re.compile(r"(?:[^\W\d_][^\W\d_'’-]*\s+)*[^\W\d_]{2,}\.?(?:\s*\(?[a-h\d]\)?)?")
SENTENCE = re.compile(
    r"(?:[^\W\d_]+\s+){0,8}(?:(?<=\s)(?:is|are|gives|ist|lautet|est|vaut|es|è|é)"
    r"|[Ii]t[’']?s|[Ii] (?:get|got|think))\b:?\s*(?=\S)"
)
SEPARATORS = re.compile(r":=|=>|->|<=|>=|==|!=|=|:|≈|[()\[\]{}]")


def unwrap(draft: Draft, words: Words) -> None:
    """Leave the formula alone: what stands around it goes, layer by layer."""
    if "\\" in draft.text:
        draft.swap(ENVIRONMENT, "")
    if "&" in draft.text:
        draft.swap(ALIGNED, "")
    _remark(draft, words)
    _aside(draft, words)
    if "10" in draft.text and words.meaning("x") is None:
        draft.swap(TIMES_TEN, "*")
    before = None
    while before != draft.text:
        before = draft.text
        _trimmed(draft)
        _unquoted(draft)
        _item(draft, words)
        _left_side(draft, words)
    _divided(draft)


def _remark(draft: Draft, words: Words) -> None:
    """Leave out a remark as programs have them, of words that mean nothing here."""
    found = REMARK.search(draft.text)
    if found is None:
        return
    plain = not re.search(r"\d", found[0]) and _all_say_nothing(found[0], words)
    if plain or found[0].lstrip().startswith("#"):
        draft.note(f"`{clipped(found[0].strip())}` is left out")
        draft.cut(0, found.start())


def _all_say_nothing(text: str, words: Words) -> bool:
    return all(_says_nothing(word, words) for word in re.findall(r"[^\W\d_]+", text))


def _aside(draft: Draft, words: Words) -> None:
    """Leave out what is said behind the formula in words that mean nothing here."""
    ends_in_a_word = draft.text.rstrip(" .)]")[-2:].isalpha()
    found = ASIDE.search(draft.text) if ends_in_a_word else None
    if found is None:
        return
    said = re.findall(r"[^\W\d_]+", found["after"] or found["inside"])
    if max(map(len, said)) >= LONG and all(_says_nothing(word, words) for word in said):
        draft.note(f"`{clipped(found[0].strip(' ,;'))}` is left out")
        draft.cut(0, found.start())


def _says_nothing(word: str, words: Words) -> bool:
    """Whether a word is no name, and no names run together."""
    if word.lower() == ARTICLE:
        return True
    return len(word) > 1 and words.meaning(word) is None and not falls_apart(words, word)


def _trimmed(draft: Draft) -> None:
    """Blanks, check marks and punctuation at both ends."""
    text = draft.text
    stop = len(TRAILING.sub("", text))
    while stop and unicodedata.category(text[stop - 1]) in ("So", "Mn") and text[stop - 1] != "°":
        stop = len(TRAILING.sub("", text[: stop - 1]))
    last = None if NUMBER.fullmatch(text, 0, stop) else STOP.search(text[:stop])
    stop = last.start() if last else stop
    start = LEADING.match(text, 0, stop)
    first = start.end() if start else 0
    item = ITEM.match(text[first:stop]) or ABOUT.match(text[first:stop])
    if item:
        draft.note(f"`{item[0].strip()}` is left out")
    draft.cut(first + (item.end() if item else 0), stop)


def _item(draft: Draft, words: Words) -> None:
    """`(b)` before a formula, where b means nothing here."""
    found = BRACKETED_ITEM.match(draft.text) if draft.text.startswith("(") else None
    if found and words.meaning(found[1]) is None:
        draft.note(f"`{found[0].strip()}` is left out")
        draft.cut(found.end(), len(draft.text))


def _unquoted(draft: Draft) -> None:
    """The text between two marks of a pair, if it stands between them as a whole."""
    if not draft.text.startswith(LEFT):
        return
    for left, right in PAIRS:
        text = draft.text
        inner = text[len(left) : len(text) - len(right)]
        if len(text) < len(left + right) or left in inner or right in inner:
            continue
        if text.startswith(left) and text.endswith(right):
            draft.cut(len(left), len(text) - len(right))
            return


def _divided(draft: Draft) -> None:
    """A colon is a sign of division, but between square brackets."""
    if ":" not in draft.text:
        return
    level, chars = 0, list(draft.text)
    for at, char in enumerate(chars):
        level += (char == "[") - (char == "]")
        if char == ":" and level <= 0:
            chars[at] = "/"
            draft.note("a colon is read as a sign of division")
    draft.text = "".join(chars)


def _left_side(draft: Draft, words: Words) -> None:
    """Cut off a left side; a name on the right of the formula goes too."""
    said = SENTENCE.match(draft.text)
    if said and _is_label(APOSTROPHE.sub("", said[0]), words):
        draft.note(f"`{clipped(said[0].strip())}` is left out")
        draft.cut(said.end(), len(draft.text))
    for start, stop, sign in _separators(draft.text):
        left = draft.text[:start]
        if (
            _is_label(left, words)
            or _is_rule(left, words)
            or names_a_derivative(left, label=sign == ":")
        ):
            draft.note(f"`{clipped(draft.text[:stop].strip())}` is left out")
            draft.cut(stop, len(draft.text))
        elif sign == "=" and DERIVATIVE.fullmatch(_bare(draft.text[stop:])):
            draft.cut(0, start)
        return


def names_a_derivative(left: str, label: bool = False) -> bool:
    """Whether text names a derivative: `dy/dx`, `f'(x)`; left of an equals sign any name does.

    With `label` a colon follows, and a name alone could be what is divided.
    """
    bare = _bare(left)
    unprimed = PRIME.sub("", bare)
    primed = bare != unprimed
    if DERIVATIVE.fullmatch(bare) or (primed and unprimed.startswith("(")):
        return True
    return bool(NAMED.fullmatch(unprimed)) and (primed or not label)


def _is_label(left: str, words: Words) -> bool:
    """Whether text is made of unknown words only: `Answer`, `The derivative is`."""
    known = any(words.meaning(word) is not None for word in left.split())
    return LABEL.fullmatch(left.strip()) is not None and not known


def _is_rule(left: str, words: Words) -> bool:
    """Whether text is a rule in names that are not the problem's: `u'v + uv'`."""
    known = any(words.meaning(letter) for letter in re.findall(r"[^\W\d_]", left))
    return PRIME.search(left) is not None and not known


def _bare(left: str) -> str:
    return SPACING.sub("", left).strip()


def _separators(text: str) -> Iterator[tuple[int, int, str]]:
    """The first sign outside of brackets that parts a left side from a right one."""
    level = 0
    for match in SEPARATORS.finditer(text):
        sign = match[0]
        level += (sign in "([{") - (sign in ")]}")
        if level <= 0 and sign in (":=", "=>", "->", "=", ":", "≈", "=="):
            yield match.start(), match.end(), "=" if sign != ":" else ":"
            return
