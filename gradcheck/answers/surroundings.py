"""What stands around a formula: frames, markers of lists, remarks, names of the derivative, words.

Every token stays, or a note says that it was left out; only dollar signs, quotation marks and
punctuation go without one.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradcheck.answers.characters import clip, fault_at
from gradcheck.answers.tokens import Token, spell, token_span
from gradcheck.answers.words import KEPT, STOP, Words, segment

NEGATIONS = frozenset(
    ["not", "never", "nicht", "kein", "keine", "pas", "non", "no", "isn", "wrong"]
)
FRAMING = frozenset(["$", "$$", "#", "//", '"', "`", "'", "&", "<"])
LEADING = frozenset(["=", "≈", ":", "=>", "·", ";", ",", "..."])
TRAILING = frozenset([".", ",", ";", ":", "?", "=", "...", "≈", "=>"])
ITEM = re.compile(r"[a-hA-H]|[ivxIVX]{2,4}|\d{1,2}")
OPERATOR = re.compile(
    r"frac\{d\^?\d?\w*\}\{d\w+(?:\^\d|\^\{\d\})?\}.*|frac\{∂.*|d\^?\d?\w*(?:\([^()]*\))?/d\w+\^?\d?.*"
    r"|d[A-Za-z]|∂.*|∇.*|dot.*|D_?[a-zA-Z]?\(?\[?[a-zA-Z(]*\)?\]?|grad.*"
)
PRIME = re.compile(r"(?:\^?(?:'|\{'+\}))+")
NAMED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\^?\(\d\))?(?:\([\w,.]*\))?(?:\|_\S+)?")
LONG = 4  # letters: among the words of a remark there is one
UNFINISHED = frozenset(["if", "when", "else", "otherwise", "elif", "or", "oder", "ou"])
"""Half of a case, or one formula of two."""
GRADIENT = re.compile(
    r"(?<!\S)(?:frac \{ (?:d|∂ )\w+ \} \{ (?:d|∂ )(\w+) \} |(?:d|∂ )\w+ / (?:d|∂ )(\w+) "
    r"|(\w+) \. grad |grad_(\w+) )",
    re.ASCII,
)

Span = tuple[int, int]


@dataclass
class Surroundings:
    """The tokens of a text, and what is left out of them."""

    typed: str
    tokens: list[Token]
    words: Words
    notes: list[str] = field(default_factory=list)
    own: dict[str, ast.expr] = field(default_factory=dict)

    def leave_out(self, tokens: Sequence[Token]) -> None:
        """Note that a stretch was left out."""
        if not tokens:
            return
        if any(token.text.lower() in NEGATIONS for token in tokens):
            message = "is this the answer, or is it not?"
            raise fault_at(self.typed, tokens[0].start, message, "give the formula alone")
        text = self.typed[tokens[0].start : tokens[-1].end].strip()
        self.notes.append(f"`{clip(text)}` is left out")

    # -- frames ------------------------------------------------------------------------------------

    def unframe(self) -> None:
        """Dollar signs, quotation marks, remarks, markers and what a program says before it."""
        self.tokens = tokens = self.named_gradients(self.tokens)
        bold = bool(tokens) and tokens[0].text == "^"
        if bold or not FRAMING.isdisjoint([token.text for token in tokens]):
            self.tokens = tokens = self.without_frames(tokens)
        self.tokens = self.without_marker(_trim(tokens))

    def without_frames(self, tokens: list[Token]) -> list[Token]:
        """Tokens without the signs around a formula that are no mathematics."""
        dollars = [t for t in tokens if t.text in ("$", "$$") and t.kind == "op"]
        if len(dollars) % 2:
            message = "a dollar sign without its partner"
            raise fault_at(self.typed, dollars[0].start, message, "leave it out")
        tokens = [t for t in tokens if not (t.kind == "op" and t.text in ("$", "$$"))]
        tokens = self.without_remark(tokens)
        tokens = _without_quotes(tokens)
        if not any(t.text in ("⟦", "⦃") for t in tokens):
            tokens = [t for t in tokens if t.text != "&"]
        return _pair_angles(tokens)

    def without_remark(self, tokens: list[Token]) -> list[Token]:
        """`3x^2  # the power rule`, `// by the chain rule`, up to the end of the line."""
        for at, token in enumerate(tokens):
            if at and token.kind == "op" and token.text in ("#", "//"):
                lines = [k for k in range(at, len(tokens)) if tokens[k].kind == "line"]
                stop = lines[0] if lines else len(tokens)
                if token.text == "#" or self.says_nothing(tokens[at + 1 : stop]):
                    self.leave_out(tokens[at:stop])
                    return self.without_remark([*tokens[:at], *tokens[stop:]])
        return tokens

    def named_gradients(self, tokens: list[Token]) -> list[Token]:
        """`dL/dz`, `∂L/∂z`, `z.grad` as dz, where that is known."""
        names = self.words.names
        if not any(name[0] == "d" and name[1:] in names for name in names):
            return tokens
        text = spell(tokens)
        for found in reversed([*GRADIENT.finditer(text)]):
            name = "d" + next(filter(None, found.groups()))
            if {name, name[1:]} <= names:
                self.glue(*token_span(text, found), name)
        return [token for token in self.tokens if token.kind != "gone"]

    def without_marker(self, tokens: list[Token]) -> list[Token]:
        """`a)`, `2)`, `(b)`, `1.` before a formula."""
        texts = [token.text for token in tokens[:4]]
        width = 0
        if len(tokens) > 2 and ITEM.fullmatch(texts[0]) and texts[1] == ")" and tokens[2].spaced:
            width = 2
        elif len(tokens) > 3 and texts[0] == "(" and texts[2] == ")" and tokens[3].spaced:
            starts = tokens[3].kind in ("word", "number") or texts[3] in ("\\", "frac", "[", "(")
            letter = ITEM.fullmatch(texts[1]) and not texts[1].isdigit()
            width = 3 if starts and letter and self.words.meaning(texts[1]) is None else 0
        elif len(tokens) > 1 and re.fullmatch(r"\d{1,2}\.", texts[0]):
            width = int(tokens[1].kind == "number")
        self.leave_out(tokens[:width])
        return tokens[width:]

    # -- words that say nothing --------------------------------------------------------------------

    def is_strange(self, token: Token) -> bool:
        """Whether a token is a word that means nothing here, whole or in pieces."""
        if token.kind != "word" or token.text in KEPT or token.text in self.own:
            return False
        if token.text.lower() in UNFINISHED:
            return False
        if token.text.lower() in STOP:
            return self.words.meaning(token.text) is None
        if not token.text.isalpha() or self.words.meant(token.text):
            return False
        return not segment(self.words, token.text, opens=False)

    def says_nothing(self, tokens: Sequence[Token]) -> bool:
        """Whether there are words only, and enough of them that are no names of this problem."""
        if not all(t.kind == "word" or t.text in ("'", "-", ".", "!") for t in tokens):
            return False
        words = [t for t in tokens if t.kind == "word"]
        strange = [t for t in words if self.is_strange(t)]
        named = [t for t in words if t.text in self.words.names and t not in strange]
        said = [t for t in strange if t.text.lower() in STOP or len(t.text) >= LONG]
        return bool(said) and (not named or len(strange) > 1)

    def trim_words(self, start: int, stop: int) -> Span:
        """A stretch without the words, asides and points `at x = 2` at its ends."""
        before = -1, -1
        while (start, stop) != before:
            before = start, stop
            start, stop = self.without_tail(self.without_head(start, stop), stop)
        return start, stop

    def without_head(self, start: int, stop: int) -> int:
        """Where a stretch begins behind the words before it."""
        tokens, first = self.tokens, start
        while first < stop and (
            tokens[first].kind == "word"
            or tokens[first].text == "'"
            or (tokens[first].text == "-" and not tokens[first].spaced)
        ):
            first += 1
        strange = [k for k in range(start, first) if self.is_strange(tokens[k])]
        begins = strange and (strange[0] == start or (len(strange) > 1 and strange[0] == start + 1))
        if not begins or not self.is_said(tokens[start:first]):
            return start
        last = strange[-1] + 1
        while last < stop and tokens[last].text in (".", "'"):
            last += 1
        if last == stop:
            return start
        self.leave_out(tokens[start:last])
        return last

    def is_said(self, run: Sequence[Token]) -> bool:
        """Whether words are those of a sentence, and not a name misspelt."""
        strange = [t for t in run if self.is_strange(t)]
        return any(t.text.lower() in STOP for t in strange) or len(strange) > 1

    def without_tail(self, start: int, stop: int) -> Span:
        """A stretch without the words behind it, in brackets or not."""
        tokens = self.tokens
        if tokens[stop - 1].text in (")", "]") and stop - start > 2:
            opening = stop - 2
            while opening > start and tokens[opening].text not in ("(", "["):
                opening -= 1
            inside = tokens[opening + 1 : stop - 1]
            spaced = tokens[opening].spaced and opening > start
            if spaced and inside and self.says_nothing(inside):
                self.leave_out(tokens[opening:stop])
                return start, opening
        last = stop
        while last > start and (tokens[last - 1].kind == "word" or tokens[last - 1].text in "'-.!"):
            last -= 1
        strange = [k for k in range(max(last, start + 1), stop) if self.is_strange(tokens[k])]
        if not strange:
            return start, stop
        first = strange[0]
        ends = tokens[first - 1].kind in ("number", "word", "transpose") or (
            tokens[first - 1].text in (")", "]", "}", "|", "|)")
        )
        tail = tokens[first:stop]
        said = self.is_said(tail) and any(len(t.text) > 1 for t in tail)
        if ends and (said or tail[0].text in ("dx", "dy", "dt")):
            self.leave_out(tail)
            return start, first
        return start, stop

    # -- names of the derivative -------------------------------------------------------------------

    def names_a_derivative(self, tokens: Sequence[Token], label: bool = False) -> bool:
        """Whether tokens name a derivative: `dy/dx`, `f'(x)`; before an equals sign any name does.

        With `label` a colon follows, and a name alone could be what is divided.
        """
        text = "".join(token.text for token in tokens)
        unprimed = PRIME.sub("", text)
        if OPERATOR.fullmatch(text):
            return True
        return bool(NAMED.fullmatch(unprimed)) and (text != unprimed or not label)

    def glue(self, start: int, stop: int, name: str) -> None:
        """Some tokens as one, that of a name; as many tokens stay."""
        first, last = self.tokens[start], self.tokens[stop - 1]
        gone = [Token("gone", "", last.end, last.end)] * (stop - start - 1)
        whole = Token("word", name, first.start, last.end, first.spaced)
        self.tokens[start:stop] = [whole, *gone]


def _without_quotes(tokens: list[Token]) -> list[Token]:
    """A text without the marks of quotation, or Markdown's stars, at both ends."""
    while len(tokens) > 1 and tokens[0].text in ('"', "`", "'", "^") and tokens[0].kind == "op":
        last = max((k for k, t in enumerate(tokens) if t.text == tokens[0].text), default=0)
        if last == 0 or any(t.text not in TRAILING for t in tokens[last + 1 :]):
            break
        tokens = [*tokens[1:last], *tokens[last + 1 :]]
    return tokens


def _pair_angles(tokens: list[Token]) -> list[Token]:
    """`<1, 2>`, a list in angle brackets."""
    if not tokens or tokens[0].text != "<" or tokens[-1].text != ">":
        return tokens
    if sum(t.text in ("<", ">", "<=", ">=") for t in tokens) != 2:
        return tokens
    return [tokens[0]._replace(text="⟨"), *tokens[1:-1], tokens[-1]._replace(text="⟩")]


def _trim(tokens: list[Token]) -> list[Token]:
    """Tokens without the punctuation, equals signs and line breaks at both ends."""
    while tokens and _is_sign(tokens[0], LEADING):
        tokens = tokens[1:]
    while tokens and _is_sign(tokens[-1], TRAILING):
        tokens = tokens[:-1]
    if len(tokens) > 2 and tokens[-1].kind == "number" and tokens[-1].text.endswith("."):
        tokens[-1] = tokens[-1]._replace(text=tokens[-1].text[:-1], end=tokens[-1].end - 1)
    return tokens


def _is_sign(token: Token, among: frozenset[str]) -> bool:
    return token.kind == "line" or (token.kind == "op" and token.text in among)
