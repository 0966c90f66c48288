"""Python's own parser, with its faults told as complaints and its numbers read as written."""

import ast
import warnings

from gradcheck.documents.decimals import DIGITS, read_decimal
from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.refusals import SIGNS, SYNTAX, SYNTAX_OTHERWISE

LONGEST = 20_000
DEPTH = 100
DEEP = f"more than {DEPTH} levels of nesting"
SPLIT = "split it up in several assignments"


def parse(passage: Passage) -> ast.Module:
    """The syntax tree of a program, of sane size and numbers."""
    if len(passage.source) > LONGEST:
        size = f"{len(passage.source):,} characters, at most {LONGEST:,}"
        raise TextError([passage.complaint(f"a program of {size}", "shorten it")])
    tree = _tree(passage)
    check_depth(tree, passage)
    read_numbers(tree, passage)
    return tree


def _tree(passage: Passage) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(passage.source)
    except SyntaxError as error:
        raise TextError([_syntax_complaint(passage, error)]) from None
    except (RecursionError, MemoryError):
        raise TextError([passage.complaint(DEEP, SPLIT)]) from None
    except ValueError as error:
        raise TextError([passage.complaint(str(error), "remove it")]) from None


def _syntax_complaint(passage: Passage, error: SyntaxError) -> Complaint:
    """Python's own words, its place, and what was probably meant."""
    line = min(max(error.lineno or 1, 1), len(passage.lines))
    text = passage.lines[line - 1]
    start = min(max((error.offset or 1) - 1, 0), len(text))
    end = error.end_offset if error.end_lineno == line and error.end_offset else start + 1
    where = (line, line, _bytes(text[:start]), _bytes(text[: max(end - 1, start + 1)]))
    sign = SIGNS.get(text[start : start + 1])
    words = error.msg[0].lower() + error.msg[1:]
    if sign:
        return passage.complaint(f"`{text[start]}` is no sign of Python", f"write `{sign}`", where)
    return passage.complaint(
        f"not readable as Python: {words}", cure(error, SYNTAX_OTHERWISE), where
    )


def cure(error: SyntaxError, otherwise: str = "") -> str:
    """What was probably meant."""
    said = error.msg.lower()
    return next((cure for words, cure in SYNTAX if words in said), otherwise)


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def check_depth(tree: ast.AST, passage: Passage) -> None:
    """Refuse what is nested deeper than the walks over the tree can go."""
    level: list[ast.AST] = [tree]
    for _ in range(DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise TextError([passage.complaint(DEEP, SPLIT, where_is(level[0]))])


def read_numbers(tree: ast.AST, passage: Passage) -> None:
    """Put into the tree, for each decimal number, the Fraction that is written in the text."""
    complaints = []
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    hidden = {id(node) for each in formatted for node in ast.walk(each)}  # refused later
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in hidden:
            try:
                _read_number(node, passage.text(where_is(node)))
            except ValueError as error:
                cure = "write a number that float64 can hold"
                complaints.append(passage.complaint(str(error), cure, where_is(node)))
    if complaints:
        raise TextError(complaints[:20])


def _read_number(node: ast.Constant, text: str) -> None:
    """Read one number; texts, truth values and the like stay."""
    value: object = node.value
    if isinstance(value, float):
        node.value = read_decimal(text)  # type: ignore[assignment]  # lowered before compiling
    elif isinstance(value, int) and abs(value) >= 10**DIGITS:
        raise ValueError(f"an integer with more than {DIGITS} digits")
