"""What a typed text is made of: frames, words, lists, cases, definitions, steps, the answer.

Every token stays, or a note says that it was left out; only dollar signs, quotation marks and
punctuation go without one.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from gradcheck.answers.cases import COMPARED, by_cases, compares, looks_like_cases
from gradcheck.answers.characters import DERIVATIVE, clip, fault_at
from gradcheck.answers.grammar import Parser
from gradcheck.answers.operands import NEVER, Reading
from gradcheck.answers.tokens import (
    LINKS,
    TRAILING,
    UNEQUAL,
    Commas,
    Token,
    is_of_blanks,
    levels,
    spell,
    split,
    strip,
    token_span,
    without_columns,
    without_quotes,
)
from gradcheck.answers.words import ARITY, KEPT, STOP, segment
from gradcheck.errors import TextError

AND = frozenset(["and", "und", "et"])
SPOKEN = {"plus": "+", "minus": "-", "times": "*"}
BELOW = frozenset(["where", "with", "wobei", "mit", "avec", "où", "con", "donde"])
PARTING = BELOW | frozenset(
    ["let", "set", "then", "sei", "dann", "soit", "alors", "sia", "allora", "and", "und", "et"]
)
AT_POINT = frozenset(
    ["at", "for", "when", "where", "with", "if", "bei", "für", "mit", "wenn", "en", "pour", "per"]
)
IS = frozenset(["is", "are", "equals", "gives", "ist", "lautet", "est", "vaut", "es", "è", "é"])
FRAMING = frozenset(["$", "$$", "#", "//", '"', "`", "'", "&", "<", "^"])
OUTLINED = LINKS | IS | COMPARED | PARTING | AT_POINT | {":", ",", ";", "\n", "\\\\", "\\newline"}
"""Where none of these is, a text is one formula and words."""
NEGATIONS = frozenset(
    ["not", "never", "nicht", "kein", "keine", "pas", "non", "no", "isn", "wrong"]
)
LEADING = frozenset(["=", "≈", ":", "=>", "·", ";", ",", "..."])
ITEM = re.compile(r"[a-hA-H]|[ivxIVX]{2,4}|\d{1,2}")
OPERATOR = re.compile(
    r"frac\{d\^?\d?\w*\}\{d\w+(?:\^\d|\^\{\d\})?\}.*|frac\{∂.*|d\^?\d?\w*(?:\([^()]*\))?/d\w+\^?\d?.*"
    r"|d[A-Za-z]|∂.*|∇.*|dot.*|D_?[a-zA-Z]?\(?\[?[a-zA-Z(]*\)?\]?|grad.*"
)
PRIME = re.compile(r"(?:\^?(?:'|\{'+\}))+")
NAMED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\^?\(\d\))?(?:\([\w,.]*\))?(?:\|_\S+)?")
GRADIENT = re.compile(
    r"(?<!\S)(?:frac \{ (?:d|∂ )\w+ \} \{ (?:d|∂ )(\w+) \} |(?:d|∂ )\w+ / (?:d|∂ )(\w+) "
    r"|(\w+) \. grad |grad_(\w+) )",
    re.ASCII,
)
POINT = re.compile(r"(\w+) = (?:(?:[-/,.$]|[\d.]+(?:[eE][-+]?\d+)?) )+")
LONG = 4  # letters: among the words of a remark there is one
UNFINISHED = frozenset(["if", "when", "else", "otherwise", "elif", "or", "oder", "ou"])
"""Half of a case, or one formula of two."""
MOST = 6  # definitions
LABEL = 32  # tokens of a name or a definition before a colon
ENDS = frozenset([")", "]", "}", "|", "|)"])

Span = tuple[int, int]
Clause = tuple[str, int, int]


class WorkingStep(NamedTuple):
    """One step of working: its formula, or why it is none, its line, and what names it.

    `chained` says that an equals sign follows it.
    """

    tree: ast.expr | None
    start: int
    end: int
    line: int
    label: str = ""
    fault: TextError | None = None
    chained: bool = False


class Outline:
    """What the tokens of a text are about: definitions, cases, steps."""

    def __init__(self, reading: Reading, tokens: list[Token]) -> None:
        self.reading, self.typed, self.words = reading, reading.typed, reading.words
        self.tokens = tokens
        self.steps: list[WorkingStep] = []
        reading.choices = partial(self.choices, environment=True)
        self.read: list[Token] = []
        self.glued = False

    # -- the formula -------------------------------------------------------------------------------

    def formula(self) -> ast.expr:
        """The formula that is the answer; `steps` are those that lead to it."""
        self.tokens = self.unframe(self.named_gradients(self.tokens))
        if not self.tokens:
            end = len(self.typed)
            raise fault_at(self.typed, end, "nothing was typed", "give a formula or a number")
        body = self.answer()
        if self.reading.untaken is not None:
            message = "a derivative that is not yet taken"
            raise fault_at(self.typed, self.reading.untaken, message, DERIVATIVE)
        return body

    def answer(self) -> ast.expr:
        """The tree of a list, of cases, or of the last step."""
        if not self.reading.single and (listed := self.bare_list()):
            return self.parse(self.join_numbers(listed))
        self.tokens = self.join_numbers(self.tokens)
        said = set(" ".join([token.text for token in self.tokens]).lower().split(" "))
        if not said.isdisjoint(SPOKEN):
            self.tokens = [self.as_sign(token) for token in self.tokens]
        if said.isdisjoint(OUTLINED):
            start, stop = self.trim_words(0, len(self.tokens))
            return self.read_steps([("", (start, stop), self.line(start), False)])
        if not said.isdisjoint(COMPARED) and looks_like_cases(self.tokens, self.words):
            found = self.choices(self.tokens)
            if found is not None:
                return found
            if sign := compares(self.tokens):
                cure = "cases are written 1 if x > 0 else 0"
                raise fault_at(self.typed, sign.start, "these cases are not read", cure)
        parted = split(self.tokens, self.parts)
        clauses = self.without_words([c for c in parted if c[1] < c[2]])
        return self.last_of(self.without_definitions(clauses))

    def join_numbers(self, tokens: list[Token]) -> list[Token]:
        """The tokens with each number that has commas as one."""
        if not any(token.text == "," for token in tokens):
            return tokens
        shapes = self.words.shapes.values()
        commas = Commas(self.typed, self.reading.single, self.takes_several, shapes, self.reading.notes)
        return commas.join(tokens)

    def takes_several(self, token: Token) -> bool:
        """Whether a token ends with a function of several arguments."""
        word = token.text if token.kind == "word" else ""
        meaning = self.words.meant(word) if word else None
        if word and meaning is None and (ways := segment(self.words, word, opens=True)):
            meaning = self.words.meaning(ways[0][-1])
        return meaning is not None and meaning.kind == "function" and ARITY.get(meaning.name) != 1

    def as_sign(self, token: Token) -> Token:
        """`6 x plus 5`: the sign that a word stands for."""
        sign = SPOKEN.get(token.text.lower()) if token.kind == "word" else None
        if sign is None or self.words.meaning(token.text):
            return token
        return token._replace(kind="op", text=sign, spaced=True)

    def parse(
        self, tokens: Sequence[Token], *, condition: bool = False, single: bool = False
    ) -> ast.expr:
        """The tree of a stretch of tokens."""
        tokens = self.present(tokens)
        if condition:
            joins = [t.text.lower() in AND for t in tokens]
            tokens = [
                t._replace(kind="op", text="and") if j else t
                for t, j in zip(tokens, joins, strict=True)
            ]
        parser = Parser(self.reading, tokens, single=single)
        parser.equates = condition
        tree = parser.whole()
        self.read = parser.tokens[:-1]
        return tree

    def try_to_parse(
        self, tokens: Sequence[Token]
    ) -> tuple[ast.expr | None, TextError | None, Reading]:
        """The tree of a step or why it is none, and a reading whose notes are forgotten."""
        outside = self.reading
        self.reading = aside = replace(outside, notes=[], doubts=[], powers=[], untaken=None)
        try:
            return self.parse(tokens), None, aside
        except TextError as fault:
            return None, fault, aside
        finally:
            self.reading = outside

    def choices(self, tokens: Sequence[Token], *, environment: bool = False) -> ast.expr | None:
        return by_cases(
            tokens,
            self.words,
            self.case_value,
            lambda test: self.parse(test, condition=True),
            environment=environment,
        )

    def case_value(self, tokens: Sequence[Token]) -> ast.expr:
        """The value of one case, without the name that may stand before it."""
        *names, (start, stop) = self.links(tokens)
        for name in names:
            self.leave_out(tokens[slice(*name)])
        return self.parse(tokens[start:stop], single=True)

    # -- lists -------------------------------------------------------------------------------------

    def bare_list(self) -> list[Token] | None:
        """`1, -2.5, 3`, `1 2` above `3 4`: numbers with nothing around them, in brackets."""
        if self.tokens[-1].kind != "number":
            return None
        *names, (start, _) = self.links(self.tokens)
        body = self.tokens[start:]
        signs = ("-", "+", ",", ";")
        if not body or not all(t.kind in ("number", "line") or t.text in signs for t in body):
            return None
        blanks = self.words.arrays and is_of_blanks(body)
        commas = [k for k, t in enumerate(body[:-1]) if t.text == ","]
        apart = len(commas) > 1 or any(body[k + 1].spaced for k in commas)
        whole = self.typed[body[0].start : body[-1].end]
        if not (apart or blanks or ";" in whole) or re.fullmatch(r"\d{1,3}(?:,\d{3})+", whole):
            return None
        if "\n" in whole and not blanks:
            return None
        if not all(self.is_label(self.tokens[slice(*name)]) for name in names):
            return None
        if start:
            self.leave_out(self.tokens[: start - 1])
        first, last = body[0], body[-1]
        opening = Token("op", "[", first.start, first.start, True)
        closing = Token("op", "]", last.end, last.end)
        return [opening, first._replace(spaced=False), *body[1:], closing]

    # -- what is left out --------------------------------------------------------------------------

    def leave_out(self, tokens: Sequence[Token]) -> None:
        """Note that a stretch was left out."""
        if not tokens:
            return
        if any(token.text.lower() in NEGATIONS for token in tokens):
            message = "is this the answer, or is it not?"
            raise fault_at(self.typed, tokens[0].start, message, "give the formula alone")
        text = self.typed[tokens[0].start : tokens[-1].end].strip()
        self.reading.notes.append(f"`{clip(text)}` is left out")

    def unframe(self, tokens: list[Token]) -> list[Token]:
        """Tokens without dollar signs, quotation marks, remarks, markers and punctuation."""
        if not FRAMING.isdisjoint([token.text for token in tokens]):
            dollars = [t for t in tokens if t.text in ("$", "$$") and t.kind == "op"]
            if len(dollars) % 2:
                raise fault_at(self.typed, dollars[0].start, *NEVER["$"])
            tokens = [t for t in tokens if not (t.kind == "op" and t.text in ("$", "$$"))]
            if any(t.text == "&" for t in tokens):
                tokens = without_columns(tokens)
            tokens = without_quotes(self.without_remark(tokens))
            tokens = self.pair_angles(tokens)
        tokens = strip(tokens, LEADING, TRAILING)
        if len(tokens) > 2 and tokens[-1].kind == "number" and tokens[-1].text.endswith("."):
            tokens[-1] = tokens[-1]._replace(text=tokens[-1].text[:-1], end=tokens[-1].end - 1)
        marker = self.marker(tokens)
        self.leave_out(tokens[:marker])
        return tokens[marker:]

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

    def pair_angles(self, tokens: list[Token]) -> list[Token]:
        """`<1, 2>` is a list, `2<a, x> a` has the product of two vectors."""
        signs = [k for k, t in enumerate(tokens) if t.text in ("<", ">", "<=", ">=")]
        found = list(tokens)
        for a, b in zip(signs[::2], signs[1::2], strict=False):
            commas = sum(t.text == "," for t in tokens[a:b])
            ends = [self.words.shapes.get(tokens[k].text) for k in (a + 1, b - 1)]
            whole = (a, b) == (0, len(tokens) - 1) and len(signs) == 2
            if (tokens[a].text, tokens[b].text) != ("<", ">") or not (
                whole or (commas == 1 and all(ends))
            ):
                return tokens
            found[a], found[b] = tokens[a]._replace(text="⟨"), tokens[b]._replace(text="⟩")
        return found if len(signs) % 2 == 0 else tokens

    def named_gradients(self, tokens: list[Token]) -> list[Token]:
        """`dL/dz`, `∂L/∂z`, `z.grad` as dz, where that is known."""
        names = self.words.names
        if not self.words.gradients:
            return tokens
        text = spell(tokens)
        for found in reversed([*GRADIENT.finditer(text)]):
            name = "d" + next(filter(None, found.groups()))
            if {name, name[1:]} <= names:
                self.glue(*token_span(text, found), name)
        return [token for token in self.tokens if token.kind != "gone"]

    def marker(self, tokens: list[Token]) -> int:
        """How many tokens `a)`, `2)`, `(b)`, `1.` before a formula are."""
        if not tokens or not ITEM.match(tokens[0].text.lstrip("(") or "1"):
            return 0
        texts = [token.text for token in tokens[:4]]
        if len(tokens) > 2 and ITEM.fullmatch(texts[0]) and texts[1] == ")" and tokens[2].spaced:
            return 2
        if len(tokens) > 3 and texts[0] == "(" and texts[2] == ")" and tokens[3].spaced:
            starts = tokens[3].kind in ("word", "number") or texts[3] in ("\\", "frac", "[", "(")
            letter = ITEM.fullmatch(texts[1]) and not texts[1].isdigit()
            return 3 if starts and letter and self.words.meaning(texts[1]) is None else 0
        numbered = len(tokens) > 1 and re.fullmatch(r"\d{1,2}\.", texts[0])
        return int(bool(numbered) and tokens[1].kind == "number")

    # -- words that say nothing --------------------------------------------------------------------

    def is_strange(self, token: Token) -> bool:
        """Whether a token is a word that means nothing here, whole or in pieces."""
        if token.kind != "word" or token.text in KEPT or token.text in self.reading.own:
            return False
        lower = token.text.lower()
        if lower in UNFINISHED or lower in STOP:
            return lower not in UNFINISHED and self.words.meaning(token.text) is None
        if not token.text.isalpha() or self.words.meant(token.text):
            return False
        return not segment(self.words, token.text, opens=False)

    def is_said(self, run: Sequence[Token]) -> bool:
        """Whether words are those of a sentence, and not a name misspelt."""
        strange = [t for t in run if self.is_strange(t)]
        return any(t.text.lower() in STOP for t in strange) or len(strange) > 1

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
            start += self.words_before(self.tokens[start:stop])
            stop -= self.words_behind(self.tokens[start:stop])
        return start, stop

    def words_before(self, tokens: Sequence[Token]) -> int:
        """How many tokens are words that say nothing before a formula."""
        first = 0
        if tokens[0].kind == "number":
            return 0
        while first < len(tokens) and (
            tokens[first].kind == "word"
            or tokens[first].text == "'"
            or (tokens[first].text == "-" and not tokens[first].spaced)
        ):
            first += 1
        strange = [k for k in range(first) if self.is_strange(tokens[k])]
        begins = strange and (strange[0] == 0 or (len(strange) > 1 and strange[0] == 1))
        if not begins or not self.is_said(tokens[:first]):
            return 0
        last = strange[-1] + 1
        while last < len(tokens) and tokens[last].text in (".", "'"):
            last += 1
        if last == len(tokens):
            return 0
        self.leave_out(tokens[:last])
        return last

    def words_behind(self, tokens: Sequence[Token]) -> int:
        """How many tokens are words that say nothing behind a formula, in brackets or not."""
        if tokens[-1].text in (")", "]") and len(tokens) > 2:
            opening = len(tokens) - 2
            while opening > 0 and tokens[opening].text not in ("(", "["):
                opening -= 1
            inside = tokens[opening + 1 : -1]
            if opening and tokens[opening].spaced and inside and self.says_nothing(inside):
                self.leave_out(tokens[opening:])
                return len(tokens) - opening
        last = len(tokens)
        while last > 0 and (tokens[last - 1].kind == "word" or tokens[last - 1].text in "'-.!"):
            last -= 1
        strange = (k for k in range(max(last, 1), len(tokens)) if self.is_strange(tokens[k]))
        first = next(strange, 0)
        if not first:
            return 0
        before, tail = tokens[first - 1], tokens[first:]
        ends = before.kind in ("number", "word", "transpose") or before.text in ENDS
        said = self.is_said(tail) and any(len(t.text) > 1 for t in tail)
        if not ends or not (said or tail[0].text in ("dx", "dy", "dt")):
            return 0
        self.leave_out(tail)
        return len(tail)

    # -- names of the derivative -------------------------------------------------------------------

    def names_a_derivative(self, tokens: Sequence[Token], label: bool = False) -> bool:
        """Whether tokens name a derivative: `dy/dx`, `f'(x)`; before an equals sign any name does.

        With `label` a colon follows, and a name alone could be what is divided.
        """
        text = "".join([token.text for token in tokens])
        if OPERATOR.fullmatch(text):
            return True
        unprimed = PRIME.sub("", text)
        return bool(NAMED.fullmatch(unprimed)) and (text != unprimed or not label)

    def is_label(self, tokens: Sequence[Token]) -> bool:
        """Whether what stands before an equals sign is a name, words, or a rule in other names."""
        if not tokens or self.names_a_derivative(tokens) or self.says_nothing(tokens):
            return True
        if all(t.kind == "word" and self.is_strange(t) for t in tokens):
            return True
        letters = "".join(t.text for t in tokens if t.kind == "word")
        primed = not any(t.kind == "number" for t in tokens) and any(t.text == "'" for t in tokens)
        return primed and not any(self.words.meaning(letter) for letter in letters)

    def labels(self, tokens: Sequence[Token]) -> bool:
        """Whether a colon after these makes them a name: `Answer:`, `dy/dx:`, `x.grad:`."""
        if self.names_a_derivative(tokens, label=True) or tokens[-1].text == "grad":
            return True
        return self.says_nothing(tokens) or all(
            t.kind == "word" and self.words.meaning(t.text) is None and len(t.text) > 1
            for t in tokens
        )

    def present(self, tokens: Sequence[Token]) -> list[Token]:
        """Those that are still there where others were glued."""
        return [t for t in tokens if t.kind != "gone"] if self.glued else [*tokens]

    def glue(self, start: int, stop: int, name: str) -> None:
        """Some tokens as one, that of a name; as many tokens stay."""
        first, last = self.tokens[start], self.tokens[stop - 1]
        gone = [Token("gone", "", last.end, last.end)] * (stop - start - 1)
        whole = Token("word", name, first.start, last.end, first.spaced)
        self.tokens[start:stop] = [whole, *gone]
        self.glued = True

    # -- clauses and links -------------------------------------------------------------------------

    def parts(self, k: int, at: int) -> str:
        """What parts two clauses at a token; "" where nothing does."""
        tokens, token = self.tokens, self.tokens[k]
        if token.kind == "line":
            return "" if self.goes_on(tokens, k) else "\n"
        if token.kind == "op":
            if token.text in (",", ";"):
                return token.text
            if token.text != ":" or not 0 < k - at < LABEL:
                return ""
            defined = self.definition(at, k)  # `let u = x^2: 3u`
            return ":" if defined and self.mentions(defined[0], k + 1, len(tokens)) else ""
        if token.kind != "word" or token.text in self.words.names:
            return ""
        word, rest = token.text.lower(), tokens[k + 1 : k + 3]
        if word in AT_POINT and len(rest) == 2 and rest[1].text == "=":
            return word if rest[0].text in self.words.names or word in PARTING else ""
        if word == "where":
            return "" if rest and rest[0].text == "(" else word
        return word if word in PARTING and self.words.meaning(word) is None else ""

    def goes_on(self, tokens: Sequence[Token], k: int) -> bool:
        """Whether a formula goes on after a line break: a sign stands before or after it."""
        signs = ("+", "*", "/", "^", "·", "⊙", "@")
        after = next((t for t in tokens[k + 1 :] if t.kind != "line"), None)
        before = next((t for t in reversed(tokens[:k]) if t.kind != "line"), None)
        if after is None or before is None:
            return True
        if before.text in (*signs, "-", ",") or after.text in signs:
            return before.text != "," or not self.words.arrays
        if after.text != "-" or not any(t.text in LINKS for t in tokens[:k]):
            return False
        self.reading.doubts.append(after.start)  # or the line is a step of its own
        return after.start not in self.reading.turned

    def links(self, tokens: Sequence[Token], first: int = 0) -> Iterator[Span]:
        """The stretches between equals signs, and behind a colon after a name."""

        def parts(k: int, at: int) -> str:
            token = tokens[k]
            if token.kind == "op" and token.text in LINKS:
                return "="
            if not 0 < k - at < LABEL or token.text not in IS | {":"}:
                return ""
            if token.kind == "op":
                return "=" if self.labels(tokens[at:k]) else ""
            named = self.words.meaning(token.text) is None and k + 1 < len(tokens)
            return "=" if named and self.names_a_derivative(tokens[at:k], label=True) else ""

        return ((first + start, first + stop) for _, start, stop in split(tokens, parts))

    def links_of(self, clause: Clause) -> list[Span]:
        return [*self.links(self.tokens[slice(*clause[1:])], clause[1])]

    def without_words(self, clauses: list[Clause]) -> list[Clause]:
        """The clauses that say something; the others are noted."""
        kept = []
        for sign, start, stop in clauses:
            tokens = self.tokens[start:stop]
            point = POINT.fullmatch(spell(tokens)) if sign in AT_POINT else None
            at_point = point is not None and point[1] in self.words.names  # `where x = 2`
            if at_point or (len(clauses) > 1 and self.says_nothing(tokens)):
                self.leave_out(self.tokens[start - at_point : stop])
            else:
                kept.append((sign, start, stop))
        return kept

    # -- definitions -------------------------------------------------------------------------------

    def without_definitions(self, clauses: list[Clause]) -> list[Clause]:
        """The clauses but for those that define names which the others use; these are noted."""
        if len(clauses) < 2:
            return clauses
        named: dict[int, tuple[str, Span]] = {}
        for k, (sign, start, stop) in enumerate(clauses):
            found = self.definition(start, stop)
            others = clauses[:k] + clauses[k + 1 :]
            if found and (sign in BELOW or any(self.mentions(found[0], *o[1:]) for o in others)):
                named[k] = found
        rest = [each for k, each in enumerate(clauses) if k not in named]
        names = [name for name, _ in named.values()]
        if not named or len(set(names)) < len(names) or len(names) > MOST or len(rest) != 1:
            return clauses
        below = all(clauses[k][0] in BELOW for k in named)
        if len(self.links_of(rest[0])) > 2 and not below:
            return clauses
        self.define(named)
        return rest

    def definition(self, start: int, stop: int) -> tuple[str, Span] | None:
        """The name that a clause defines, and where what stands for it is; None if it does not."""
        links = self.links_of(("", start, stop))
        name = "".join(t.text for t in self.tokens[slice(*links[0])])
        inside = self.tokens[slice(*links[-1])]
        if len(links) < 2 or not re.fullmatch(r"[^\W\d]\w*'?|d[^\W\d]\w*/d[^\W\d]\w*", name):
            return None
        if not all(self.is_label(self.tokens[slice(*span)]) for span in links[1:-1]):
            return None
        meaning = self.words.meaning(name)
        free = meaning is None or (name[0] == "d" and {name, name[1:]} <= self.words.names)
        if meaning is not None and meaning.kind == "constant":
            letters = [t.text for t in inside if t.kind == "word"]
            free = bool(letters) and name not in letters
        return (name, links[-1]) if free and not any(t.text in UNEQUAL for t in inside) else None

    def mentions(self, name: str, start: int, stop: int) -> bool:
        """Whether a stretch has a name as a word of its own, `u'` being another than u."""
        return bool(_as_tokens(name).search(spell(self.tokens[start:stop])))

    def define(self, named: dict[int, tuple[str, Span]]) -> None:
        """Read what the names stand for; one may be used in another."""
        waiting = dict(named.values())
        shown = [
            f"{n} is read as {self.typed[self.tokens[a].start : self.tokens[b - 1].end]}"
            for n, (a, b) in waiting.items()
            if a < b
        ]
        text = spell(self.tokens)
        for name in waiting:
            for found in [] if name.isidentifier() else _as_tokens(name).finditer(text):
                self.glue(*token_span(text, found), name)
        for _ in range(len(waiting)):
            for name, span in list(waiting.items()):
                if not any(self.mentions(other, *span) for other in waiting):
                    del waiting[name]
                    tokens = self.tokens[slice(*self.trim_words(*span))]
                    self.reading.own[name] = self.parse(tokens)
        if waiting:
            first = self.tokens[next(iter(waiting.values()))[0]]
            raise fault_at(self.typed, first.start, "names that define each other", "write it out")
        self.reading.notes.append("; ".join(shown))

    # -- steps -------------------------------------------------------------------------------------

    def last_of(self, clauses: list[Clause]) -> ast.expr:
        """The formula of the last step; all that lead to it are kept."""
        below = next((c for c in clauses[1:] if c[0] in BELOW | AT_POINT), None)
        if below is not None:
            token = self.tokens[below[1] - 1]
            message = f"what stands behind {token.text} defines nothing"
            raise fault_at(self.typed, token.start, message, "write where u = x^2")
        several = next((c for c in clauses[1:] if c[0] in (",", ";", "and")), None)
        if several and not all(len(self.links_of(c)) > 1 for c in clauses):
            token = self.tokens[several[1] - 1]
            if several[0] == ",":
                raise fault_at(self.typed, token.start, *NEVER[","])
            raise fault_at(self.typed, token.start, "several formulas", "give one formula")
        links: list[tuple[str, Span, int, bool]] = []
        label = ""
        for clause in clauses:
            line = self.line(clause[1])
            spans = [self.trim_words(*s) if s[0] < s[1] else s for s in self.links_of(clause)]
            while len(spans) > 1 and self.is_name_behind(self.tokens[slice(*spans[-1])]):
                self.leave_out(self.tokens[slice(*spans.pop())])
            for k, span in enumerate(spans):
                last = k == len(spans) - 1
                if span[0] >= span[1]:
                    continue
                tokens = self.tokens[slice(*span)]
                if not last and self.is_label(tokens) and not self.is_untaken(tokens):
                    if k == 0:
                        label = "".join(t.text for t in tokens)
                    self.leave_out(tokens)
                    continue
                links.append((label, span, line, not last))
        if not links:
            first = self.tokens[0]
            raise fault_at(self.typed, first.start, "nothing but words was typed", "give a formula")
        return self.read_steps(links)

    def line(self, at: int) -> int:
        """The line of a token, counted from one."""
        return 1 + [token.kind for token in self.tokens[:at]].count("line")

    def is_untaken(self, tokens: Sequence[Token]) -> bool:
        """Whether tokens are a derivative of something that is not yet taken: `d/dx(x^2)`."""
        if len(tokens) < 4 or not self.reading.by:
            return False
        tree, _, aside = self.try_to_parse(tokens)
        return tree is not None and aside.untaken is not None

    def is_name_behind(self, tokens: Sequence[Token]) -> bool:
        """Whether a formula is followed by `= f'(x)`."""
        if not tokens or any(token.text in self.reading.own for token in tokens):
            return False
        text = "".join(token.text for token in tokens)
        return bool(OPERATOR.fullmatch(text)) and not self.is_untaken(tokens)

    def read_steps(self, links: list[tuple[str, Span, int, bool]]) -> ast.expr:
        """The steps that are about the last name, each read; the tree of the last one."""
        label = next((label for label, *_ in reversed(links) if label), "")
        for name, span, line, chained in links[:-1]:
            tokens = self.tokens[slice(*span)]
            if name not in ("", label):
                self.leave_out(tokens)
                continue
            tree, fault, _ = self.try_to_parse(tokens)
            place = tokens[0].start, tokens[-1].end
            self.steps.append(WorkingStep(tree, *place, line, name, fault, chained))
        name, span, line, _ = links[-1]
        tokens = self.present(self.tokens[slice(*span)])
        lines = "line" in [token.kind for token in tokens]
        inside = zip(tokens, levels(tokens), strict=True) if lines else ()
        tree = self.parse([t for t, n in inside if t.kind != "line" or n] if lines else tokens)
        self.steps.append(WorkingStep(tree, tokens[0].start, tokens[-1].end, line, name))
        return tree


def _as_tokens(name: str) -> re.Pattern[str]:
    """A name among tokens, `u'` being another than u."""
    parts = " ".join(re.findall(r"\w+|\W", name))
    return re.compile(rf"(?<!\S){re.escape(parts)} (?!' )")
