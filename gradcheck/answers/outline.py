"""What a typed text is made of: words, names of the derivative, steps, definitions.

Every token is in one of the formulas, or in a note that says it was left out; only dollar signs,
quotation marks and punctuation go without one.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from gradcheck.answers.cases import COMPARED, by_cases, compares, looks_like_cases
from gradcheck.answers.characters import DERIVATIVE, clipped, refused
from gradcheck.answers.cursor import UNTAKEN
from gradcheck.answers.grammar import Parser
from gradcheck.answers.tokens import Token, is_of_blanks, levels
from gradcheck.answers.words import KEPT, STOP, Words, segmented
from gradcheck.errors import TextError

BELOW = frozenset(["where", "with", "wobei", "mit", "avec", "où", "con", "donde"])
PARTING = BELOW | frozenset(
    ["let", "set", "then", "sei", "dann", "soit", "alors", "sia", "allora", "and", "und", "et"]
)
AT_POINT = frozenset(
    ["at", "for", "when", "where", "with", "if", "bei", "für", "mit", "wenn", "en", "pour", "per"]
)
IS = frozenset(["is", "are", "equals", "gives", "ist", "lautet", "est", "vaut", "es", "è", "é"])
NEGATIONS = frozenset(
    ["not", "never", "nicht", "kein", "keine", "pas", "non", "no", "isn", "wrong"]
)
FRAMING = frozenset(["$", "$$", "#", "//", '"', "`", "'", "&", "<"])
LEADING = frozenset(["=", "≈", ":", "=>", "·", ";", ",", "..."])
TRAILING = frozenset([".", ",", ";", ":", "?", "=", "...", "≈", "=>"])
LINKS = frozenset(["=", "=>", "≈"])
LINKED = LINKS | IS | {":"}
PARTED = PARTING | AT_POINT | {",", ";", "\n", "\\\\", "\\newline"}
ITEM = re.compile(r"[a-hA-H]|[ivxIVX]{2,4}|\d{1,2}")
OPERATOR = re.compile(
    r"frac\{d\^?\d?\w*\}\{d\w+(?:\^\d|\^\{\d\})?\}.*|frac\{∂.*|d\^?\d?\w*(?:\([^()]*\))?/d\w+\^?\d?.*"
    r"|d[A-Za-z]|∂.*|∇.*|dot.*|D_?[a-zA-Z]?\(?\[?[a-zA-Z(]*\)?\]?|grad.*"
)
PRIME = re.compile(r"(?:\^?(?:'|\{'+\}))+")
NAMED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\^?\(\d\))?(?:\([\w,.]*\))?(?:\|_\S+)?")
MOST = 6  # definitions
LONG = 4  # letters: among the words of a remark there is one

UNFINISHED = frozenset(["if", "when", "else", "otherwise", "elif", "or", "oder", "ou"])
"""Half of a case, or one formula of two."""

Span = tuple[int, int]


@dataclass(frozen=True)
class WorkingStep:
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


@dataclass
class Outline:
    """The tokens of a text, and what was said of them."""

    typed: str
    tokens: list[Token]
    words: Words
    single: bool = False
    by: str = ""
    turned: frozenset[int] = frozenset()
    notes: list[str] = field(default_factory=list)
    doubts: list[int] = field(default_factory=list)
    own: dict[str, ast.expr] = field(default_factory=dict)
    steps: list[WorkingStep] = field(default_factory=list)
    read: list[Token] = field(default_factory=list)
    untaken: int | None = None  # where a derivative that is not yet taken stands in what was read
    linked: bool = True  # whether equals signs, colons or words that stand for them are there
    compared: bool = True  # whether signs of comparison are there
    parted: bool = True  # whether commas, line breaks or words that part are there

    # -- the formula -------------------------------------------------------------------------------

    def formula(self) -> ast.expr:
        """The formula that is the answer; `steps` are those that lead to it."""
        self.unframe()
        if not self.tokens:
            end = len(self.typed)
            raise refused(self.typed, end, "nothing was typed", "give a formula or a number")
        texts = {token.text.lower() for token in self.tokens}
        self.linked = not texts.isdisjoint(LINKED)
        self.compared = not texts.isdisjoint(COMPARED)
        self.parted = not texts.isdisjoint(PARTED)
        body = self.answer()
        if self.untaken is not None:
            message = "a derivative that is not yet taken"
            raise refused(self.typed, self.untaken, message, DERIVATIVE)
        return body

    def answer(self) -> ast.expr:
        """The tree of a list, of cases, or of the last step."""
        if not self.single and (listed := self.bare_list()):
            return self.parse(listed)
        if self.compared and looks_like_cases(self.tokens, self.words):
            found = by_cases(self.tokens, self.words, self.case_value)
            if found is not None:
                return found
            if sign := compares(self.tokens):
                cure = "cases are written 1 if x > 0 else 0"
                raise refused(self.typed, sign.start, "these cases are not read", cure)
        clauses = [c for c in self.clauses((0, len(self.tokens))) if c[1] < c[2]]
        clauses = self.without_words(clauses)
        clauses = self.without_definitions(clauses)
        return self.last_of(clauses)

    def parse(self, tokens: Sequence[Token], single: bool = False) -> ast.expr:
        """The tree of a stretch of tokens."""
        parser = Parser(
            self.typed,
            [t for t in tokens if t.kind != "gone"],
            self.words,
            single=single or self.single,
            turned=self.turned,
            own=self.own,
            by=self.by,
        )
        parser.by_cases = self.cases_inside
        tree = parser.whole()
        self.notes += parser.notes
        self.doubts += parser.doubts
        self.read = parser.tokens[:-1]
        self.untaken = parser.untaken_at
        return tree

    def cases_inside(self, tokens: Sequence[Token]) -> ast.expr | None:
        return by_cases(tokens, self.words, self.case_value, environment=True)

    def case_value(self, tokens: Sequence[Token]) -> ast.expr:
        """The value of one case, without the name that may stand before it."""
        links = list(self.links((0, len(tokens)), tokens))
        span = links[-1]
        for start, stop in links[:-1]:
            self.leave_out(tokens[start:stop])
        return self.parse(tokens[span[0] : span[1]], single=True)

    def leave_out(self, tokens: Sequence[Token]) -> None:
        """Note that a stretch was left out."""
        if not tokens:
            return
        if any(token.text.lower() in NEGATIONS for token in tokens):
            message = "is this the answer, or is it not?"
            raise refused(self.typed, tokens[0].start, message, "give the formula alone")
        text = self.typed[tokens[0].start : tokens[-1].end].strip()
        self.notes.append(f"`{clipped(text)}` is left out")

    # -- frames ------------------------------------------------------------------------------------

    def unframe(self) -> None:
        """Dollar signs, quotation marks, remarks, markers and what a program says before it."""
        self.tokens = tokens = self.named_gradients(self.tokens)
        if not FRAMING.isdisjoint([token.text for token in tokens]):
            self.tokens = tokens = self.without_frames(tokens)
        self.tokens = self.without_marker(_trimmed(tokens))

    def without_frames(self, tokens: list[Token]) -> list[Token]:
        """Tokens without the signs around a formula that are no mathematics."""
        dollars = [t for t in tokens if t.text in ("$", "$$") and t.kind == "op"]
        if len(dollars) % 2:
            message = "a dollar sign without its partner"
            raise refused(self.typed, dollars[0].start, message, "leave it out")
        tokens = [t for t in tokens if not (t.kind == "op" and t.text in ("$", "$$"))]
        tokens = self.without_remark(tokens)
        tokens = _without_quotes(tokens)
        if not any(t.kind == "begin" for t in tokens):
            tokens = [t for t in tokens if t.text != "&"]
        return _angled(tokens)

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
        found: list[Token] = []
        at = 0
        while at < len(tokens):
            first, width = tokens[at], 1
            for length in (9, 7, 6, 5, 3):
                piece = tokens[at : at + length]
                match = GRADIENT.fullmatch("".join(t.text for t in piece))
                name = "d" + next(filter(None, match.groups())) if match else ""
                if {name, name[1:]} <= names:
                    first = Token("word", name, first.start, piece[-1].end, first.spaced)
                    width = len(piece)
                    break
            found.append(first)
            at += width
        return found

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

    # -- lists -------------------------------------------------------------------------------------

    def bare_list(self) -> list[Token] | None:
        """`1, -2.5, 3`, `1 2` above `3 4`: numbers with nothing around them, in brackets."""
        *names, (start, _) = self.links((0, len(self.tokens)))
        body = self.tokens[start:]
        signs = ("-", "+", ",", ";")
        if not body or not all(t.kind in ("number", "line") or t.text in signs for t in body):
            return None
        blanks = self.words.arrays and is_of_blanks(body)
        commas = [k for k, t in enumerate(body[:-1]) if t.text == ","]
        apart = len(commas) > 1 or any(body[k + 1].spaced for k in commas)
        thousands = r"\d{1,3}(?:,\d{3})+"
        whole = self.typed[body[0].start : body[-1].end]
        if not (apart or blanks or ";" in whole) or re.fullmatch(thousands, whole):
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

    # -- clauses and links -------------------------------------------------------------------------

    def clauses(self, span: Span) -> Iterator[tuple[str, int, int]]:
        """The stretches that line breaks, commas, semicolons and some words part; what did so."""
        if not self.parted:
            yield "", *span
            return
        at, before = span[0], ""
        tokens = self.tokens
        for k, level in enumerate(levels(tokens[slice(*span)]), span[0]):
            if level > 0 or k < at:
                continue
            sign = self.parts(tokens, k)
            if sign:
                yield before, at, k
                at, before = k + 1, sign
        yield before, at, span[1]

    def parts(self, tokens: Sequence[Token], k: int) -> str:
        """What parts two clauses at a token; "" where nothing does."""
        token = tokens[k]
        if token.kind == "line":
            return "" if self.goes_on(tokens, k) else "\n"
        if token.kind == "op" and token.text in (",", ";"):
            tight = k and k + 1 < len(tokens) and token.text == ","
            tight = tight and tokens[k - 1].kind == tokens[k + 1].kind == "number"
            return "" if tight and not tokens[k + 1].spaced else token.text
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
        self.doubts.append(after.start)  # or the line is a step of its own
        return after.start not in self.turned

    def links(self, span: Span, tokens: Sequence[Token] | None = None) -> Iterator[Span]:
        """The stretches between equals signs, and behind a colon after a name."""
        tokens = self.tokens if tokens is None else tokens
        if not self.linked:
            yield span
            return
        at = span[0]
        for k, level in enumerate(levels(tokens[slice(*span)]), span[0]):
            token = tokens[k]
            if token.kind == "word" and not level and token.text in IS and k > at:
                named = self.words.meaning(token.text) is None and k + 1 < span[1]
                if named and self.names_a_derivative(tokens[at:k], label=True):
                    yield at, k
                    at = k + 1
                continue
            if token.kind != "op" or level > 0:
                continue
            colon = token.text == ":" and k > at and self.labels(tokens[at:k])
            if token.text in LINKS or colon:
                yield at, k
                at = k + 1
        yield at, span[1]

    def labels(self, tokens: Sequence[Token]) -> bool:
        """Whether a colon after these makes them a name: `Answer:`, `dy/dx:`, `x.grad:`."""
        if self.names_a_derivative(tokens, label=True) or tokens[-1].text == "grad":
            return True
        return self.says_nothing(tokens) or (
            all(t.kind == "word" for t in tokens)
            and all(self.words.meaning(t.text) is None and len(t.text) > 1 for t in tokens)
        )

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
        return not segmented(self.words, token.text, opens=False)

    def says_nothing(self, tokens: Sequence[Token]) -> bool:
        """Whether there are words only, and enough of them that are no names of this problem."""
        if not all(t.kind == "word" or t.text in ("'", "-", ".", "!") for t in tokens):
            return False
        words = [t for t in tokens if t.kind == "word"]
        strange = [t for t in words if self.is_strange(t)]
        named = [t for t in words if t.text in self.words.names and t not in strange]
        said = [t for t in strange if t.text.lower() in STOP or len(t.text) >= LONG]
        return bool(said) and (not named or len(strange) > 1)

    def without_words(self, clauses: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
        """The clauses that say something; the others are noted."""
        kept = []
        for sign, start, stop in clauses:
            tokens = self.tokens[start:stop]
            at_point = sign in AT_POINT and self.is_at_a_point(tokens)
            if at_point or (len(clauses) > 1 and self.says_nothing(tokens)):
                first = start - 1 if at_point else start
                self.leave_out(self.tokens[first:stop])
            else:
                kept.append((sign, start, stop))
        return kept

    def is_at_a_point(self, tokens: Sequence[Token]) -> bool:
        """`where x = 2`: a name of the problem and a number."""
        texts = [t.text for t in tokens]
        if len(texts) < 3 or texts[1] != "=" or texts[0] not in self.words.names:
            return False
        return all(t.kind == "number" or t.text in ("-", "/", ",", ".", "$") for t in tokens[2:])

    def trimmed_words(self, start: int, stop: int) -> Span:
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

    def is_label(self, tokens: Sequence[Token]) -> bool:
        """Whether what stands before an equals sign is a name, words, or a rule in other names."""
        if not tokens or self.names_a_derivative(tokens) or self.says_nothing(tokens):
            return True
        if all(t.kind == "word" and self.is_strange(t) for t in tokens):
            return True
        letters = "".join(t.text for t in tokens if t.kind == "word")
        primed = not any(t.kind == "number" for t in tokens) and any(t.text == "'" for t in tokens)
        return primed and not any(self.words.meaning(letter) for letter in letters)

    # -- definitions -------------------------------------------------------------------------------

    def without_definitions(
        self, clauses: list[tuple[str, int, int]]
    ) -> list[tuple[str, int, int]]:
        """The clauses but for those that define names which the others use; these are noted."""
        if len(clauses) < 2 or not self.linked:
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
        if len(list(self.links(rest[0][1:]))) > 2 and not below:
            return clauses
        self.define(named)
        return rest

    def definition(self, start: int, stop: int) -> tuple[str, Span] | None:
        """The name that a clause defines, and where what stands for it is; None if it does not."""
        links = list(self.links((start, stop)))
        name = "".join(t.text for t in self.tokens[slice(*links[0])])
        named = re.fullmatch(r"[^\W\d]\w*'?|d[^\W\d]\w*/d[^\W\d]\w*", name)
        labels = all(self.is_label(self.tokens[slice(*span)]) for span in links[1:-1])
        inside = self.tokens[slice(*links[-1])]
        compared = any(t.text in ("<", ">", "<=", ">=") for t in inside)
        if len(links) < 2 or not (named and labels) or compared:
            return None
        meaning = self.words.meaning(name)
        free = meaning is None or (name[0] == "d" and {name, name[1:]} <= self.words.names)
        if meaning is not None and meaning.kind == "constant":
            letters = [t.text for t in inside if t.kind == "word"]
            free = bool(letters) and name not in letters
        return (name, links[-1]) if free else None

    def mentions(self, name: str, start: int, stop: int) -> bool:
        """Whether a stretch has a name as a word of its own, `u'` being another than u."""
        texts = [t.text for t in self.tokens[start:stop]]
        parts = re.findall(r"\w+|\W", name)
        for k in range(len(texts) - len(parts) + 1):
            primed = texts[k + len(parts) : k + len(parts) + 1] == ["'"]
            if texts[k : k + len(parts)] == parts and not primed:
                return True
        return False

    def define(self, named: dict[int, tuple[str, Span]]) -> None:
        """Read what the names stand for; one may be used in another."""
        waiting = dict(named.values())
        shown = [
            f"{n} is read as {self.typed[self.tokens[a].start : self.tokens[b - 1].end]}"
            for n, (a, b) in waiting.items()
            if a < b
        ]
        self.glue_names(waiting)
        for _ in range(len(waiting)):
            for name, span in list(waiting.items()):
                if any(self.mentions(other, *span) for other in waiting):
                    continue
                del waiting[name]
                tree = self.parse(self.tokens[slice(*self.trimmed_words(*span))])
                self.own[name] = tree
        if waiting:
            first = self.tokens[next(iter(waiting.values()))[0]]
            raise refused(self.typed, first.start, "names that define each other", "write it out")
        self.notes.append("; ".join(shown))

    def glue_names(self, names: Collection[str]) -> None:
        """Names of several tokens, `u'` and `du/dx`, as one token each."""
        for name in [name for name in names if not name.isidentifier()]:
            parts = re.findall(r"\w+|\W", name)
            for k in range(len(self.tokens) - len(parts), -1, -1):
                piece = self.tokens[k : k + len(parts)]
                if [t.text for t in piece] == parts:
                    gone = Token("gone", "", piece[-1].end, piece[-1].end)
                    whole = Token("word", name, piece[0].start, piece[-1].end, piece[0].spaced)
                    self.tokens[k : k + len(parts)] = [whole, *[gone] * (len(parts) - 1)]

    # -- steps -------------------------------------------------------------------------------------

    def last_of(self, clauses: list[tuple[str, int, int]]) -> ast.expr:
        """The formula of the last step; all that lead to it are kept."""
        below = next((c for c in clauses[1:] if c[0] in BELOW), None)
        if below is not None:
            token = self.tokens[below[1] - 1]
            message = f"what stands behind {token.text} defines nothing"
            raise refused(self.typed, token.start, message, "write where u = x^2")
        if len(clauses) > 1 and any(sign in (",", ";", "and") for sign, _, _ in clauses[1:]):
            self.one_formula(clauses)
        links: list[tuple[str, Span, int, bool]] = []
        label = ""
        for _, start, stop in clauses:
            line = 1 + sum(t.kind == "line" for t in self.tokens[:start])
            spans = [
                self.trimmed_words(*s) if s[0] < s[1] else s for s in self.links((start, stop))
            ]
            while len(spans) > 1 and self.is_name_behind(spans):
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
            raise refused(self.typed, first.start, "nothing but words was typed", "give a formula")
        return self.stepped(links)

    def one_formula(self, clauses: list[tuple[str, int, int]]) -> None:
        """Refuse several formulas that commas part, but for those that another name is of."""
        sign, start, _ = next(c for c in clauses[1:] if c[0] in (",", ";", "and"))
        token = self.tokens[start - 1]
        if all(len(list(self.links(c[1:]))) > 1 for c in clauses):
            return
        if sign == ",":
            raise Parser(self.typed, self.tokens, self.words).comma(token)
        raise refused(self.typed, token.start, "several formulas", "give one formula")

    def is_untaken(self, tokens: Sequence[Token]) -> bool:
        """Whether tokens are a derivative of something that is not yet taken: `d/dx(x^2)`."""
        if len(tokens) < 4 or not self.by:
            return False
        try:
            tree = Parser(self.typed, tokens, self.words, own=self.own, by=self.by).whole()
        except TextError:
            return False
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == UNTAKEN
            for node in ast.walk(tree)
        )

    def is_name_behind(self, spans: Sequence[Span]) -> bool:
        """Whether a formula is followed by `= f'(x)`."""
        start, stop = spans[-1]
        if start >= stop:
            return False
        tokens = self.tokens[start:stop]
        if any(token.text in self.own for token in tokens):
            return False
        text = "".join(token.text for token in tokens)
        return bool(OPERATOR.fullmatch(text)) and not self.is_untaken(tokens)

    def stepped(self, links: list[tuple[str, Span, int, bool]]) -> ast.expr:
        """The steps that are about the last name, each read; the tree of the last one."""
        label = next((label for label, *_ in reversed(links) if label), "")
        for name, span, line, chained in links[:-1]:
            tokens = self.tokens[slice(*span)]
            place = tokens[0].start, tokens[-1].end
            if name not in ("", label):
                self.leave_out(tokens)
                continue
            notes, doubts = len(self.notes), len(self.doubts)
            try:
                tree, fault = self.parse(tokens), None
            except TextError as error:
                tree, fault = None, error
            del self.notes[notes:], self.doubts[doubts:]
            self.steps.append(WorkingStep(tree, *place, line, name, fault, chained))
        name, span, line, _ = links[-1]
        tokens = [t for t in self.tokens[slice(*span)] if t.kind != "gone"]
        tree = self.parse([t for t in tokens if t.kind != "line" or _is_inside(tokens, t)])
        self.steps.append(WorkingStep(tree, tokens[0].start, tokens[-1].end, line, name))
        return tree


GRADIENT = re.compile(
    r"frac\{[d∂]\w+\}\{[d∂](\w+)\}|[d∂]\w+/[d∂](\w+)|(\w+)\.grad|grad_(\w+)", re.ASCII
)


def _is_inside(tokens: Sequence[Token], line: Token) -> bool:
    """Whether a line break stands in square brackets or in an environment."""
    return any(t is line and level > 0 for t, level in zip(tokens, levels(tokens), strict=True))


def _without_quotes(tokens: list[Token]) -> list[Token]:
    """A text without the marks of quotation at both ends."""
    while len(tokens) > 1 and tokens[0].text in ('"', "`", "'") and tokens[0].kind == "op":
        last = max((k for k, t in enumerate(tokens) if t.text == tokens[0].text), default=0)
        if last == 0 or any(t.text not in TRAILING for t in tokens[last + 1 :]):
            break
        tokens = [*tokens[1:last], *tokens[last + 1 :]]
    return tokens


def _angled(tokens: list[Token]) -> list[Token]:
    """`<1, 2>`, a list in angle brackets."""
    if not tokens or tokens[0].text != "<" or tokens[-1].text != ">":
        return tokens
    if sum(t.text in ("<", ">", "<=", ">=") for t in tokens) != 2:
        return tokens
    return [tokens[0]._replace(text="⟨"), *tokens[1:-1], tokens[-1]._replace(text="⟩")]


def _trimmed(tokens: list[Token]) -> list[Token]:
    """Tokens without the punctuation, equals signs and line breaks at both ends."""
    start, stop = 0, len(tokens)
    while start < stop and (
        tokens[start].kind == "line"
        or (tokens[start].kind == "op" and tokens[start].text in LEADING)
    ):
        start += 1
    while stop > start and (
        tokens[stop - 1].kind == "line"
        or (tokens[stop - 1].kind == "op" and tokens[stop - 1].text in TRAILING)
    ):
        stop -= 1
    tokens = tokens[start:stop]
    if len(tokens) > 2 and tokens[-1].kind == "number" and tokens[-1].text.endswith("."):
        tokens[-1] = tokens[-1]._replace(text=tokens[-1].text[:-1], end=tokens[-1].end - 1)
    return tokens
