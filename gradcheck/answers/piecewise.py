r"""Formulas by cases, written out as where(condition, value, otherwise).

`1 if x > 0 else 0`, `1 for x > 0, 0 for x < 0`, the rows of `\begin{cases}`, `{1, x > 0; 0, x < 0}`
and Iverson's brackets (`\mathbb{1}[x > 0]`). Where no case holds there is no value: 0/0.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from gradcheck.answers.draft import Draft
from gradcheck.answers.working import between

IF = r"if|for|when|at|where(?!\s*\()|wenn|falls|für|si|se|pour|para"
ELSE = r"otherwise|elsewhere|else|sonst|sinon|altrimenti"
CHOICE = re.compile(r"\b(If|IF|IIf|iif|ifelse|if_else|WENN|SI|SE|Which|piecewise)\s*([(\[])")
SUSPECT = re.compile(
    rf"\b(?:{IF}|{ELSE}|Piecewise)\b|cases|array|math[bd]|𝟙|[{{\n;?<>≤≥]|\b[1I]\s*[_\[(]"
    r"|\b(?:I[fF]|II[fF]|iif|if_?else|WENN|SI|SE|Which|piecewise)\s*[(\[]"
)
MEANS = {"positive": ">", "positiv": ">", "negative": "<", "negativ": "<"}
SAID = re.compile(rf"\s+(?:is|ist)\s+({'|'.join(MEANS)})\b", re.IGNORECASE)
FIRST = re.compile(  # a condition, then what holds under it
    r"\s*(?:(?:if|wenn|si|falls)\b\s*)?(?P<test>[^?:=,;]*?(?:[<>≤≥]=?|[=!]=)[^?:=,;]*?)"
    r"\s*(?::|\bthen\b|\bdann\b|\balors\b|[-=]>|→|(?<![<>=!])=(?!=))\s*(?P<value>.*?)\s*",
    re.DOTALL,
)
LAST = re.compile(rf"\s*(?:{ELSE})\b\s*:?\s*(?P<value>.*?)\s*", re.DOTALL)
PARTED = re.compile(
    r"(?<!\d),|,(?!\d)|;|\n|\b(?:el(?:se\s*)?if|sonst\s+wenn)\b\s*|\s(?=\s*(?:else|sonst|sinon|otherwise)\b(?!\s*if))"
)
HANGING = re.compile(r":[ \t]*\n\s*")
BEHIND = re.compile(  # what holds, and its condition in brackets
    r"\s*(?P<value>.*\S)\s*[(\[](?P<test>[^()\[\]]*[<>≤≥][^()\[\]]*)[)\]]\s*", re.DOTALL
)
ENVIRONMENT = re.compile(
    r"(?:\\left\s*)?(?:\\\{|\\lbrace\b)?\s*\\begin\{([dr]?cases|array)\}(?:\{[lcr]+\})?(.*?)\\end\{\1\}"
    r"(?:\s*\\right\s*\.)?",
    re.DOTALL,
)
BRACED = re.compile(r"(?:\\left\s*)?\\?\{(.*?)(?:\\right\s*\.|(?:\\right\s*)?\\?\})?\s*", re.DOTALL)
CALLED = re.compile(r"\bPiecewise\s*[\[(](.*)[\])]\s*$", re.DOTALL)  # Mathematica's, SymPy's
COMMA, SEMICOLON = re.compile(","), re.compile(";")
MOST, FEWEST = 8, 3  # choices in one formula; what a choice is made of
WORDS = re.compile(rf"\\(?:text|mbox|textrm|mathrm)\{{[\s,]*({IF}|{ELSE}|and|or)\s*\}}")
INDICATOR = re.compile(
    r"(?:\\math(?:bb|bf|ds|bbm)\s*(?:\{\s*[1I]\s*\}|[1I])\s*_?|𝟙\s*_?|(?<![\w.)\]}^])(?<!\*\*)(?:1\s*_|I\s*_?))\s*"
    r"(?:\\left\s*)?\\?[\[({]((?:[^()\[\]{}]|\([^()]*\))*?)(?:\\right\s*)?\\?[\])}]"
)
TOKEN = re.compile(
    rf"(?P<open>[(\[{{])|(?P<close>[)\]}}])|\b(?P<if>{IF})\b|\b(?P<else>{ELSE})\b"
    rf"|(?P<row>\\\\|;|\n|\b(?:and|und|et)\b(?=[^<>=≤≥,;\n]*\b(?:{IF}|{ELSE})\b))"
    r"|(?P<part>(?<!\d),|,(?!\d)|&)"
)
NOWHERE = re.compile(r"\s*(?:is )?(?:undefined|not defined|does not exist|DNE)\s*")
NOWHERE_AT = re.compile(rf"{NOWHERE.pattern}(?:at|for|if|when)\b.*")
ALL = re.compile(r"\b(?:for|für|pour)\s+(?:all|any|every|alle|tout)\b(?=[^,;\n&]*[<>=≤≥≠\\])")
ALWAYS = re.compile(
    r"[\s,]*\b(?:for|für|pour)\s+(?:all|any|every|alle|tout)\b[^,;\n&]*$"
    r"|[\s,]*\b(?:for|für|pour)\s+\w+\s*(?:∈|\\in|in)\s*(?:ℝ|R|\\mathbb\s*\{?R\}?)\s*\$?\s*$"
)
LEFT_SIDE = re.compile(rf"(?:(?!\b(?:{IF})\b)[^=:<>;,\n])*(?<![<>=!:])[=:](?!=)\s*")
SIGN = re.compile(r"<=|>=|==|!=|<|>|=|≤|≥|≠|\\(?:leq?|geq?|neq?|lt|gt)(?:slant)?(?![A-Za-z])")
UNEQUAL = re.compile(r"[<>≤≥≠]|!=|\\(?:leq?|geq?|neq?|lt|gt)(?:slant)?(?![A-Za-z])")
LATEX = {"le": "<=", "ge": ">=", "ne": "!=", "lt": "<", "gt": ">"}
SPELLED = {"≤": "<=", "≥": ">=", "≠": "!=", "=": "=="} | {
    f"\\{word}{more}": sign for word, sign in LATEX.items() for more in ("", "q", "slant", "qslant")
}
COMPLEMENTS = ({">", "<="}, {"<", ">="}, {"==", "!="})
AND = re.compile(r"\b(?:and|und|et)\b|\\land\b|\\wedge\b|∧|&&")
OR = re.compile(r"\b(?:or|oder|ou)\b|\\lor\b|\\vee\b|∨")
NONE = "0/0"

Sign = re.Pattern[str]
Span = tuple[int, int]
Written = list[str | Span]


class Item(NamedTuple):
    """A stretch of text, a word, or a sign that parts: its kind and its place."""

    kind: str
    start: int
    stop: int


class Case(NamedTuple):
    """A value and its condition; None where it holds everywhere else."""

    value: Span
    condition: Span | None


def piecewise(draft: Draft, names: Collection[str] = ()) -> None:
    """Write each formula by cases as where(...); what is none stays as it is.

    `names` are the problem's own: an `I` among them is no indicator.
    """
    if not SUSPECT.search(draft.text):
        return
    if "I" not in names:
        draft.swap(INDICATOR, lambda found: f"({found[1]})" if SIGN.search(found[1]) else None)
    draft.swap(SAID, lambda found: f" {MEANS[found[1].lower()]} 0")
    _chosen(draft)
    draft.swap(CALLED, lambda found: "; ".join(_called(found[1])))
    draft.swap(ALL, "for")
    draft.swap(ALWAYS, "")
    draft.swap(WORDS, lambda found: f" {found[1]} ")
    while (found := ENVIRONMENT.search(draft.text)) is not None:
        written = _written(draft.text, found.span(2), rows=SIGN)
        if written is None:
            return
        _put(draft, found.span(), written)
    if draft.text.lstrip().startswith("{") and "}" not in draft.text:
        draft.swap(re.compile(r"(?<=\n)\s*\{"), "")
    _turned_round(draft)
    left = LEFT_SIDE.match(draft.text)
    start = left.end() if left else 0
    if left:  # the same left side may stand before each case
        draft.swap(re.compile(rf"(?<=[\n,;])\s*{re.escape(left[0].strip())}"), " ")
    braced = BRACED.fullmatch(draft.text, start)
    inside = braced.span(1) if braced else (start, len(draft.text))
    alone = "\n" in draft.text or len(UNEQUAL.findall(draft.text)) > 1
    rows = SIGN if braced else UNEQUAL if alone else None
    written = _written(draft.text, inside, rows)
    if written is not None:
        _put(draft, (start, len(draft.text)), written)


def _chosen(draft: Draft) -> None:
    """`If[x > 0, a, b]`, `IF(x>0; a; b)`, `piecewise(x > 0, a, b)` as where(...)."""
    for _ in range(MOST):
        found = CHOICE.search(draft.text)
        stop = _closing(draft.text, found.end() - 1) if found else 0
        if found is None or not stop:
            return
        inside = draft.text[found.end() : stop - 1]
        written = _where(inside, several=found[1] in ("Which", "piecewise"))
        if written is None:
            return
        typed = draft.text[found.start() : stop]
        draft.swap(re.compile(re.escape(typed)), written)


def _where(inside: str, several: bool) -> str | None:
    """Conditions and values in turn as nested where(...); None where they are not."""
    if ";" in inside:
        parts = [re.sub(r"(?<=\d),(?=\d)", ".", part) for part in _listed(inside, SEMICOLON)]
    else:
        parts = _listed(inside)
    if len(parts) < 2 or (len(parts) > FEWEST and not several):
        return None
    last = parts.pop() if len(parts) % 2 else NONE
    written = f"({last})" if last != NONE else NONE
    for test, value in reversed(list(zip(parts[::2], parts[1::2], strict=True))):
        if not SIGN.search(test):
            return None
        pieces = _condition(test, (0, len(test)))
        holds = "".join(p if isinstance(p, str) else test[slice(*p)] for p in pieces)
        written = f"where({holds}, ({value}), {written})"
    return written


def _closing(text: str, at: int) -> int:
    """The place after the bracket that closes the one at a place; 0 if none does."""
    level = 0
    for k in range(at, len(text)):
        level += (text[k] in "([{") - (text[k] in ")]}")
        if level == 0:
            return k + 1
    return 0


def _turned_round(draft: Draft) -> None:
    """Cases with the condition first or behind in brackets as `2x if x > 0; -1 if x < 0`.

    `x > 0: 2x; x < 0: -1`, `x > 0 ? 2x : -1`, `2x (x > 0), -1 (x < 0)`.
    """
    test, asked, values = draft.text.partition("?")
    holds, _, other = values.partition(":")
    if asked and SIGN.search(test) and not {"?", ":"} & set(other) and holds and other:
        test = test.strip().removeprefix("=")
        cases = [f"{holds.strip()} if {test}", f"{other.strip()} otherwise"]
    else:
        text = HANGING.sub(": ", re.sub(r"\A\s*\\?\{|\\?\}\s*\Z", "", draft.text))
        listed = (" ".join(part.split()) for part in _listed(text, PARTED))
        parts = [p for p in listed if p and not NOWHERE_AT.fullmatch(p)]
        cases = _of_first(parts) or _of_behind(parts)
    if cases:
        draft.swap(re.compile(r".+", re.DOTALL), "; ".join(cases))


def _of_first(parts: Sequence[str]) -> list[str]:
    """Each part as its condition, a colon, `then` or an arrow, and what holds.

    The last may say what else holds. Nothing where that is not so.
    """
    cases: list[str] = []
    for n, part in enumerate(parts):
        last = LAST.fullmatch(part)
        if last and n == len(parts) - 1 and n:
            cases.append(f"{last['value']} otherwise")
            continue
        first = FIRST.fullmatch(part)
        if first is None or SIGN.search(first["value"]) or not first["value"]:
            return []
        cases.append(f"{first['value']} if {first['test']}")
    return cases


def _of_behind(parts: Sequence[str]) -> list[str]:
    """Each of several parts as what holds, and its condition in brackets."""
    found = [BEHIND.fullmatch(part) for part in parts]
    if len(parts) < 2 or any(f is None or SIGN.search(f["value"].partition("=")[2]) for f in found):
        return []
    return [f"{f['value']} if {f['test']}" for f in found if f is not None]


def _called(arguments: str) -> Iterator[str]:
    """The cases in `(2*x, x > 0), (-1, True)`, and in `{{2x, x > 0}}, -1`."""
    rows = _listed(arguments)
    if rows[0].startswith("{{"):
        rows = [*_listed(rows[0][1:-1]), *rows[1:]]
    for row in rows:
        value, *condition = _listed(row[1:-1]) if row[:1] in ("(", "{") else [row]
        if len(condition) == 1:
            always = condition[0] in ("True", "true")
            yield f"{value} otherwise" if always else f"{value} if {condition[0]}"
        else:
            yield f"{row} otherwise"


def _listed(text: str, sign: Sign = COMMA) -> list[str]:
    """What commas part, or other signs, outside of brackets."""
    return [text[slice(*place)].strip() for place in between(text, sign, 0, len(text))]


def is_piecewise(text: str) -> bool:
    """Whether a text is a formula by cases."""
    draft = Draft.of(text)
    piecewise(draft)
    return "where(" in draft.text and "where(" not in text


def _put(draft: Draft, place: Span, written: Written) -> None:
    """Put what was written in the place of a stretch of the text; pieces keep their own places."""
    text, places = "", list[int]()
    for piece in written:
        at = places[-1] if places else draft.place(place[0])
        if isinstance(piece, tuple):
            text += draft.text[slice(*piece)]
            places += draft.places[slice(*piece)]
        else:
            text += piece
            places += [at] * len(piece)
    draft.text = draft.text[: place[0]] + text + draft.text[place[1] :]
    draft.places = draft.places[: place[0]] + places + draft.places[place[1] :]


def _written(text: str, inside: Span, rows: Sign | None) -> Written | None:
    """The cases in a stretch of text as nested where(...); None where it holds no cases."""
    cases = _cases(text, list(_items(text, inside)), rows)
    if not cases or cases[0].condition is None or _is_one_point(text, cases):
        return None
    if len(cases) > 1 and _are_complements(text, *(case.condition for case in cases[-2:])):
        cases[-1] = Case(cases[-1].value, None)
    written: Written = [" "]
    closing = 0
    for case in cases:
        none = NOWHERE.fullmatch(text, *case.value)
        value: Written = [NONE] if none else ["(", case.value, ")"]
        if case.condition is None:
            return written + value + [")" * closing]
        for alternative in _parted(text, case.condition, OR):
            written += ["where(", *_condition(text, alternative), ", ", *value, ", "]
            closing += 1
    written += [NONE, ")" * closing]
    return written


def _is_one_point(text: str, cases: Sequence[Case]) -> bool:
    """Whether all is said of single points: `2u where u = x^2` names, `4 for x = 2` evaluates."""
    conditions = [case.condition for case in cases]
    return all(c is not None and not UNEQUAL.search(text, *c) for c in conditions)


def _are_complements(text: str, first: Span | None, second: Span | None) -> bool:
    """Whether one of two conditions always holds: `x > 0` and `x <= 0`."""
    if first is None or second is None:
        return False
    sides = [[text[slice(*s)].strip() for s in _parted(text, c, SIGN)] for c in (first, second)]
    signs = [SIGN.findall(text, *condition) for condition in (first, second)]
    if sides[0] != sides[1] or len(signs[0]) != 1:
        return False
    return {SPELLED.get(sign[0], sign[0]) for sign in signs} in COMPLEMENTS


def _cases(text: str, items: Sequence[Item], rows: Sign | None) -> list[Case] | None:
    """Values with their conditions, in order; None where something is neither.

    With `rows` a condition that has such a sign may stand behind a comma alone.
    """
    cases, at, last = list[Case](), 0, False
    while at < len(items):
        kind, *value = items[at]
        at += 1
        if kind == "else":
            last = [item.kind for item in items[at : at + 1]] != ["if"]
        if kind != "text":
            continue
        if cases and cases[-1].condition is None:
            return None
        parted = at
        while at < len(items) and items[at].kind == "part":
            at += 1
        kinds = [item.kind for item in items[at : at + 2]]
        condition = None
        if kinds == ["if", "text"]:
            word, condition = text[slice(*_span(items[at]))], _span(items[at + 1])
            if word == "at" and not NOWHERE.fullmatch(text, *value):
                return None
            at += 2
        elif kinds[:1] == ["text"] and rows and at > parted:
            condition = _span(items[at])
            if not rows.search(text, *condition):
                return None
            at += 1
        elif not last and kinds[:1] != ["else"]:
            return None
        if condition and not SIGN.search(text, *condition):
            return None
        cases.append(Case((value[0], value[1]), condition))
    return cases


def _span(item: Item) -> Span:
    return item.start, item.stop


def _items(text: str, inside: Span) -> Iterator[Item]:
    """The words and signs that part cases, outside of brackets, and the texts between them."""
    at, level = inside[0], 0
    for found in TOKEN.finditer(text, *inside):
        kind = found.lastgroup or ""
        level += (kind == "open") - (kind == "close")
        if level or kind == "close":
            continue
        yield from _text(text, at, found.start())
        yield Item(kind, *found.span())
        at = found.end()
    yield from _text(text, at, inside[1])


def _text(text: str, start: int, stop: int) -> Iterator[Item]:
    """A stretch without the blanks around it, if there is anything."""
    bare = text[start:stop].strip()
    if bare:
        start = text.index(bare, start)
        yield Item("text", start, start + len(bare))


def _condition(text: str, place: Span) -> Iterator[str | Span]:
    """A condition whose parts all hold: `0 < x < 1` and `x > 0 and y > 0` are products."""
    several = False
    for start, stop in _parted(text, place, AND):
        sides = list(_parted(text, (start, stop), SIGN))
        signs = [found.span() for found in SIGN.finditer(text, start, stop)]
        for left, right, sign in zip(sides, sides[1:], signs, strict=False):
            yield "*(" if several else "("
            yield from (left, "==" if text[slice(*sign)] == "=" else sign, right, ")")
            several = True


def _parted(text: str, place: Span, sign: Sign) -> list[Span]:
    """The stretches between such signs."""
    found = [match.span() for match in sign.finditer(text, *place)]
    ends = [place[0], *(end for span in found for end in span), place[1]]
    return list(zip(ends[::2], ends[1::2], strict=True))
