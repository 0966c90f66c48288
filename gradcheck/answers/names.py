"""Words: declared names, entries, functions, words run together, choices, sizes."""

import ast
import difflib

from gradcheck.answers.calls import read_application, read_logarithm
from gradcheck.answers.characters import DERIVATIVE, clipped, refused
from gradcheck.answers.cursor import NEVER, Cursor
from gradcheck.answers.echo import echo
from gradcheck.answers.shapes import identity, rows_named
from gradcheck.answers.tokens import Token
from gradcheck.answers.values import is_operator, read_group, read_list, read_operator
from gradcheck.answers.words import (
    MODULES,
    SUBMODULES,
    SUBSCRIPT,
    WRAPPERS,
    Meaning,
    Words,
    segmented,
)
from gradcheck.errors import TextError

UNITS = ("m", "s", "km", "cm", "kg", "rad")
SPECIAL = {
    "C": "an answer needs no constant of integration",
    "inf": "a derivative is a formula; infinity is not read",
    "infinity": "a derivative is a formula; infinity is not read",
    "nan": "a derivative is a formula",
    "True": "truth values stand only after keepdims=",
    "False": "truth values stand only after keepdims=",
    "None": "None stands only in an index or after axis=",
    **dict.fromkeys(["or", "and", "oder", "ou"], "give one formula"),
    **dict.fromkeys(
        ["if", "If", "IF", "for", "when", "else", "otherwise", "piecewise", "Piecewise"],
        "cases are written `1 if x > 0 else 0`",
    ),
}


def read_word(p: Cursor) -> ast.expr:
    """A declared name, a constant, or a function with its argument."""
    token = p.tokens[p.at]
    if token.text in p.own:
        p.at += 1
        return p.own[token.text]
    meaning = p.words.meant(token.text)
    if meaning is None:
        return read_undeclared(p, token)
    p.at += 1
    if meaning.name != token.text and token.text not in p.words.plain:
        note_respelling(p, token, meaning)
    if meaning.kind == "function":
        return read_application(p, token, meaning.name)
    if meaning.kind == "entry":
        return read_entry(p, token, meaning.name)
    if p.sees("(") and p.words.function(token.text):
        p.note(f"{token.text} is a name of this problem: {token.text}(...) is read as a product")
    return p.node(ast.Name(meaning.name, ast.Load()), token.start)


def note_respelling(p: Cursor, token: Token, meaning: Meaning) -> None:
    """Note a word in other letters."""
    if meaning.kind in ("name", "constant") and token.text.lower() == meaning.name.lower():
        p.note(f"{token.text} is read as {meaning.name}")


def read_entry(p: Cursor, token: Token, name: str) -> ast.expr:
    """`x_1` is the first entry of a vector, `A_{12}` one of a matrix, counted from one."""
    stem, *places = name.split(",")
    if not places:
        return p.node(ast.Name(stem, ast.Load()), token.start)
    value = p.node(ast.Name(stem, ast.Load()), token.start)
    index: list[ast.expr] = [p.node(ast.Constant(int(place)), token.start) for place in places]
    inner = index[0] if len(index) == 1 else p.node(ast.Tuple(index), token.start)
    found = p.node(ast.Subscript(value, inner, ast.Load()), token.start)
    p.note(f"{token.text} is read as {echo(found)}, counted from one")
    return found


def read_undeclared(p: Cursor, token: Token) -> ast.expr:
    """`np.sin`, `array([...])`, `log_3 x`, words run together, or a refusal."""
    primed = p.sees("'", ahead=1)
    if primed and not segmented(p.words, token.text, opens=False):
        raise p.refused(p.look(1), *NEVER["'"])
    if token.text in MODULES and p.sees(".", ahead=1) and p.look(2).kind == "word":
        p.at += 2
        if p.look().text in SUBMODULES and p.sees(".", ahead=1):
            p.at += 2
        meaning = p.meaning(p.look())
        if meaning and meaning.kind != "name":
            return read_word(p)
        raise unknown(p.words, p.typed, p.look(), called=p.sees("(", ahead=1))
    if token.text in WRAPPERS and p.sees("(", ahead=1) and p.sees("[", ahead=2):
        return read_wrapped(p)
    if token.text in ("arc", "ar", "arg") and p.words.function(token.text + p.look(1).text):
        p.at += 1
        after = p.look()
        p.tokens[p.at] = after._replace(text=token.text + after.text, start=token.start)
        return read_word(p)
    if token.text == "grad_fn" or is_operator(p):
        return read_operator(p)
    logarithm = read_logarithm(p, token)
    if logarithm is not None:
        return logarithm
    if token.text in ("n", "N", "I") and (sized := read_size(p, token)) is not None:
        return sized
    if token.text == "I" and p.sees("(", ahead=1):
        p.step()
        return read_group(p)
    if token.text == "tr" and p.sees("(", "[", ahead=1):
        p.tokens[p.at] = token._replace(text="trace")
        return read_word(p)
    return read_segments(p, token)


def read_segments(p: Cursor, token: Token) -> ast.expr:
    """The first of the known words that are run together in an unknown one."""
    ways = segmented(p.words, token.text, opens=p.sees("(", ahead=1))
    if len(ways) > 1:
        first, second = (p.words.shown(way) for way in ways[:2])
        message = f"{token.text} can be read in more than one way"
        raise p.refused(token, message, f"write {first}, or {second}")
    if not ways:
        raise unknown(p.words, p.typed, token, called=p.sees("(", ahead=1))
    p.note(f"{token.text} is read as {p.words.shown(ways[0])}")
    pieces: list[Token] = []
    at = token.start + (token.end - token.start == len(token.text) + 1)
    for piece in ways[0]:
        kind = "number" if piece.isdigit() else "word"
        last = piece is ways[0][-1] and len(pieces) == len(ways[0]) - 1
        stop = token.end if last else min(at + len(piece), token.end)
        pieces.append(Token(kind, piece, at if pieces else token.start, stop,
                            token.spaced and not pieces))  # fmt: skip
        at = stop
    p.tokens[p.at : p.at + 1] = pieces
    return read_word(p)


def read_wrapped(p: Cursor) -> ast.expr:
    """`tensor([[1, 2]], dtype=...)`: the list alone."""
    p.at += 1
    opening = p.step()
    found = read_list(p)
    start = p.tokens[p.at].start
    while p.takes(","):
        level = 0
        while not (level == 0 and p.sees(",", ")")):
            token = p.step()
            level += (token.text == "(") - (token.text == ")")
            if token.kind == "end":
                raise p.unexpected(") to close (")
    if p.tokens[p.at].start > start:
        p.note(f"`{p.text(start)}` is left out")
    p.closes(opening, ")")
    return found


def read_size(p: Cursor, token: Token) -> ast.expr | None:
    """`n` as the length that most arrays begin with, `I` as the identity."""
    found = identity(p.shapes) if token.text == "I" else rows_named(p.shapes)
    if found is None:
        return None
    p.at += 1
    name = p.node(ast.Name(found, ast.Load()), token.start)
    shape = p.node(ast.Attribute(name, "shape", ast.Load()), token.start)
    zero = p.node(ast.Constant(0), token.start)
    rows: ast.expr = p.node(ast.Subscript(shape, zero, ast.Load()), token.start)
    if token.text == "I":
        rows = p.called("eye", [rows], token.start)
    p.note(f"{token.text} is read as {echo(rows)}")
    return rows


def unknown(words: Words, text: str, token: Token, called: bool) -> TextError:
    """The refusal of an undeclared word, with the likeliest cure."""
    word = token.text
    cure = (
        _derivative(words, word)
        or _entry(words, word)
        or SPECIAL.get(word)
        or _close(words, word, called)
    )
    sort = "function" if called and len(word) > 1 else "name"
    width = max(token.end - token.start, 1)
    return refused(text, token.start, f"unknown {sort} {word}", cure, width)


def _derivative(words: Words, word: str) -> str:
    """`dx`, `dy` and `d` in `d/dx` are derivative signs unless they are declared."""
    single = len(word) == 2 and (word[1] in words.names or word[1] in "xyzfgut")
    if word == "d" or (word[0] == "d" and single and "d" not in words.names):
        return DERIVATIVE
    return ""


def _entry(words: Words, word: str) -> str:
    """`x_1` where x is declared may be an entry of x."""
    match = SUBSCRIPT.fullmatch(word)
    if match is None or match[1] not in words.names:
        return ""
    if match[2].isalpha() and words.shapes.get(match[1]):
        return "write sums over indices as einsum('ij,j->i', A, x), or as a product of matrices"
    return f"write {match[1]}[0] for the first entry"


def _close(words: Words, word: str, called: bool) -> str:
    """The nearest spelling, or what may be used."""
    likely = sorted(s for s in set(words.spellings()) if abs(len(s) - len(word)) <= 2)
    near = difflib.get_close_matches(word, likely, n=1, cutoff=0.76)
    if near:
        return f"did you mean {near[0]}?"
    if called:
        return "write * if a product is meant" if word in words.names else "use a known function"
    units = "; units are left out" if word in UNITS else ""
    listed = clipped(", ".join(sorted(words.names)), 60) + units
    return f"the names of this problem are {listed}" if listed else "this problem declares no names"
