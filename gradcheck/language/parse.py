"""Python's own parser, with its faults told as complaints and its numbers read as written."""

import ast
import warnings

from gradcheck.documents.decimals import DIGITS, read_decimal
from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.refusals import SIGNS, SYNTAX, SYNTAX_OTHERWISE

LONGEST, DEPTH = 20_000, 100
DEEP = f"more than {DEPTH} levels of nesting", "split it up in several assignments"


def parse(passage: Passage) -> ast.Module:
    """The syntax tree of a program, no deeper than a walk can go, its decimals as Fractions."""
    if len(passage.source) > LONGEST:
        size = f"{len(passage.source):,} characters, at most {LONGEST:,}"
        raise TextError([passage.complaint(f"a program of {size}", "shorten it")])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(passage.source)
    except SyntaxError as error:
        raise TextError([_syntax_complaint(passage, error)]) from None
    except (RecursionError, MemoryError):
        raise TextError([passage.complaint(*DEEP)]) from None
    except ValueError as error:
        raise TextError([passage.complaint(str(error), "remove it")]) from None
    level: list[ast.AST] = [tree]
    for _ in range(DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise TextError([passage.complaint(*DEEP, where_is(level[0]))])
    _read_numbers(tree, passage)
    return tree


def _syntax_complaint(passage: Passage, error: SyntaxError) -> Complaint:
    """Python's own words, its place, and what was probably meant."""
    line = min(max(error.lineno or 1, 1), len(passage.lines))
    text = passage.lines[line - 1]
    start = min(max((error.offset or 1) - 1, 0), len(text))
    end = error.end_offset if error.end_lineno == line and error.end_offset else start + 1
    stop = max(end - 1, start + 1)
    before, until = (len(text[:at].encode(errors="replace")) for at in (start, stop))
    where = (line, line, before, until)
    if sign := SIGNS.get(text[start : start + 1]):
        return passage.complaint(f"`{text[start]}` is no sign of Python", f"write `{sign}`", where)
    message = f"not readable as Python: {error.msg[0].lower()}{error.msg[1:]}"
    return passage.complaint(message, cure(error, SYNTAX_OTHERWISE), where)


def cure(error: SyntaxError, otherwise: str = "") -> str:
    said = error.msg.lower()
    return next((cure for words, cure in SYNTAX if words in said), otherwise)


def _read_numbers(tree: ast.AST, passage: Passage) -> None:
    """Put into the tree, for each decimal number, the Fraction that is written in the text."""
    complaints = []
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    hidden = {id(node) for each in formatted for node in ast.walk(each)}  # refused later
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in hidden:
            continue
        value: object = node.value
        said = ""
        if isinstance(value, float):
            try:
                node.value = read_decimal(passage.text(where_is(node)))  # type: ignore[assignment]
            except ValueError as error:
                said = str(error)
        elif isinstance(value, int) and abs(value) >= 10**DIGITS:
            said = f"an integer with more than {DIGITS} digits"
        if said:
            cure = "write a number that float64 can hold"
            complaints.append(passage.complaint(said, cure, where_is(node)))
    if complaints:
        raise TextError(complaints[:20])
