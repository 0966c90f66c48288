"""Values: numbers, brackets, bars, lists, roots, fractions, sums, and derivatives not yet taken."""

import ast
import re
from collections.abc import Sequence
from itertools import pairwise

from gradcheck.answers.characters import DERIVATIVE, refused
from gradcheck.answers.cursor import CLOSING, FACTORS, NEVER, RADICALS, UNTAKEN, Cursor
from gradcheck.answers.echo import POWER, PRODUCT, SUM, constant, echo, number
from gradcheck.answers.tokens import Token

THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")
COMPARISONS = frozenset(["<", "<=", ">", ">=", "==", "!="])


def read_number(p: Cursor) -> ast.expr:
    """A number with its decimal comma, unless `2e3` could mean the declared name e."""
    token = p.step()
    text = token.text
    if text == "1" and is_indicator(p):
        return read_indicator(p)
    if p.tokens[p.at].text == "," and not p.listed:
        text = join_commas(p, token)
    if not text.isdigit() and ("e" in text or "E" in text):
        refuse_multiple(p, token)
    return p.node(constant(text), token.start)


def is_indicator(p: Cursor, ahead: int = 0) -> bool:
    """Whether `_{x > 0}` or `[x > 0]` comes."""
    below = p.sees("_", ahead=ahead)
    if not p.sees("[", "{" if below else "[", ahead=ahead + below):
        return False
    opening = p.at + ahead + below
    inside = p.tokens[opening : p.closing_bracket(opening)]
    return any(t.text in COMPARISONS for t in inside)


def read_indicator(p: Cursor) -> ast.expr:
    """`1_{x > 0}`, `1[x > 0]`: one where it holds, else zero."""
    p.takes("_")
    opening = p.step()
    inner = p.operand(p.expression(0))
    p.closes(opening, CLOSING[opening.text])
    return inner


def join_commas(p: Cursor, token: Token) -> str:
    """The digits of a number with a decimal comma, or with commas between thousands."""
    at, text = p.at, token.text
    while p.tokens[at].text == "," and p.tokens[at].start == p.tokens[at - 1].end:
        after = p.tokens[at + 1]
        if after.kind != "number" or after.start != p.tokens[at].end:
            break
        text += f",{after.text}"
        at += 2
    parts = text.split(",")
    if len(parts) == 1:
        return text
    comma = p.tokens[p.at]
    if THOUSANDS.fullmatch(text):
        p.at = at
        return text.replace(",", "")
    fraction = parts[1].replace("e", "").replace("-", "")  # 1,5e-3
    if len(parts) > 2 or not parts[0].isdigit() or not fraction.isdigit():
        if "." in parts[0] and parts[1].isdigit():
            whole = parts[0].replace(".", "")
            cure = f"decimals are written with a point: write {whole}.{parts[1]}"
            raise p.refused(token, "a comma inside a number", cure)
        return token.text
    bare = at == len(p.tokens) - 1 and all(t.text in "+-" for t in p.tokens[: p.at - 1])
    if bare and not p.single:
        raise p.comma(comma)
    whole, decimals = parts
    if len(decimals) == 3 and len(whole) <= 3 and whole[0] != "0":
        raise p.comma(comma)
    p.at = at
    p.note(f"{text} is read as {whole}.{decimals}")
    return f"{whole}.{decimals}"


def refuse_multiple(p: Cursor, token: Token) -> None:
    """Refuse `2e3` where an input is called e."""
    letter = "e" if "e" in token.text else "E"
    whole = "." not in token.text
    mantissa, _, exponent = token.text.partition(letter)
    if letter in p.words.names and whole:
        tail = exponent if exponent[0] in "+-" else f"*{exponent}"
        cure = f"write {mantissa}*{letter}{tail} or {mantissa}*10^{exponent}"
        raise p.refused(token, f"is {token.text} a number or a multiple of {letter}?", cure)
    if p.words.meaning(letter) and whole:
        p.note(f"{token.text} is read as {mantissa}*10^{exponent}")


def read_group(p: Cursor) -> ast.expr:
    """What stands in round brackets or braces; commas or semicolons make it a tuple."""
    opening = p.step()
    closing = CLOSING[opening.text]
    if p.sees(closing):
        raise p.refused(opening, "empty brackets", "write what belongs between them")
    keyword = p.sees("=", ahead=-2)  # axis=(0, 1)
    before = p.inside(listed=keyword)
    parts = [p.expression(0)]
    comma = False
    while p.sees(",", ";"):
        comma = True
        p.listed |= p.step().text == ","
        if p.sees(closing):
            break
        parts.append(p.expression(0))
    p.listed, p.bars = before
    p.closes(opening, closing)
    return p.node(ast.Tuple(parts, ast.Load()), opening.start) if comma else parts[0]


def read_list(p: Cursor) -> ast.expr:
    """A list of values, perhaps of lists; rows are parted by semicolons or line breaks."""
    opening = p.step()
    before = p.inside(listed=True)
    stop = p.closing_bracket(p.at - 1)
    inside = p.tokens[p.at : stop]
    blanks = not p.single and is_of_blanks(inside)
    decimal = has_decimal_commas(p, inside)
    p.listed = not decimal
    rows: list[list[ast.expr]] = [[]]
    while not p.sees("]"):
        if p.tokens[p.at].kind == "end":
            raise p.refused(opening, "[ is never closed", "add ]")
        rows[-1].append(read_spaced_number(p) if blanks else p.expression(0))
        comma = p.takes(",")
        end = p.at
        while p.sees(";") or p.tokens[p.at].kind == "line":
            p.step()
        if p.at > end:
            if not (comma and len(rows[-1]) == 1) and not p.sees("]"):
                rows.append([])
        elif not comma and not blanks:
            break
    p.listed, p.bars = before
    p.closes(opening, "]")
    return p.node(list_rows(p, opening, rows), opening.start)


def list_rows(p: Cursor, opening: Token, rows: list[list[ast.expr]]) -> ast.expr:
    """A list, or a list of rows."""
    if len(rows) == 1:
        return ast.List(rows[0], ast.Load())
    if len({len(row) for row in rows}) > 1:
        raise p.refused(opening, "rows of unlike lengths", "make them equally long")
    if len(rows[0]) == 1:
        return ast.List([row[0] for row in rows], ast.Load())
    return ast.List(
        [p.node(ast.List(row, ast.Load()), row[0].col_offset) for row in rows], ast.Load()
    )


def has_decimal_commas(p: Cursor, inside: Sequence[Token]) -> bool:
    """Whether the commas of `[0,5; 1,5]` are decimal commas."""
    texts = [token.text for token in inside]
    if ";" not in texts or "[" in texts or "," not in texts:
        return False
    rows = re.split(r";", p.typed[inside[0].start : inside[-1].end])
    if not all(re.fullmatch(r"\s*[-+−]?\d+(?:,\d+)?\s*", row) for row in rows):
        return False
    if all("," in row for row in rows) and (len(rows), 2) in p.shapes.values():
        first = rows[0].replace(",", ", ").strip()
        message = "commas may part the numbers of a row, or be decimal commas"
        cure = f"write [[{first}], ...], or decimals with a point"
        raise p.refused(p.tokens[p.at - 1], message, cure)
    p.note("semicolons are read as separators, commas between digits as decimal commas")
    return True


def read_spaced_number(p: Cursor) -> ast.expr:
    """A number with its sign, or a row of them, in a list that blanks part."""
    if p.sees("["):
        return read_list(p)
    start = p.tokens[p.at].start
    sign = p.step().text if p.sees("-", "+") else ""
    found = read_number(p)
    if not sign:
        return found
    return p.node(ast.UnaryOp(ast.USub() if sign == "-" else ast.UAdd(), found), start)


def read_absolute(p: Cursor) -> ast.expr:
    """What stands between bars: its absolute value; of a vector perhaps its norm."""
    opening = p.step()
    if p.tokens[p.at].kind == "end":
        cure = "write abs(...) instead of |...|"
        raise p.refused(opening, "these bars do not pair up", cure)
    if not p.words.function("absolute"):
        raise p.refused(opening, "absolute values are not accepted here", "write it without")
    closing = "|)" if opening.text == "|(" else "|"
    outer, listed = p.bars, p.listed
    p.bars, p.listed = (outer + 1 if closing == "|" else 0), False
    inner = p.operand(p.expression(0))
    p.bars, p.listed = outer, listed
    if closing == "|" and p.sees("|"):
        after = p.look(1)
        if after.kind in FACTORS or p.sees("(", "{", ahead=1):
            p.bars_in_doubt.append(p.tokens[p.at].start)
    if not (p.takes(closing) or (closing == "|" and p.takes("|)"))):
        if p.tokens[p.at].kind == "end" or p.sees("|"):
            cure = "write abs(...) instead of |...|"
            raise p.refused(opening, "these bars do not pair up", cure)
        raise p.unexpected("| to close |")
    shape = p.shape(inner)
    if shape:
        p.note("bars around an array are read entry by entry; a length is norm(...)")
        normed = len(shape) == 1 and p.words.function("norm")
        if normed and not p.doubt(usual=True):
            return p.called("norm", [inner], opening.start)
    return p.called("absolute", [inner], opening.start)


def read_norm(p: Cursor) -> ast.expr:
    """`‖x‖`, with `_2` or `_F` below."""
    opening = p.step()
    before = p.inside(listed=False)
    p.in_norm = True
    inner = p.operand(p.expression(0))
    p.listed, p.bars = before
    p.in_norm = False
    p.closes(opening, "‖")
    below = p.tokens[p.at]
    if below.kind == "word" and below.text.startswith("_"):
        if below.text not in ("_2", "_F"):
            raise p.refused(below, "another norm than the usual one", "write it as a sum")
        p.at += 1
    return p.called("norm", [inner], opening.start)


def read_angles(p: Cursor) -> ast.expr:
    """`⟨x, y⟩` is the product of two vectors, `⟨1, 2⟩` a list."""
    opening = p.step()
    before = p.inside(listed=True)
    parts = [p.expression(SUM)]
    while p.takes(","):
        parts.append(p.expression(SUM))
    p.listed, p.bars = before
    p.closes(opening, "⟩")
    if len(parts) == 2 and all(p.shape(part) for part in parts):
        p.note("angle brackets are read as the product of two vectors")
        return p.node(ast.BinOp(parts[0], ast.MatMult(), parts[1]), opening.start)
    return p.node(ast.List(parts, ast.Load()), opening.start)


def read_radical(p: Cursor) -> ast.expr:
    """A root sign covers the one factor after it, with its power: noted where more follows."""
    sign = p.step()
    factor = p.tokens[p.at]
    if not p.factor_starts():
        raise p.refused(factor, "a root sign without what is under it", "write √(...)")
    inner = p.operand(p.expression(POWER))
    call = p.called(RADICALS[sign.text], [inner], sign.start)
    after = p.tokens[p.at]
    if isinstance(inner, ast.BinOp) and inner.col_offset == factor.start:
        p.note(f"{p.text(sign.start)} is read as {echo(call)}")
    elif factor.kind in FACTORS and after.kind == "word":
        p.note(f"{p.text(sign.start)}{after.text} is read as {echo(call)}*{after.text}")
    return call


def read_fraction(p: Cursor) -> ast.expr:
    """A LaTeX fraction; of d and dx it is a derivative not yet taken."""
    token = p.step()
    if (variable := skip_operator(p, braced=True)) is not None:
        return read_untaken(p, token.start, variable)
    above = read_argument(p)
    below = read_argument(p)
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def read_root(p: Cursor) -> ast.expr:
    """A LaTeX root, perhaps with its index: a square root, a cube root or a power."""
    token = p.step()
    index = None
    if p.sees("["):
        opening = p.step()
        index = p.operand(p.expression(0))
        p.closes(opening, "]")
    inner = read_argument(p)
    name = "sqrt" if index is None else {2: "sqrt", 3: "cbrt"}.get(int(number(index) or 0))
    if name or index is None:
        return p.called(name or "sqrt", [inner], token.start)
    one = p.node(ast.Constant(1), token.start)
    exponent = p.node(ast.BinOp(one, ast.Div(), index), token.start)
    return p.node(ast.BinOp(inner, ast.Pow(), exponent), token.start)


def read_argument(p: Cursor) -> ast.expr:
    """One argument of a LaTeX command: a group in braces, or one digit, letter or command."""
    token = p.tokens[p.at]
    if p.sees("{"):
        return p.operand(read_group(p))
    command = p.typed[token.start : token.start + 1] == "\\"
    if token.kind == "number" and not token.text.isdigit() and len(token.text) > 1:
        raise p.unexpected("an argument in braces")  # `\frac1e5`, `\frac1.5` have no one meaning
    if token.kind in FACTORS and len(token.text) > 1 and not command:
        middle = token.start + 1
        p.tokens[p.at : p.at + 1] = [
            token._replace(text=token.text[0], end=middle),
            token._replace(text=token.text[1:], start=middle, spaced=False),
        ]
    if not p.factor_starts():
        raise p.unexpected("an argument in braces")
    p.deeper()
    found = p.operand(p.value())
    p.depth -= 1
    return found


def read_sum(p: Cursor) -> ast.expr:
    """`∑ x_i^2`, `∑_{i=1}^n x_i y_i`: a sum over the entries of what follows it."""
    sign = p.step()
    letter = read_sum_index(p)
    if letter:
        p.words = p.words.indexed(letter)
    try:
        inner = p.operand(p.expression(PRODUCT))
    finally:
        p.words = p.words.outer or p.words
    shape = p.shape(inner)
    if shape is not None and len(shape) != 1 and not (shape and not letter):
        cure = "write sum(...) with its axis, or einsum('ij,j->i', A, x)"
        raise p.refused(sign, "this sum over indices is not read", cure)
    p.note(f"{p.text(sign.start)} is read as sum({echo(inner)})")
    return p.called("sum", [inner], sign.start)


def read_sum_index(p: Cursor) -> str:
    """The letter below a sum sign; what stands above it is the length of what is summed."""
    letter = ""
    token = p.tokens[p.at]
    if token.kind == "word" and re.fullmatch(r"_[a-z]", token.text):
        letter = p.step().text[1:]
    elif token.text == "_":
        p.step()
        braced = p.takes("{")
        letter = p.step().text
        while braced and not p.takes("}"):
            if p.step().kind == "end":
                raise p.unexpected("} to close {")
    if p.sees("^"):
        p.step()
        if p.sees("{"):
            read_group(p)
        else:
            p.step()
    return letter


def read_environment(p: Cursor) -> ast.expr:
    """The rows of a matrix in LaTeX: those of one row or of one column are one list."""
    opening = p.step()
    if opening.text == "cases":
        stop = next((k for k in range(p.at, len(p.tokens)) if p.tokens[k].text == "cases"), 0)
        found = p.by_cases(p.tokens[p.at : stop]) if stop else None
        if found is None:
            cure = "write 1 if x > 0 else 0"
            raise p.refused(opening, "these cases are not read", cure)
        p.at = stop + 1
        return found
    before = p.inside(listed=True)
    rows: list[list[ast.expr]] = [[]]
    while p.tokens[p.at].kind != "end":
        rows[-1].append(p.expression(0))
        if p.tokens[p.at].kind == "line":
            p.step()
            rows += [[]] if p.tokens[p.at].kind != "end" else []
        elif not p.takes("&"):
            break
    p.listed, p.bars = before
    if not p.tokens[p.at].text:
        raise p.refused(opening, "\\begin is never ended", "add \\end")
    if p.tokens[p.at].kind != "end":
        raise p.unexpected("& or \\end")
    p.at += 1
    return p.node(list_rows(p, opening, rows), opening.start)


def is_of_blanks(inside: Sequence[Token]) -> bool:
    """Whether blanks alone part the numbers of a list: `[1 -2.5 3]`, `[[1 2] [3 4]]`."""
    if any(not (t.kind in ("number", "line") or t.text in "+-[];") for t in inside):
        return False
    blank = False
    for before, token in pairwise(inside):
        if token.text in "+-" and before.kind == "number" and not token.spaced:
            return False
        if before.text in "+-" and token.spaced:
            return False
        starts = token.kind == "number" or token.text in "+-["
        blank |= starts and token.spaced and (before.kind == "number" or before.text == "]")
    return blank


def is_operator(p: Cursor) -> bool:
    """Whether `d/dx` is here."""
    texts = [p.look(k).text for k in range(3)]
    return texts[0] in ("d", "∂") and texts[1] == "/" and texts[2][:1] in ("d", "∂")


def skip_operator(p: Cursor, braced: bool) -> str | None:
    """The variable of `{d}{dx}`, which is stepped over; None where it is something else."""
    texts = [p.look(k).text for k in range(7)]
    if texts[:1] != ["{"] or texts[1] not in ("d", "∂") or texts[2:4] != ["}", "{"]:
        return None
    if texts[4] == "∂" and texts[6] == "}":
        p.at += 7
        return texts[5]
    if texts[4][:1] == "d" and texts[5] == "}":
        p.at += 6
        return texts[4][1:]
    return None


def read_operator(p: Cursor) -> ast.expr:
    """`d/dx` before what it differentiates; a derivative already written is refused."""
    token = p.look()
    if not is_operator(p):
        raise p.refused(token, *NEVER["∂"])
    below = p.look(2)
    p.at += 3
    variable = below.text[1:] if below.text != "∂" else p.step().text
    return read_untaken(p, token.start, variable)


def read_untaken(p: Cursor, start: int, variable: str) -> ast.expr:
    """A derivative not yet taken, of the bracket or the product that follows."""
    if not variable or not p.factor_starts():
        raise refused(p.typed, start, "derivative signs are not read", DERIVATIVE)
    if p.sees("(", "[", "{"):
        opening = p.step()
        inner = p.operand(p.expression(0))
        p.closes(opening, CLOSING[opening.text])
    else:
        inner = p.operand(p.expression(PRODUCT))
        if "*" in p.typed[inner.col_offset : inner.end_col_offset]:
            raise refused(p.typed, start, "where does this derivative end?", "use brackets")
    name = p.node(ast.Name(variable, ast.Load()), start)
    p.untaken_at = start
    return p.called(UNTAKEN, [inner, name], start)
