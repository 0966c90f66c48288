"""What a typed text is made of: frames, words, lists, cases, definitions, steps, the answer.

Every token stays, or a note says that it was left out; only dollar signs, quotation marks and
punctuation go without one.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, pairwise, permutations, takewhile
from typing import Any, NamedTuple

from gradcheck.answers.cases import IF, by_cases, compares, frame_cases
from gradcheck.answers.grammar import Parser
from gradcheck.answers.operands import NEVER, UNTAKEN, Reading
from gradcheck.answers.prose import AT_POINT, BY, DENIED, IS, ROUNDED, SIGNS, STRANGE, Prose
from gradcheck.answers.tokens import (
    DERIVATIVE,
    GREEK,
    LINKS,
    UNEQUAL,
    Clause,
    Token,
    Tokens,
    as_set,
    count_levels,
    find_closing,
    glue,
    is_of_blanks,
    mentions,
    parts_digits,
    spell,
    split,
    strip,
    without_columns,
    without_quotes,
)
from gradcheck.answers.tree import COMPARED
from gradcheck.errors import TextError

BELOW = as_set("where with wobei mit avec où con donde")
PARTING = BELOW | as_set("let set then sei setze dann soit posons sea alors sia allora and und et")
DERIVATIVES = as_set("derivative gradient slope ableitung dérivée derivada derivata")
THEREFORE = as_set("so thus hence therefore get gets obtain yields simplifies becomes")
"""Between two formulas what ⇒ is."""
REASONS = as_set("since because weil denn")
OUTLINED = LINKS | IS | {*COMPARED} | PARTING | AT_POINT | ROUNDED | THEREFORE | REASONS | {*",;\n"}
"""Where none of these is, a text is one formula and words."""
PARTS = frozenset([",", ";", ":", ".", "!", "\n"])
STOPPED = re.compile(r"\d+\.")  # a number at the end of a sentence
FRAMING = frozenset(["$", "$$", "#", "//", '"', "`", "'", "&", "<"])
OF = re.compile(rf"(?<!has )\b(?:{'|'.join(DERIVATIVES)}) \w+ (?:the )?$", re.I)
MARKER = re.compile(
    r"(?:[a-iA-I]|[ivxIVX]{2,4}|\d{1,2}(?: [a-h])?) \) "
    r"|\( (?P<letter>[a-ivA-I]|[ivxIVX]{2,4}) \) (?=\w|[\\(\[])"
    r"|(?P<numbered>\d{1,2}\. (?=\.?\d))|(?P<counted>(?:\d{1,2}|[^\W\d]\w*) : )"
    r"|(?P<task>(?!(?i:die|eine|meine) )[^\W\d]+) (?:\. )?\d{1,2}(?:\.| [:)]) "
)
COUNTED = re.compile(
    r"(?:(?:[^\W\d]{3,} )?(?:\( )?(?P<count>\d{1,2}|[a-h]|[iv]+)(?:\. | [):] )|[·*] )"
    r"(?=(?P<nth>Ableitung)|.*(?:=|[^\W\d]))"
)
COUNTS = [[*map(str, range(1, 20))], [*"abcdefgh"], ["i", "ii", "iii", "iv", "v", "vi"], ["•"] * 20]
COUNTING = dict(zip("1234", ("first", "second", "third", "fourth"), strict=True))
COUNTABLE = (
    r"{}(?:\. (?=(?:partielle )?Abl)|"
    r" (?:[snrt][tdh]|[eè]r?[em]?e?|[drn]?a) (?=(?i:partial|dériv|deriv)))"
)
LOGARITHMIC = re.compile(r"\(?(?:1/|\\frac\{1\}\{)(\w)[)}]*[·*]?\(?(?:\1'|(?:\\frac\{)?d\1[/}])")
"""`1/y dy/dx`."""
SLOPE = r"\\frac \{{ (?:d ?|∂ ){1} \}} \{{ (?:d ?|∂ ){0} \}} |(?:d ?|∂ ){1} / (?:d ?|∂ ){0} "
FRACTION = re.compile(r"\\frac \{ (d\w+) \} \{ (d\w+) \}")
GRADIENT = SLOPE.replace("{1}", r"\w+") + r"|{0} \. grad |grad_{0} "
BOUND = re.compile(r"_([a-z]{1,3})(?=\W|∂|\Z)")  # the letters of `∂L/∂W_ji`, `∂y_i/∂x_j`
RATIO = re.compile(r"(?:\bd|∂).*(?:/|\} \{) (?:d\w|∂)")
VARIABLES = re.compile(r"\((?:[^\W\d]\w*,?)+\)$")  # of f'(x), before f'(2)
DEFINED = re.compile(
    r"[^\W\d]\w*(?:'+|\^\d)?(?:\([^\W\d]\w*(?:,[^\W\d]\w*)*\))?|d[^\W\d]\w*/d[^\W\d]\w*"
)
LETTERED = {*GREEK.values(), *GREEK, *"abcdfghijklmnopqrstuvwxyz"}
NOT_TAKEN = "a derivative that is not yet taken", DERIVATIVE
ANOTHER = "this names another derivative than the one that is asked for", "give the formula alone"
MOST = 6  # definitions
LABEL = 32  # tokens of a name or a definition before a colon


class WorkingStep(NamedTuple):
    """One step of working: its formula, or why it is none, its line, and what names it.

    `chained` says that an equals sign follows it, `another` that this is not the derivative that
    is asked for.
    """

    tree: ast.expr | None
    start: int
    end: int
    line: int
    label: str = ""
    fault: TextError | None = None
    chained: bool = False
    another: bool | None = None


Step = tuple[WorkingStep, Tokens]


class Outline(Prose):
    """What the tokens of a text are about: definitions, cases, steps."""

    def __init__(self, reading: Reading, tokens: list[Token]) -> None:
        super().__init__(reading, tokens)
        self.steps: list[WorkingStep] = []
        reading.choices = read_rows  # not a method: it would keep the reading alive, and that it
        self.read: list[Token] = []

    def formula(self) -> ast.expr:
        known = self.words.gradients
        letters = FRACTION.findall(spell(self.tokens))
        other = [(b, a) for a, b in letters if self.words.names.isdisjoint(["d", a, b])]
        for name, above in (*permutations(known, 2), *other):  # `dy/dz`, which is not known
            self.tokens = glue(self.tokens, f"{above}/{name}", SLOPE.format(name[1:], above[1:]))
        for name in known:  # `dL/dz`, `∂L/∂z`, `z.grad` as dz, where that is known
            self.tokens = glue(self.tokens, name, GRADIENT.format(name[1:]))
        self.tokens = self.unframe(self.tokens) if self.tokens else []
        if not self.tokens:
            raise self.fault(len(self.typed), "nothing was typed", "give a formula or a number")
        body = self.answer()
        if self.reading.untaken is not None:
            raise self.fault(self.reading.untaken, *NOT_TAKEN)
        return body

    def answer(self) -> ast.expr:
        reading = self.reading
        if not reading.single and (listed := self.read_bare_list()):
            return self.parse(listed)
        said = {*spell(self.tokens).lower().split(" ")}
        if "else" in said:
            self.tokens = frame_cases(self.tokens)
        for count, word in COUNTING.items() if not said.isdisjoint(DERIVATIVES) else ():
            if count in said or f"{count}." in said:
                self.tokens = glue(self.tokens, word, COUNTABLE.format(count))
        if not said.isdisjoint(SIGNS):
            self.tokens = list(self.replace_spoken_signs())
        if said.isdisjoint(OUTLINED):
            tokens = self.trim_words(self.tokens)
            before = len(self.tokens) - len(tokens) and self.tokens.index(tokens[0])
            if before and OF.search(spell(self.tokens[:before]).lower()):
                raise self.fault(self.tokens[0], *NOT_TAKEN)
            around = self.tokens[:before], self.tokens[before + len(tokens) :]
            another = True in map(self.names_another, around)
            return self.read_steps([self.make_step(tokens, another=another)])
        self.define_behind_cases()
        if (found := self.choices(self.tokens)) is not None:
            return found
        self.tokens = self.leave_points_out()
        first, *behind = parted = split(self.tokens, self.parts)
        for sign, inside in behind:
            if sign.kind == "word" and not (inside and (first.tokens or behind[1:])):
                self.leave_out([sign])  # `3x^2 because`, `then 3x^2`
        clauses = [clause for clause in parted if clause.tokens]
        for clause in clauses[:] if clauses[1:] else ():
            because = clause.word in REASONS
            if because or self.says_nothing(clause.tokens):
                self.leave_out([clause.sign, *clause.tokens] if because else clause.tokens)
                clauses.remove(clause)
        return self.read_last(self.without_definitions(clauses))

    # -- trees

    def parse(self, tokens: Tokens, **how: bool) -> ast.expr:
        parser = Parser(self.reading, tokens, **how)
        tree = parser.whole()
        self.read = parser.tokens[:-4]
        return tree

    def try_to_parse(self, tokens: Tokens) -> tuple[ast.expr | None, TextError | None, Reading]:
        """The tree of a step or why it is none, and a reading whose notes are forgotten."""
        aside = replace(self.reading, notes=[], doubts=[], powers=[], untaken=None)
        try:
            return Parser(aside, tokens).whole(), None, aside
        except TextError as fault:
            return None, fault, aside

    def choices(self, tokens: Tokens, *, environment: bool = False) -> ast.expr | None:
        def value(tokens: Tokens) -> ast.expr:
            *names, body = self.links(tokens)
            for name in names:
                if not self.is_label(name) and (fault := self.try_to_parse(name)[1]):
                    raise fault
                self.leave_out(name)
            return self.parse(body, single=True)

        if not environment and (IF | UNEQUAL).isdisjoint(token.text for token in tokens):
            return None
        condition = partial(self.parse, equates=True)
        return by_cases(tokens, self.words, value, condition, environment=environment)

    def read_bare_list(self) -> list[Token] | None:
        """`1, -2.5, 3`, `1 2` above `3 4`: numbers with nothing around them, in brackets."""
        if self.tokens[-1].kind != "number" or [t.kind for t in self.tokens].count("number") < 2:
            return None
        *names, body = self.links(self.tokens)
        texts = [t.text for t in body]
        if not body or not all(t.kind == "number" or t.text in "-+,;\n" for t in body):
            return None
        blanks = self.words.arrays and is_of_blanks(body)
        commas = [after.spaced for t, after in pairwise(body) if t.text == ","]
        several = len(commas) > 1 or any(commas) or blanks or ";" in texts
        one = re.fullmatch(r"\d{1,3}(?:,\d{3})+", "".join(texts)) or ("\n" in texts and not blanks)
        if one or not (several and all(map(self.is_label, names))):
            return None
        self.leave_out([token for name in names for token in name])
        first, last = body[0], body[-1]
        opening = Token("op", "[", first.start, first.start, True)
        closing = Token("op", "]", last.end, last.end)
        return [opening, first._replace(spaced=False), *body[1:], closing]

    # -- frames

    def unframe(self, tokens: list[Token]) -> list[Token]:
        """Tokens without dollar signs, quotation marks, remarks, markers and punctuation."""
        text = spell(tokens)
        if "\n" in text:
            text = spell(tokens := self.without_counts(tokens))
        if text[0] == "^" or not FRAMING.isdisjoint(text.split(" ")):
            dollars = [t for t in tokens if t.text in ("$", "$$")]
            if len(dollars) % 2:
                raise self.fault(dollars[0], *NEVER["$"])
            tokens = without_quotes(self.without_remarks(without_columns(tokens)))
            tokens = self.pair_angles(tokens)
            text = spell(tokens)
        if len(tokens) > len(tokens := strip(tokens)):
            text = spell(tokens)
        if text[:1] == "{" and "=" in text and find_closing(tokens, 0) == len(tokens) - 1:
            return self.unframe(tokens[1:-1])  # \boxed{f'(x) = 2x}
        if len(tokens) > 2 and STOPPED.fullmatch(tokens[-1].text):
            tokens[-1] = tokens[-1]._replace(text=tokens[-1].text[:-1], end=tokens[-1].end - 1)
        found = MARKER.match(text)  # `(b)`, `Task 2)`, `1.`
        marker = found[0].count(" ") if found else 0
        if not found or marker >= len(tokens):
            return tokens
        said = found["letter"] or found["task"]
        named = said and self.words.meant(said)
        if found["counted"] and not named:  # `4: 3x^2` may be a division, or the fourth
            named = self.reading.doubt(tokens[1].start) or tokens[1].spaced
        if named or not (tokens[marker].spaced or found["numbered"]):
            return tokens
        self.leave_out(tokens[:marker])
        return tokens[marker:]

    def without_counts(self, tokens: list[Token]) -> list[Token]:
        """The tokens without what counts their lines: `1.`, `(b)`; all of them, if it is `•`."""
        lines = [line for _, line in split(tokens, lambda k, _: tokens[k].kind == "line") if line]
        found = [COUNTED.match(spell(line)) for line in lines]
        counts = [each["count"] or "•" for each in found if each]
        every = len(counts) if counts and found[0] and "•" not in counts else len(lines)
        if all(each and each["nth"] for each in found) or len(counts) < max(every, 2):
            return tokens
        if counts not in [c[: len(counts)] for c in COUNTS]:
            return tokens
        for line, each in zip(lines, found, strict=True):
            self.leave_out(head := line[: each[0].count(" ") if each else 0])
            tokens = [token for token in tokens if token not in head]
        return tokens

    def without_remarks(self, tokens: list[Token]) -> list[Token]:
        for at, token in enumerate(tokens):
            if at and token.text in ("#", "//"):
                line = [*takewhile(lambda t: t.kind != "line", tokens[at:])]
                last = "//" not in [t.text for t in line[1:]]
                if token.text == "#" or (last and self.says_nothing(line[1:])):
                    self.leave_out(line)
                    return self.without_remarks([*tokens[:at], *tokens[at + len(line) :]])
        return tokens

    def pair_angles(self, tokens: list[Token]) -> list[Token]:
        """`<1, 2>` is a list, `2<a, x> a` has the product of two vectors."""
        signs = [k for k, t in enumerate(tokens) if t.text in UNEQUAL - {"!="}]
        whole = signs == [0, len(tokens) - 1]
        found = list(tokens)
        for a, b in zip(signs[::2], signs[1::2], strict=False):
            commas = sum(t.text == "," for t in tokens[a:b])
            ends = [self.words.shapes.get(tokens[k].text) for k in (a + 1, b - 1)]
            paired = (tokens[a].text, tokens[b].text) == ("<", ">")
            if not paired or not (whole or (commas == 1 and all(ends))):
                return tokens
            found[a], found[b] = tokens[a]._replace(text="⟨"), tokens[b]._replace(text="⟩")
        return found if len(signs) % 2 == 0 else tokens

    # -- clauses

    def is_label(self, tokens: Tokens, *, colon: bool = False) -> bool:
        """Whether what stands before a sign is a name, words, or a rule in other names.

        Before a colon, where a single letter may be what is divided: `Answer:`, `x.grad:`.
        """
        if not tokens or self.names_a_derivative(tokens, colon) or self.says_nothing(tokens):
            return True
        strange = STRANGE.findall(self.sketch(tokens))
        if len(strange) == len(tokens) and all(len(t.text) > colon for t in tokens):
            return True
        if colon:  # `z.grad:`, `Q1:`
            named = len(tokens) == 1 < len(tokens[0].text.encode()) and tokens[0].kind == "word"
            return tokens[-1].text == "grad" or (named and not self.words.meant(tokens[0].text))
        if LOGARITHMIC.match("".join(t.text for t in tokens)):
            return True
        letters = "".join(t.text for t in tokens if t.kind == "word")
        primed = any("'" in t.text for t in tokens) and all(t.kind != "number" for t in tokens)
        return primed and not any(self.words.meaning(letter) for letter in letters)

    def parts(self, k: int, before: Tokens) -> bool:
        tokens, token = self.tokens, self.tokens[k]
        if token.text == "=>" and (not before or "=" in [t.text for t in before]):
            name = "".join(t.text for t in takewhile(lambda t: t.text != "=", tokens[k + 1 :]))
            return "'" in name or DEFINED.fullmatch(name) is not None  # u = x^2 => u' = 2x
        if token.kind != "word" and token.text not in PARTS:
            return False
        if token.kind == "line":
            return not self.goes_on(k)
        if token.text in (".", "!"):  # that ends a sentence
            after = tokens[k + 1 : k + 2]
            return not token.spaced and any(t.spaced or t.kind == "line" for t in after)
        if token.text == ":" and 0 < len(before) < LABEL:
            defined = self.definition(before)  # `let u = x^2: 3u`
            return defined is not None and mentions(defined[0].rstrip("'"), tokens[k + 1 :])
        if token.kind != "word" or token.text in self.words.names:
            return token.text in (",", ";") and not parts_digits(tokens, k)
        word, rest = token.text.lower(), [t.text for t in tokens[k + 1 : k + 3]]
        if word in REASONS or (word in AT_POINT and rest[1:] == ["="]):
            return True
        if (word, *rest[:1]) in (("where", "("), ("with", "respect")):
            return False
        return word == "where" or (word in PARTING and not self.words.meaning(word))

    def goes_on(self, k: int) -> bool:
        """Whether a formula goes on after a line break: a sign stands before or after it."""
        signs = ("+", "*", "/", "^", "·", "⊙", "@")
        after = next((t for t in self.tokens[k + 1 :] if t.kind != "line"), None)
        before = next((t for t in reversed(self.tokens[:k]) if t.kind != "line"), None)
        if after is None or before is None:
            return True
        if before.text in (*signs, "-", ",") or after.text in signs:
            return before.text != "," or not self.words.arrays
        if after.text != "-" or not any(t.text in LINKS for t in self.tokens[:k]):
            return False
        if (defined := self.definition(self.tokens[:k])) and mentions(defined[0], self.tokens[k:]):
            return False
        return self.reading.doubt(after.start)  # or the line is a step of its own

    def links(self, tokens: Tokens) -> list[list[Token]]:
        """The stretches between equals signs, and behind a colon or `is` after a name."""

        def parts(k: int, before: Tokens) -> bool:
            text = tokens[k].text
            linked = text in LINKS or (text == ":" and k and not before)  # f'(x) is: 3x^2
            if linked or (text in THEREFORE and self.follows(before, tokens[k + 1 :])):
                return True
            if not 0 < len(before) < LABEL or text not in IS:
                return False
            if text == ":" and self.is_label(before, colon=True):
                return True
            if self.words.meaning(text) or k + 1 == len(tokens):
                return False
            said = any(t.text.lower() in DERIVATIVES for t in tokens[:k])
            of = "d" in self.sketch(before) and self.says_nothing(before)  # another function
            said = said and not (of and not BY.search(spell(before)))
            said = said and not self.says_nothing(tokens[k + 1 : k + 2])  # `is just 2x`
            return said or self.names_a_derivative(before, label=True)

        return [stretch for _, stretch in split(tokens, parts)]

    def follows(self, before: Tokens, after: Tokens) -> bool:
        """Whether formulas stand on both sides of a word, and no condition."""
        bare = [
            {*self.sketch(side)} <= {*"SLso.!"} or self.says_nothing(side)
            for side in (before, after)
        ]
        return not any(bare) and UNEQUAL.isdisjoint([token.text for token in after])

    # -- definitions

    def without_definitions(self, clauses: list[Clause]) -> list[Clause]:
        """The clauses but for those that define names which the others use; these are noted."""
        where = [*accumulate(clause.word in BELOW for clause in clauses)]  # from here on
        both = zip(clauses, where, strict=True)
        found = [self.definition(clause.tokens, below > 0) for clause, below in both]
        bases = {*self.words.names} | {name.rstrip("'") for name, _ in filter(None, found)}
        clauses = [c._replace(tokens=[*self.part_names(c.tokens, bases)]) for c in clauses]
        for name, _ in filter(None, found):
            if not name.isidentifier():  # u', du/dx, g(x)
                clauses = [c._replace(tokens=glue(c.tokens, name)) for c in clauses]
        rest: list[Clause] = []
        named: list[tuple[str, list[Token]]] = []
        whole = [clause.tokens for clause in clauses]
        heads = [self.links(tokens)[0] for tokens in whole]
        tails = [tokens[len(head) :] or tokens for tokens, head in zip(whole, heads, strict=True)]
        said = [
            tails[k] if self.names_a_derivative(head) else whole[k] for k, head in enumerate(heads)
        ]
        for k, (clause, behind) in enumerate(zip(clauses, where, strict=True)):
            defined, others = self.definition(clause.tokens, behind > 0), said[:k] + said[k + 1 :]
            if clause is clauses[-1] and defined and not defined[0].isidentifier():  # f'(x) =
                others = [] if clause.word == "\n" else tails[:k]  # not of y'/y = 2x
            if defined and (clause.word in BELOW or any(mentions(defined[0], o) for o in others)):
                named.append(defined)
            else:
                rest.append(clause)
        names = dict(named)
        if not named or len(names) < len(named) or len(named) > MOST or not rest:
            return clauses
        try:
            self.define(names)
        except TextError:
            if any(mentions(name, self.links(rest[-1].tokens)[-1]) for name in names):
                raise
            return clauses
        return rest

    def part_names(self, tokens: Tokens, names: set[str]) -> Iterator[Token]:
        """The tokens, with `uv` as u v where both are names: in `uv'` the prime is of v."""
        for token in tokens:
            short = token.kind == "word" and self.letter(token) == "s" and {*token.text} <= names
            for k, letter in enumerate(token.text, token.start) if short else ():
                yield Token("word", letter, k, k + 1, token.spaced and k == token.start)
            yield from [] if short else [token]

    def define_behind_cases(self) -> None:
        """Read what stands behind cases: `2d if d < 1 else 0, where d = |x|`."""
        words = [k for k, token in enumerate(self.tokens) if token.text.lower() in BELOW]
        if not words or UNEQUAL.isdisjoint(token.text for token in self.tokens[: words[-1]]):
            return
        cases, *rest = split(self.tokens, lambda k, b: k >= words[-1] and self.parts(k, b))
        named = [self.definition(clause.tokens, below=True) for clause in rest]
        if named and all(each and mentions(each[0], cases.tokens) for each in named):
            self.define(dict(filter(None, named)))
            self.tokens = strip(cases.tokens)

    def definition(self, tokens: Tokens, below: bool = False) -> tuple[str, list[Token]] | None:
        """The name that a clause defines, and what stands for it; None if it does not.

        One that is known is defined again `below` a `where`.
        """
        head, *between = self.links(tokens)
        name = "".join(t.text for t in head)
        between = between if [t.kind for t in head[:2]] != ["word", "word"] else []
        taken = not {*"(^"}.isdisjoint(name) and head[0].text in self.words.names  # x(t), x^3
        if not between or taken or not DEFINED.fullmatch(name):
            return None
        inside = between.pop()
        meaning = self.words.meaning(name)
        free = not meaning or (name[0] == "d" and {name, name[1:]} <= self.words.names)
        again = {"constant": True, "name": below, "function": name in LETTERED}
        if again.get(meaning.kind):  # `where z = w x`, as the program says
            letters = {t.text: self.words.meaning(t.text) for t in inside if t.kind == "word"}
            kinds = {letter.kind for letter in letters.values()}
            numbers = meaning.kind == "name" and kinds.isdisjoint(["name", ""])
            own = name in letters and meaning.kind != "function"  # σ = σ(x)
            free = free or not (numbers or own or not letters)  # ln(2) is a point
        free = free and all(map(self.is_label, between)) and not compares(inside, UNEQUAL)
        return (name, inside) if free else None

    def define(self, named: dict[str, list[Token]]) -> None:
        """Read what the names stand for; one may be used in another."""
        waiting = dict(named)
        while ready := [
            n for n in waiting if not any(mentions(o, waiting[n]) for o in waiting if o != n)
        ]:
            for name in ready:
                inside = self.trim_words(waiting.pop(name))
                stem, _, letters = name.rpartition("_")
                parser = Parser(replace(self.reading, by="", due=None, bound=letters), inside)
                tree = parser.whole()
                self.reading.own[stem if parser.free else name] = tree  # δ_i = p_i - y_i is δ
        if waiting:
            first = next(iter(waiting.values()))[0]
            raise self.fault(first, "names that define each other", "write it out")
        shown = [(n, self.typed[t[0].start : t[-1].end]) for n, t in named.items() if t]
        self.reading.notes.append("; ".join(f"{name} is read as {text}" for name, text in shown))

    # -- steps

    def read_last(self, clauses: list[Clause]) -> ast.expr:
        for clause in clauses[1:]:
            if clause.word in BELOW | AT_POINT:
                message = f"what stands behind {clause.sign.text} defines nothing"
                raise self.fault(clause.sign, message, "write where u = x^2")
        parting = next((c.sign for c in clauses[1:] if c.word in (",", ";", ".", "and")), None)
        if parting and not all(len(self.links(c.tokens)) > 1 for c in clauses):
            fault = "several formulas", "give one formula"
            raise self.fault(parting, *NEVER.get(parting.text, fault))
        steps: list[Step] = []
        label, aside, another = "", False, None
        for clause in clauses:
            linked = self.links(clause.tokens)
            found = self.trim_stretches(linked)
            label, another = ("", None) if aside and found[0] else (label, another)
            aside = len(found) > 1 and self.is_untaken(found[0], whole=True)  # d/dx(x^2) = 2x
            if aside:
                label, another = spell(found[0]), self.names_another(found[0], aside=True)
            for k, (whole, tokens) in enumerate(zip(linked, found, strict=False)):
                last = k == len(found) - 1
                is_step = last or not self.is_label(tokens) or self.is_untaken(tokens)
                first = whole.index(tokens[0]) if is_step and tokens else len(whole)
                words, behind = whole[:first], whole[first + len(tokens) :]
                behind = [*behind, *chain(*linked[len(found) :])] if last else behind
                says = self.names_another(words)
                if says is None and behind and not DENIED.search(spell(behind).lower()):
                    words, says = behind, self.names_another(behind)  # `2x = f'(x)`
                new = not is_step or (says is not None and not (label and says == another))
                if new and words and (k == 0 or None not in (another, says)):
                    label, another = "".join([t.text for t in words]), says
                another = says if another is None else another
                if not is_step:
                    self.leave_out(tokens)
                elif tokens:
                    known = {"label": label, "chained": not last, "another": another}
                    steps.append(self.make_step(tokens, **known))
        if not steps:
            raise self.fault(self.tokens[0], "nothing but words was typed", "give a formula")
        return self.read_steps(steps)

    def trim_stretches(self, linked: list[list[Token]]) -> list[list[Token]]:
        """Each stretch between equals signs without words, but for a name or a zero at the end."""
        found = [self.trim_words(tokens) for tokens in linked]
        for tokens, kept in zip(linked[:-1], found, strict=False):  # `3 Answer = 3x^2`
            named = tokens[-1:] != kept[-1:] and tokens[-1].kind == "word"
            if named and [token.kind for token in kept] == ["number"]:
                message = f"what stands before `{tokens[-1].text}` is no part of a name"
                raise self.fault(kept[0], message, "leave it out")
        while len(found) > 1 and self.is_name_behind(found[-1]):
            self.leave_out(found.pop())
        if len(found) > 1 and [t.text for t in found[-1]] == ["0"]:
            above = found[-2]
            kinds = {self.words.meant(t.text).kind for t in above if t.kind == "word"}
            named = not kinds.isdisjoint(["name", "entry"])
            if named and not self.is_label(above) and not self.is_untaken(above):  # at the optimum
                self.leave_out(found.pop())
        return found

    def is_name_behind(self, tokens: Tokens) -> bool:
        """Whether a formula is followed by `= dy/dx`, `= f'(2)`."""
        own = any(token.text in self.reading.own for token in tokens)
        named = self.names_a_derivative(tokens, label=True)
        if tokens and (tokens[-1].text == "grad" or not self.words.meant(tokens[0].text)):
            said = self.names_a_derivative(tokens) and self.names_another(tokens) is not None
            named = named or said
        return named and not own and not self.is_untaken(tokens)

    def is_untaken(self, tokens: Tokens, *, whole: bool = False) -> bool:
        """Whether tokens have, or are, a derivative that is not yet taken: `d/dx(x^2)`."""
        if len(tokens) < 4 or not self.reading.by:
            return False
        tree, _, aside = self.try_to_parse(tokens)
        named = isinstance(tree, ast.Call) and ast.unparse(tree.func) == UNTAKEN
        return named if whole else tree is not None and aside.untaken is not None

    def make_step(self, tokens: Tokens, **known: Any) -> Step:
        start = tokens[0].start
        line = 1 + sum([t.kind == "line" and t.start < start for t in self.tokens])
        return WorkingStep(None, start, tokens[-1].end, line, **known), tokens

    def read_steps(self, steps: list[Step]) -> ast.expr:
        """The tree of the last step; the others are kept, but for those of another name.

        Of several partial derivatives it is the one that is asked for.
        """
        names = {step.label: step.another for step, _ in reversed(steps)}
        due = next(iter(names)) or next((label for label in names if " " not in label), "")
        if names.get(due):
            due = next((label for label in names if names[label] is False), due)
        while steps[-1][0].label not in ("", due):
            self.leave_out(steps.pop()[1])
        last, inside = steps.pop()
        for step, tokens in steps:
            label = step.label
            if label not in ("", due) and VARIABLES.sub("", label) != due.partition("(")[0]:
                self.leave_out(tokens)
                continue
            self.reading.bound = "".join(BOUND.findall(label))
            tree, fault, _ = self.try_to_parse(tokens)
            linked = step.chained and not (fault and label and RATIO.search(spell(tokens)))
            if fault and not linked:  # as `= dL/dz · dz/dw` is, too
                self.leave_out(tokens)
            self.steps.append(step._replace(tree=tree, fault=fault, chained=linked))
        self.reading.bound = "".join(BOUND.findall(last.label))
        if "line" in [token.kind for token in inside]:
            levels = zip(inside, count_levels(inside), strict=True)
            inside = [token for token, level in levels if token.kind != "line" or level]
        found = self.parse(inside)
        fault = self.fault(last.start, *ANOTHER) if last.another else None
        self.steps.append(last._replace(tree=found, fault=fault, chained=fault is not None))
        return found


def read_rows(reading: Reading, tokens: Tokens) -> ast.expr | None:
    return Outline(reading, [*tokens]).choices(tokens, environment=True)
