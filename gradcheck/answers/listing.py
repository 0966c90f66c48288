r"""Lists of numbers and formulas as programs print them and as mathematics sets them.

`[ 0.3 -0.2]` of NumPy, `[1 2; 3 4]` of MATLAB, `\begin{pmatrix}`, `(1, 2)^T`, `{1, 2}`, `<1, 2>`
and `1, 2, 3` as lists in square brackets. A blank parts two numbers where no blank follows the sign
of the second: `[3 -1]` are two, `[3 - 1]` is one, as in MATLAB.
"""

import re
from collections.abc import Iterable, Sequence

from gradcheck.answers.characters import characters
from gradcheck.answers.complaint import refused
from gradcheck.answers.draft import Draft
from gradcheck.answers.words import Words
from gradcheck.answers.working import between

NUMBER = r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ENVIRONMENT = re.compile(
    r"(?:\\left\s*[(\[]\s*)?"
    r"\\begin\{(?:(?P<kind>[pbvBV]?matrix\*?|smallmatrix)\}|array\}\{[lcr| ]+\})"
    r"(?P<rows>(?:(?!\\begin|\\end).)*)\\end\{(?:[pbvBV]?matrix\*?|smallmatrix|array)\}"
    r"(?:\s*\\right\s*[)\]])?",
    re.DOTALL,
)
T_SIGN = r"(?:\\top|\\intercal|\\mathsf\s*\{?T\}?|T)(?![a-z])"
TURNED = rf"(?:\s*(?:\^\s*\{{?\s*{T_SIGN}\s*\}}?|\.T\b|['′’ᵀ⊤]))?"
EXTRAS = re.compile(r",\s*(?:dtype|device|grad_fn|requires_grad)\s*=\s*(?:<[^<>]*>|'[^']*'|[\w.]+)")
SPACED = re.compile(rf"(?<![\w)\]])\[\s*({NUMBER}(?:\s+{NUMBER})+)\s*\]")
BESIDE = re.compile(r"\]\s+\[")
ROWS = re.compile(r"(?<![\w)\]])\[([^\[\]]*;[^\[\]]*)\]")
TIGHT = re.compile(r"\s*[-+−]?\d+,\d+\s*")  # perhaps one number with its decimal comma
LEFT = re.compile(r"[^=<>≤≥\n]*[^=<>≤≥!:\n]=(?![=>])\s*")
COMPARED = re.compile(r"[<>]=?[^,;]*[<>=]|[≤≥]|\bif\b|\\(?:leq?|geq?|lt|gt)\b|[\w)\s][<>][\w(\s]")
BARE = re.compile(rf"\s*{NUMBER}(?:\s*[,;]\s*{NUMBER})+\s*")
IN_LINE = re.compile(rf"[ \t]*{NUMBER}(?:[ \t]+{NUMBER})+[ \t]*")
LISTED = re.compile(r"[,;\[]")
SEPARATED = re.compile("[,;]")
UNSIGNED = re.compile(r"[\d.]\s+[\d.]")
COMMA, SEMICOLON, ROW, CELL = map(re.compile, (",", ";", r"\\\\", "&"))
BRACKETS = {"(": ")", "{": "}", "<": ">", "[": "]"}
FEWEST = 3  # numbers that commas without blanks part


def listing(draft: Draft, words: Words, single: bool) -> None:
    """Write a list of any kind in square brackets; what is none stays as it is.

    `single` says that one number is due, no list.
    """
    text = draft.text
    if "\\begin" in text:
        draft.swap(re.compile(ENVIRONMENT.pattern + TURNED, re.DOTALL), _matrix)
    if not single and (words.arrays or LISTED.search(text)):
        if "=" in text:
            draft.swap(EXTRAS, "")
        _square(draft, words)
        _whole(draft, words)


def is_list(text: str, words: Words) -> bool:
    """Whether a text is a list that is not written in square brackets and commas."""
    draft = Draft.of(text)
    characters(draft)
    before = draft.text
    listing(draft, words, single=False)
    return draft.text != before


def _matrix(found: re.Match[str]) -> str | None:
    r"""The rows of `\begin{pmatrix}`: those of one row or of one column are one list."""
    if not found["kind"] and "\\left" not in found[0]:
        return None
    times = "*" if re.search(r"[\w)}]\s*$", found.string[: found.start()]) else ""
    rows = [_parts(row, CELL) for row in _parts(found["rows"], ROW)]
    if not rows or len({len(row) for row in rows}) > 1:
        return None
    if len(rows) == 1 or len(rows[0]) == 1:
        return times + _as_list(cell for row in rows for cell in row)
    turned = ".T" if found[0].rstrip()[-1] not in "])}" or found[0].endswith("top}") else ""
    return times + _as_list(map(_as_list, rows)) + turned


def _as_list(entries: Iterable[str]) -> str:
    return f"[{', '.join(entries)}]"


def _parts(text: str, sign: re.Pattern[str]) -> list[str]:
    """What stands between signs, outside of brackets."""
    found = (text[slice(*place)].strip() for place in between(text, sign, 0, len(text)))
    return [each for each in found if each]


def _square(draft: Draft, words: Words) -> None:
    """Blanks and semicolons between the numbers of square brackets."""
    if "[" not in draft.text:
        return
    draft.swap(SPACED, lambda found: _as_list(found[1].split()))
    if draft.text.lstrip().startswith(("[[", "array([[", "tensor([[", "np.array([[")):
        draft.swap(BESIDE, "], [")
    draft.swap(ROWS, lambda found: _of_rows(draft, found, words))


def _of_rows(draft: Draft, found: re.Match[str], words: Words) -> str | None:
    """`[1 2; 3 4]`: where each row is one number it stays, and perhaps has decimal commas."""
    rows = [row.strip() for row in found[1].split(";") if row.strip()]
    cells = [row.split() if IN_LINE.fullmatch(row) else _parts(row, COMMA) for row in rows]
    lengths = {len(row) for row in cells}
    if len(lengths) > 1 and max(lengths) >= FEWEST:
        raise refused(draft.text, found.start(), "rows of unlike lengths", "make them equally long")
    if len(cells) < 2 or len(cells[0]) < 2 or len(lengths) > 1:
        return None
    if all(TIGHT.fullmatch(row) for row in rows):
        if (len(cells), len(cells[0])) in words.shapes.values():
            message = "commas may part the numbers of a row, or be decimal commas"
            cure = f"write [[{rows[0].replace(',', ', ')}], ...], or decimals with a point"
            raise refused(draft.text, found.start(), message, cure)
        return None
    return _as_list(map(_as_list, cells))


def _whole(draft: Draft, words: Words) -> None:
    """A text that is a list as a whole, in other brackets than square ones or in none."""
    if not ("," in draft.text or ";" in draft.text or words.arrays):
        return
    left = LEFT.match(draft.text) if "=" in draft.text else None
    start = left.end() if left else 0
    body = draft.text[start:]
    if not (SEPARATED.search(body) or UNSIGNED.search(body)) or COMPARED.search(body):
        return
    written = _bare(body, words) or _bracketed(body)
    if written is not None:
        draft.swap(re.compile(re.escape(body) + r"\Z"), written)


def _bare(body: str, words: Words) -> str | None:
    """Numbers alone, between commas, semicolons, blanks or line breaks."""
    lines = [line for line in body.strip().split("\n") if line.strip()]
    if all(IN_LINE.fullmatch(line) for line in lines) and UNSIGNED.search(body) and words.arrays:
        rows = [_as_list(line.split()) for line in lines]
        return rows[0] if len(rows) == 1 else _as_list(rows)
    if not BARE.fullmatch(body):
        return None
    loose = bool(re.search(r"[,;]\s", body.strip()))
    thousands = re.fullmatch(r"\s*\d{1,3}(?:,\d{3})+\s*", body)
    enough = len(_parts(body, COMMA)) >= FEWEST or ";" in body or loose
    return f"[{body.strip()}]" if enough and not thousands else None


def _bracketed(body: str) -> str | None:
    """`(a, b)`, `{a, b}`, `<a, b>` with what stands in them; a transpose after it says nothing."""
    found = re.fullmatch(rf"\s*(?P<list>[(\[{{<].*[)\]}}>]){TURNED}\s*", body, re.DOTALL)
    if found is None:
        return None
    inner = _inside(found["list"])
    if inner is None or TIGHT.fullmatch(inner):
        return None
    if found["list"][0] == "[" and found["list"] == body.strip():
        return None
    if not _several(inner):
        return None
    return _listed(found["list"])


def _several(inner: str) -> bool:
    return len(_parts(inner, SEMICOLON)) > 1 or len(_parts(inner, COMMA)) > 1


def _inside(text: str) -> str | None:
    """What one pair of brackets holds, if the whole text stands in it."""
    text = text.strip()
    if len(text) < 2 or BRACKETS.get(text[0]) != text[-1]:
        return None
    level = 0
    for at, char in enumerate(text):
        level += (char in "([{") - (char in ")]}") if text[0] != "<" else 0
        if level == 0 and at < len(text) - 1 and text[0] != "<":
            return None
    return text[1:-1]


def _listed(text: str) -> str:
    """Brackets that hold several things as a list, and so those in them."""
    inner = _inside(text)
    if inner is None or not _several(inner):
        return text.strip()
    sign, joint = (SEMICOLON, "; ") if len(_parts(inner, SEMICOLON)) > 1 else (COMMA, ", ")
    entries: Sequence[str] = _parts(inner, sign)
    return f"[{joint.join(each if sign is SEMICOLON else _listed(each) for each in entries)}]"
