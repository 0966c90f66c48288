"""Derivatives that are not yet taken, in steps of working: `d/dx(x^2)`, fractions of d and dx."""

import ast

from gradcheck.answers.characters import DERIVATIVE
from gradcheck.answers.complaint import refused
from gradcheck.answers.cursor import CLOSING, NEVER, UNTAKEN, Cursor
from gradcheck.answers.echo import PRODUCT


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
