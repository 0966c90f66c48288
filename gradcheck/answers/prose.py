"""Words around a formula: what is said, what does something to it, and what a note leaves out."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise, zip_longest

from gradcheck.answers.operands import Reading
from gradcheck.answers.tokens import (
    Token,
    Tokens,
    as_set,
    as_table,
    find_closing,
    make_fault,
    spell,
    strip,
)
from gradcheck.answers.words import KEPT, STOP, UNKNOWN, Words, segment
from gradcheck.errors import TextError

SPOKEN = {"plus": "+", "minus": "-", "times": "*"}
JOINED = {"over": "/", "squared": "^2", "cubed": "^3"}
"""What is a sign in a text of one formula, and a word in a sentence about formulas."""
SIGNS = SPOKEN | JOINED
NT = "n'?t"
DENIED = re.compile(
    r"\b(?:not|never|nicht|keine?|pas|non?|não|cannot|wrong|incorrect|false|falsch|faux|falso"
    rf"|(?:is|was|are|ai){NT}|\w+{NT} (?:\w+ )?(?:(?:think|believe)(?! there| i | we )|be|equal"
    "|seem|look|work|say|agree|suppose|get|give)) |不[是对等]|(?<!没)错|并非|(?:では|じゃ)ない|아니"
)
HARMLESS = re.compile(
    rf"\b(?:(?:not|nicht|keine?|pas|non?|cannot|\w+{NT}) (?:\w+ ){{0,2}}(?:simplif|expand|reduc"
    r"|factor|sure|sûr|sicher|segur|sicur|idea|know|forget|oubli|vergess|olvid|diment|wrong"
    r"|mistaken|need|constant|hard|further|probl|chain|ketten|produ[ck]t|r[eè]gl|regol|regel)\w*"
    r"|(?:reduc|lower|decreas|drop|bring|subtract)\w* (?:\w+ ){0,3}(?:exponent|power|degree)s?"
    r"|(?:exponent|power|degree)s? (?:\w+ ){0,4}(?:reduc|lower|decreas|dropp)\w*)(?: by one)? "
)
"""What denies nothing, and the power rule in words."""
NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|half|itself"
MANY = "two|three|four|zwei|drei|vier|deux|trois|quatre|dos|tres|cuatro|due|tre|quattro|duas|três"
APPLIED = re.compile(
    r"(?:\b(?!(?:derivative|gradient|slope|(?<!absolute )value|answer|result|rate|change|prime|form"
    r"|function|expression|solution|kind|sort|ableitung|dérivée|derivada|derivata)\b)"
    r"\w+ (?:of|von|de|di)|twice|thrice|half|double|triple|quarter|negative|opposite(?: is| to)?"
    r"|minus(?: sign)?(?: then)?|absolute(?: value)?|to(?= the )|than|(?:proportional|add\w*) to"
    rf"|(?:{MANY}) ?(?:mal|fois|veces|volte|vezes)|(?:much|many|large|big|great|small) as"
    r"|at (?:most|least)|except|(?:any|no|every)thing but|without|from|nothing like|unlike|root"
    r"|(?:kleiner|größer|mehr|weniger) als|(?:menor|mayor|menos|más|plus|moins) que"
    r"|\A(?:the )?(?:square|sine|cosine|logarithm|exponential|inverse)"
    rf"|(?:divid|multipl)\w*(?: \w+)? by|(?:by|add) (?:{NUMBERS})(?: to)?)"
    r" (?:the )?$|\b(?:vorzeichen|(?:opposite|other) sign|sign (?:flipp|chang|revers)ed"
    r"|reciprocal(?! rule)|upside down"
    r"|(?:doubl|tripl|halv|negat|invert|flipp|transpos)ed) "
)
"""Words that do something to the formula behind them, or anywhere."""
DONE = re.compile(
    r"(?:\( )?(?:(?:and|then|but|all|is|now|it|that) )*(?:to the (?!best)"
    r"|(?:less|more|larger|smaller|under|half|twice|negate|per ?cent|in the denominator"
    r"|(?:with a|mit) minus|(?:divid|multipli|increas|decreas|reduc|rais|add|lower|squar|cub)ed) "
    r"|(?:divide|multiply|double|triple|halve|invert|square|flip) (?:it|this|that|all) "
    r"|(?:geteilt|dividiert|multipliziert|mal|hoch|zum quadrat|quadriert|divisé|multiplié|fois"
    r"|au (?:carré|cube)|dividido|multiplicado|por (?:dos|tres)|al cuadrado) )"
)
"""Words that do something to the formula before them."""
UNFINISHED = as_set("if when else otherwise elif or oder ou")
"""Half of a case, or one formula of two."""
JOINTS = frozenset("*/^·")
STRANGE = re.compile("[SLso]")
REMARK = re.compile(r"(?=.*[SL])[kdSLso'\-~.!]+")
BEFORE = re.compile(
    r"(?:[SLso]|[kd'~](?=[SLso][kdSLso'~]*[SLso]))(?:[kdSLso'~]*[SLso])?[.']*(?!(?<=[o'])'*\()"
)
BEHIND = re.compile(r"(?<=[nkd)])\.?[SLso][kdSLso'\-~.!]*$")
"""Words that say nothing, in a sketch of a text: a letter a token."""
LONG = 4  # letters: among the words of a remark there is one
AT_POINT = as_set("at for when where with if bei für mit wenn en pour per si se cuando quando")
IS = as_set("is are equals gives ist lautet est vaut es è é :")
PLACE = r"(?:(?:[-/]|[\d.]+(?:[eE][-+]?\d+)?|pi|π) )+(?:, \d+ (?=[:)] |\Z))?"
ROUNDED = as_set("dp d.p. sf s.f. decimal decimals significant")
"""Behind a number, the digits to which it is rounded."""
PLACES = rf"\( {PLACE}(?:, {PLACE})+\) "


@lru_cache
def make_point(names: frozenset[str]) -> re.Pattern[str]:
    """At which point something is said: `at x = 2`, `x = 1, y = 2:`, `|_{x=2}`; or how exactly."""
    named = rf"(?:{'|'.join(map(re.escape, names))}) = {PLACE}"
    named += rf"(?:(?:, and|,|and) {named})*"
    return re.compile(
        rf"(?<!\S)(?:(?P<open>\( )?(?:evaluated )?(?:{'|'.join(AT_POINT)}) "
        rf"(?:(?:the )?(?:given )?point )?(?:{named}|(?<!where ){PLACES})(?(open)\) )"
        rf"|(?:, )?{named}(?=: |=> )"
        rf"|(?:\|\)? |(?<=\] ))_ \{{ (?:{named}|{PLACES}|{PLACE})\}} "
        rf"|(?P<aside>\( )?(?:(?:correct |rounded )?to )?\d (?:{'|'.join(ROUNDED)}) "
        rf"(?:places? |figures? |digits? )?(?(aside)\) ))"
        rf"(?:, )?(?P<sign>(?:{'|'.join(IS)}|=) )?",
        re.IGNORECASE,
    )


REST = r"(?![-+/:]|[*·](?!\\frac\{[d∂]|[d∂])).*"  # of `dy/dx + 1` is more than a name
OPERATOR = re.compile(
    rf"\\frac\{{(?:d\^?\d?\w*|∂[^{{}}]*)\}}\{{(?:d\w+(?:\^\d)?|∂[^{{}}]*)\}}{REST}"
    rf"|(?:d\^?\d?\w*(?:\^\d)?(?:\([^()]*\))?/\(?d\w+\^?\d?|∂[^/]*/\(?∂\w+){REST}"
    r"|\((?:\\frac\{)?∂[^()]*\)_(?:\w+|\{[^{}]*\})"
    r"|d[A-Za-z]|∂_?\w+|∂_\{.*|∇[^-+]*|dot[^-+]*|grad[^-+]*"
    r"|D(?:\^\d)?_?[a-zA-Z]?\(?\[?[a-zA-Z(]*\)?\]?"
)
INSIDE = re.compile(r"\([^()]*\)|‖[^‖]*‖|\|[^|]*\|")
PRIME = re.compile(r"(?:\^?(?:'|\{'+\}))+")
NAMED = re.compile(
    r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\^?\{?\(\d\)\}?)?"
    r"(?:\((?:[\w,.]*|(?:[-\d.,;/|°√π{}]|\\frac|pi)*)\))?(?:\|_\S+)?"
)
ORDINALS = as_table(
    "1: first erste premi prim; 2: second zweite deuxi segund double; "
    "3: third dritte troisi tercer terz triple; 4: fourth vierte quatri cuart quart"
)
SAID = re.compile(
    rf"(?:\b(?P<nth>{'|'.join(ORDINALS)})\w*[ -](?:order |partial |partielle )?)?"
    rf"(?:deriv|dériv|ableit|prime\b)\w*(?: (?P<behind>{'|'.join(ORDINALS)}))?",
    re.I,
)
BY = re.compile(r"(?i:(?:respe[ck]to?|regard) (?:to|a|de)|wrt|nach|rapport à|rispetto ad?) (\w+)")
DERIVED = re.compile(
    r"(?:(?<!\w)(?:D|partial|grad|\w)|[)∂∇d])(?:\^\((?P<times>\d)\))?"
    r"(?:(?<![A-Za-z]\))_(?P<letters>[^\W\d_]+)(?:\((?P<args>[^()]*)\))?"
    r"| ?\w{0,9}(?:\^\d)?(?:\([^()]*\))?/\(?(?P<below>(?:[d∂]\w+(?:\^\d)? ?)+)|(?(times)|(?!)))"
    r"|(?P<leaf>\w+)\.grad\b|\A[df](?P<whole>[^\W\d_]+)(?:\(.*\))?\Z"
    r"|(?P<undone>(?i:anti-?d[eé]riv|stammf|primitiv))"
)
"""`d^2y/dx^2`, `f'_x(x, y)`, `x.grad`, `f''(x)`, `f^(2)`, `D^2 f`."""
BELOW = re.compile(r"[d∂](\w+?)(?:\^(\d))?(?=[d∂ ]|$)")
GAPS = re.compile(r"\\frac|(?<!\w) | (?!\w)")

ENDS = frozenset([")", "]", "}", "|", "|)"])


class Prose:
    """The tokens of a text as words: which of them say nothing about mathematics."""

    def __init__(self, reading: Reading, tokens: list[Token]) -> None:
        self.reading, self.typed, self.words = reading, reading.typed, reading.words
        self.tokens = tokens

    def fault(self, place: int | Token, message: str, cure: str) -> TextError:
        at = place.start if isinstance(place, Token) else place
        return make_fault(self.typed, at, message, cure)

    def leave_out(self, tokens: Tokens) -> None:
        if not tokens:
            return
        words = [self.typed[t.start : t.end] if t.text == "-" else t.text for t in tokens]
        said = HARMLESS.sub("", " ".join([*words, ""]).lower())
        if DENIED.search(said):
            message = "is this the answer, or is it not?"
            raise self.fault(tokens[0], message, "give the formula alone")
        before = [token for token in self.tokens if token.start < tokens[0].start]
        behind = before and not self.says_nothing(before)
        if APPLIED.search(said) or (behind and DONE.match(said)):
            message = "these words do something to the formula"
            raise self.fault(tokens[0], message, "write it with signs")
        self.reading.leave_out(tokens[0].start, tokens[-1].end)

    def replace_spoken_signs(self) -> Iterator[Token]:
        """`6 x plus 5`, and `1 over x squared` where nothing else is said of another formula."""
        colon = next((k for k, t in enumerate(self.tokens) if t.text == ":"), 0)
        label = self.tokens[:colon] if self.says_nothing(self.tokens[:colon]) else []
        yield from label  # `first times derivative of second: x cos x`
        tokens = self.tokens[len(label) :]
        said = "".join("~" if t.text in SIGNS else self.letter(t) for t in tokens)
        formulas = [part for part in STRANGE.split(said) if {*part} & {*"nd"}]
        known = SPOKEN | (JOINED if len(formulas) == 1 else {})
        for token, after in zip_longest(tokens, tokens[1:]):
            signs = known.get(token.text.lower(), "") if token.kind == "word" else ""
            if not signs or self.words.meaning(token.text) or not self.joins(token, after):
                yield token
                continue
            yield token._replace(kind="op", text=signs[0], spaced=True)
            if signs[1:]:
                yield token._replace(kind="number", text=signs[1:])

    def joins(self, token: Token, after: Token | None) -> bool:
        """Whether a spoken sign has something to work on: not in `over all x`, `over the reals`."""
        if token.text.lower() != "over":
            return True
        return after is not None and after.text != "all" and self.letter(after) not in "SLso"

    def sketch(self, tokens: Tokens) -> str:
        """One letter a token, to search in: what its word says here."""
        return "".join(map(self.letter, tokens))

    def letter(self, token: Token) -> str:
        """Of words: d(eclared), k(nown); S(aid in sentences), L(ong), s(hort), o(ne letter)."""
        text = token.text
        if token.kind != "word":
            ends = ")" if text in ENDS else "(" if text in ("(", "[") else "x"
            sign = "~" if text == "-" and not token.spaced else text if text in "'-.!" else ends
            return "n" if token.kind in ("number", "transpose") else sign
        lower = text.lower()
        if text in KEPT or text in self.reading.own or lower in UNFINISHED:
            return "k"
        known = self.words.meaning(text) if lower in STOP else self.words.meant(text)
        if known or not (lower in STOP or text.isalpha() or lower.endswith("n't")):
            return "d" if text in self.words.names else "k"
        if text in STOP or text[0] > "\u3000":
            product = text[1:] and self.words.names.issuperset(text)  # of inputs o and f
            return "k" if product and self.reading.doubt(token.start, usual=False) else "S"
        if lower not in STOP and segment(self.words, text, opens=False):
            return "k"
        return "L" if len(text) >= LONG else "s" if text[1:] else "o"

    def says_nothing(self, tokens: Tokens) -> bool:
        """Whether there are words only, and enough of them that are no names of this problem."""
        found = REMARK.fullmatch(sketch := self.sketch(tokens))
        named = "d" in sketch and tokens[0].text not in ("for", "wrt")  # `for all x`
        return found is not None and (not named or len(STRANGE.findall(sketch)) > 1)

    def leave_points_out(self) -> list[Token]:
        """The tokens without the points at which something is said."""
        tokens, text = list(self.tokens), spell(self.tokens)
        for match in reversed([*make_point(frozenset(self.words.names)).finditer(text)]):
            start, stop = (text.count(" ", 0, at) for at in match.span())
            sign = stop - 1 if match["sign"] else None
            named = [t for t in tokens[start:stop] if t.text in ROUNDED and self.letter(t) in "dk"]
            if named or (sign is None and self.goes_on_with(tokens[stop : stop + 1])):
                continue
            self.leave_out(tokens[start : sign or stop])
            goes_on = start and tokens[start - 1].text != "."
            kept = [tokens[sign]._replace(kind="op", text="=")] if sign and goes_on else []
            tokens[start:stop] = kept
        return strip(tokens) or self.tokens

    def goes_on_with(self, after: Tokens) -> bool:
        """Whether a number goes on with a token: `x = 2x`, `x = 2 + 3`."""
        word = bool(after) and after[0].kind == "word" and not self.words.meaning(after[0].text)
        return bool(after) and not word and after[0].text not in {*ENDS, *",;.", "\n", "=>"}

    @staticmethod
    def names_a_derivative(tokens: Tokens, label: bool = False) -> bool:
        """Whether tokens name a derivative: `dy/dx`, `f'(x)`; before an equals sign any name does.

        With `label` a colon follows, and a name alone could be what is divided.
        """
        text = "".join([token.text for token in tokens])
        text = INSIDE.sub("", text) if text[:1] == "∇" else text
        if OPERATOR.fullmatch(re.sub(r"\{(\d)\}", r"\1", text)):
            return True
        unprimed = PRIME.sub("", text)
        return bool(NAMED.fullmatch(unprimed)) and (text != unprimed or not label)

    def names_another(self, tokens: Tokens, *, aside: bool = False) -> bool | None:
        if not tokens or not self.reading.by:
            return None
        return names_another(self.words, spell(tokens), self.reading.by, aside)

    def trim_words(self, tokens: list[Token]) -> list[Token]:
        """A stretch without the words and asides at its ends, which say nothing."""
        meaning = self.words.meaning
        if UNKNOWN not in [meaning(token.text) for token in tokens if token.kind == "word"]:
            return tokens
        sketch = self.sketch(tokens)
        while tokens:
            found = BEFORE.match(sketch)
            first = found.end() if found and is_said(found[0]) else self.count_aside(tokens)
            if first == len(tokens) or tokens[first].text in JOINTS:  # so dy/dx = ...
                first = max(first - 1, 0) * (first < len(tokens) and is_said(sketch[: first - 1]))
            last = len(tokens) - self.count_words_behind(tokens[first:], sketch[first:])
            if (first, last) == (0, len(tokens)):
                break
            self.leave_out(tokens[:first])
            self.leave_out(tokens[last:])
            tokens, sketch = tokens[first:last], sketch[first:last]
        return tokens

    def count_aside(self, tokens: Tokens) -> int:
        """How many tokens are words in brackets that say nothing before a formula."""
        stop = find_closing(tokens, 0) + 1 if tokens[0].text in ("(", "[") else 0
        inside = tokens[1 : stop - 1]
        return stop if inside[1:] and self.says_nothing(inside) else 0

    def count_words_behind(self, tokens: Tokens, sketch: str) -> int:
        """How many tokens are words that say nothing behind a formula, in brackets or not."""
        opening = sketch.rfind("(")
        aside = opening > 0 and tokens[opening].spaced and tokens[-1].text in (")", "]")
        if aside and self.says_nothing(tokens[opening + 1 : -1]):
            return len(tokens) - opening
        found = BEHIND.search(sketch)
        if not found:
            return 0
        tail = tokens[found.start() :]
        if tail[0].text == "." and not tail[1].spaced:
            return 0
        if tail[0].text.lower() in JOINED and self.joins(tail[0], next(iter(tail[1:]), None)):
            return 0  # it belongs to the formula, which is another one without it
        said = is_said(found[0]) and any(len(t.text) > 1 for t in tail)
        return len(tail) if said or tail[0].text in ("dx", "dy", "dt") else 0


@lru_cache(maxsize=1024)
def names_another(words: Words, text: str, by: str, aside: bool) -> bool | None:
    """Whether a left side names another derivative than is asked for; None: it does not say.

    It is a derivative of so many times, by these inputs; `aside`, of a formula that is given.
    """
    asked, plain = by.split("."), GAPS.sub("", re.sub(" ?[{}]", "", text.replace("} {", "/")))
    plain = re.sub(r"\b([d∂])(\d)(\w*/\1[^\W\d]+)\2\b", r"\1^\2\3^\2", plain)  # d2y/dx2
    plain = re.sub(r"(?<=[dD∂])\^(\d)", r"^(\1)", plain)
    plain = re.sub(r"\^?('+)", lambda found: f"^({len(found[1])})", plain)
    signs, said, after = [*DERIVED.finditer(plain)], SAID.search(plain), BY.search(plain)
    if any(plain[one.end() : other.start()].strip(" (") for one, other in pairwise(signs)):
        return None  # dL/dz · dz/dw, u'v + uv'
    order = int(ORDINALS.get((said["nth"] or said["behind"] or "").lower(), 0)) if said else 0
    order = order or sum(int(sign["times"] or sign["below"] is not None) for sign in signs)
    names = find_inputs(words, after[1]) if after else []
    pieces = [piece for sign in signs for piece in list_variables(sign)]
    found = [find_inputs(words, name) * int(times or 1) for name, times in pieces]
    if all(found):
        names = names or [*chain(*found)]
    if any(sign["undone"] for sign in signs):
        return True
    if names and (aside and len(names) == 1):
        return names[0] not in asked
    if names:
        names = names[:1] * max(order, len(names)) if len({*names}) == 1 else names
        return sorted(names) != sorted(asked)
    if order or (said and len(asked) == 1):
        return order > len(asked) if aside else (order or 1) != len(asked)
    return None


def find_inputs(words: Words, word: str) -> list[str]:
    """The input that a word names, or those of its letters; none if there is another."""
    for parts in ([word], word):
        found = [words.meant(each) for each in parts]
        if {each.kind for each in found} <= {"name", "entry"}:
            return [each.name.partition(",")[0] for each in found]
    return []


def list_variables(sign: re.Match[str]) -> list[tuple[str, str]]:
    """By what, and how many times each."""
    word, args = sign["letters"] or sign["leaf"] or sign["whole"] or "", sign["args"]
    if args and not {*word} & {*args.split(",")} and word not in args.split(","):
        return []  # f_a(x)
    return BELOW.findall(sign["below"] or "") or [(word, "")] * bool(word)


def is_said(sketch: str) -> bool:
    """Whether words are those of a sentence, and not a name misspelt."""
    return "S" in sketch or len(STRANGE.findall(sketch)) > 1
