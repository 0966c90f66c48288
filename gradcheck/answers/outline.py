"""What a typed text is made of: lists, cases, definitions, steps of working, the answer."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gradcheck.answers.cases import COMPARED, by_cases, compares, looks_like_cases
from gradcheck.answers.characters import DERIVATIVE, fault_at
from gradcheck.answers.grammar import Parser
from gradcheck.answers.operands import UNTAKEN, Reading
from gradcheck.answers.limits import within_limits
from gradcheck.answers.surroundings import OPERATOR, Span, Surroundings
from gradcheck.answers.tokens import (
    UNEQUAL,
    Token,
    is_decimal_comma,
    is_of_blanks,
    levels,
    spell,
    token_span,
)
from gradcheck.errors import TextError

BELOW = frozenset(["where", "with", "wobei", "mit", "avec", "où", "con", "donde"])
PARTING = BELOW | frozenset(
    ["let", "set", "then", "sei", "dann", "soit", "alors", "sia", "allora", "and", "und", "et"]
)
AT_POINT = frozenset(
    ["at", "for", "when", "where", "with", "if", "bei", "für", "mit", "wenn", "en", "pour", "per"]
)
IS = frozenset(["is", "are", "equals", "gives", "ist", "lautet", "est", "vaut", "es", "è", "é"])
LINKS = frozenset(["=", "=>", "≈"])
OUTLINED = LINKS | IS | COMPARED | PARTING | AT_POINT | {":", ",", ";", "\n", "\\\\", "\\newline"}
"""Where none of these is, a text is one formula and words."""
POINT = re.compile(r"(\w+) = (?:(?:[-/,.$]|[\d.]+(?:[eE][-+]?\d+)?) )+")
MOST = 6  # definitions


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
class Outline(Surroundings):
    """What the tokens of a text are about: definitions, cases, steps."""

    single: bool = False
    by: str = ""
    turned: frozenset[int] = frozenset()
    doubts: list[int] = field(default_factory=list)
    steps: list[WorkingStep] = field(default_factory=list)
    read: list[Token] = field(default_factory=list)
    untaken: int | None = None  # where a derivative that is not yet taken stands in what was read

    # -- the formula -------------------------------------------------------------------------------

    def formula(self) -> ast.expr:
        """The formula that is the answer; `steps` are those that lead to it."""
        self.unframe()
        if not self.tokens:
            end = len(self.typed)
            raise fault_at(self.typed, end, "nothing was typed", "give a formula or a number")
        body = self.answer()
        if self.untaken is not None:
            message = "a derivative that is not yet taken"
            raise fault_at(self.typed, self.untaken, message, DERIVATIVE)
        return body

    def answer(self) -> ast.expr:
        """The tree of a list, of cases, or of the last step."""
        if not self.single and (listed := self.bare_list()):
            return self.parse(listed)
        said = {token.text.lower() for token in self.tokens}
        if said.isdisjoint(OUTLINED):
            return self.last_of([("", 0, len(self.tokens))])
        if not said.isdisjoint(COMPARED) and looks_like_cases(self.tokens, self.words):
            found = by_cases(self.tokens, self.words, self.case_value)
            if found is not None:
                return found
            if sign := compares(self.tokens):
                cure = "cases are written 1 if x > 0 else 0"
                raise fault_at(self.typed, sign.start, "these cases are not read", cure)
        clauses = [c for c in self.clauses((0, len(self.tokens))) if c[1] < c[2]]
        clauses = self.without_words(clauses)
        clauses = self.without_definitions(clauses)
        return self.last_of(clauses)

    def parse(self, tokens: Sequence[Token], single: bool = False) -> ast.expr:
        """The tree of a stretch of tokens."""
        reading = Reading(self.typed, self.words, single or self.single, self.by, self.turned)
        reading.own = self.own
        parser = Parser(reading, [t for t in tokens if t.kind != "gone"])
        parser.choices = self.cases_inside
        tree = parser.whole()
        self.notes += reading.notes
        self.doubts += reading.doubts
        self.read = parser.tokens[:-1]
        self.untaken = reading.untaken
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

    # -- lists -------------------------------------------------------------------------------------

    def bare_list(self) -> list[Token] | None:
        """`1, -2.5, 3`, `1 2` above `3 4`: numbers with nothing around them, in brackets."""
        if self.tokens[-1].kind == "word":
            return None
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
            return "" if is_decimal_comma(tokens, k) else token.text
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
        found = POINT.fullmatch(spell(tokens))
        return found is not None and found[1] in self.words.names

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
        compared = any(t.text in UNEQUAL for t in inside)
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
                if any(self.mentions(other, *span) for other in waiting):
                    continue
                del waiting[name]
                tree = self.parse(self.tokens[slice(*self.trim_words(*span))])
                within_limits(tree, self.typed)
                self.own[name] = tree
        if waiting:
            first = self.tokens[next(iter(waiting.values()))[0]]
            raise fault_at(self.typed, first.start, "names that define each other", "write it out")
        self.notes.append("; ".join(shown))

    # -- steps -------------------------------------------------------------------------------------

    def last_of(self, clauses: list[tuple[str, int, int]]) -> ast.expr:
        """The formula of the last step; all that lead to it are kept."""
        below = next((c for c in clauses[1:] if c[0] in BELOW), None)
        if below is not None:
            token = self.tokens[below[1] - 1]
            message = f"what stands behind {token.text} defines nothing"
            raise fault_at(self.typed, token.start, message, "write where u = x^2")
        if len(clauses) > 1 and any(sign in (",", ";", "and") for sign, _, _ in clauses[1:]):
            self.one_formula(clauses)
        links: list[tuple[str, Span, int, bool]] = []
        label = ""
        for _, start, stop in clauses:
            line = 1 + sum(t.kind == "line" for t in self.tokens[:start])
            spans = [self.trim_words(*s) if s[0] < s[1] else s for s in self.links((start, stop))]
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
            raise fault_at(self.typed, first.start, "nothing but words was typed", "give a formula")
        return self.read_steps(links)

    def one_formula(self, clauses: list[tuple[str, int, int]]) -> None:
        """Refuse several formulas that commas part, but for those that another name is of."""
        sign, start, _ = next(c for c in clauses[1:] if c[0] in (",", ";", "and"))
        token = self.tokens[start - 1]
        if all(len(list(self.links(c[1:]))) > 1 for c in clauses):
            return
        if sign == ",":
            raise Parser(Reading(self.typed, self.words), self.tokens).comma(token)
        raise fault_at(self.typed, token.start, "several formulas", "give one formula")

    def is_untaken(self, tokens: Sequence[Token]) -> bool:
        """Whether tokens are a derivative of something that is not yet taken: `d/dx(x^2)`."""
        if len(tokens) < 4 or not self.by:
            return False
        try:
            tree = Parser(Reading(self.typed, self.words, by=self.by, own=self.own), tokens).whole()
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

    def read_steps(self, links: list[tuple[str, Span, int, bool]]) -> ast.expr:
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


def _is_inside(tokens: Sequence[Token], line: Token) -> bool:
    """Whether a line break stands in square brackets or in an environment."""
    return any(t is line and level > 0 for t, level in zip(tokens, levels(tokens), strict=True))


def _as_tokens(name: str) -> re.Pattern[str]:
    """A name among tokens, `u'` being another than u."""
    parts = " ".join(re.findall(r"\w+|\W", name))
    return re.compile(rf"(?<!\S){re.escape(parts)} (?!' )")
