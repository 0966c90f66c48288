"""Whether an echo says what was understood: read again by Python's own parser, or by ours.

Of plain formulas (numbers, names, + - * / **, functions of one argument) both grammars have one
reading, and Python's parser is in C. It builds a tree and carries nothing out. Where it finds the
same tree, and every word means here what it says, ours would too (a test holds them together).
Anything else, and whatever comes near to a limit, is read again by ours.
"""

import ast
from fractions import Fraction

from gradcheck.answers.grammar import parse
from gradcheck.answers.trees import alike
from gradcheck.answers.words import ARITY, Words

LENGTH = 480  # characters, so that there are fewer signs than may be
HEIGHT = 24  # steps, so that there are fewer levels of brackets than may be
SIGNS = frozenset({ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow})


def reads_again(tree: ast.Expression, understood: str, words: Words) -> bool:
    """Whether the echo of a tree is read as that tree; raises TextError where it is not read."""
    if len(understood) <= LENGTH and _by_python(tree, understood, words):
        return True
    again, _ = parse(understood, words)
    return alike(again, tree)


def _by_python(tree: ast.Expression, understood: str, words: Words) -> bool:
    """Whether Python reads a plain formula so; False does not say that ours would not."""
    try:
        again = ast.parse(understood, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return _same(tree.body, again.body, understood, words, HEIGHT)


def _same(ours: ast.expr, theirs: ast.expr, text: str, words: Words, height: int) -> bool:
    """Whether two plain trees are the same, and no higher than that."""
    if type(ours) is not type(theirs) or not height:
        return False
    if isinstance(ours, ast.BinOp) and isinstance(theirs, ast.BinOp):
        return (
            type(ours.op) is type(theirs.op)
            and type(ours.op) in SIGNS
            and _same(ours.left, theirs.left, text, words, height - 1)
            and _same(ours.right, theirs.right, text, words, height - 1)
        )
    if isinstance(ours, ast.Name) and isinstance(theirs, ast.Name):
        return ours.id == theirs.id and _means(words, ours.id, "name", "constant")
    if isinstance(ours, ast.Constant) and isinstance(theirs, ast.Constant):
        return _same_number(ours.value, text[theirs.col_offset : theirs.end_col_offset])
    if isinstance(ours, ast.UnaryOp) and isinstance(theirs, ast.UnaryOp):
        same = type(ours.op) is type(theirs.op)
        return same and _same(ours.operand, theirs.operand, text, words, height - 1)
    if isinstance(ours, ast.Call) and isinstance(theirs, ast.Call):
        return _same_call(ours, theirs, text, words, height)
    return False


def _same_call(ours: ast.Call, theirs: ast.Call, text: str, words: Words, height: int) -> bool:
    """Whether both call the same function of one argument with the same argument."""
    f, g = ours.func, theirs.func
    if not (isinstance(f, ast.Name) and isinstance(g, ast.Name) and f.id == g.id):
        return False
    one = len(ours.args) == len(theirs.args) == 1 == ARITY.get(f.id)
    if not one or ours.keywords or theirs.keywords or not _means(words, f.id, "function"):
        return False
    return _same(ours.args[0], theirs.args[0], text, words, height - 1)


def _means(words: Words, word: str, *kinds: str) -> bool:
    """Whether a word stands for itself."""
    meaning = words.meaning(word)
    return meaning is not None and meaning.name == word and meaning.kind in kinds


def _same_number(value: object, typed: str) -> bool:
    """Whether digits are those of an exact value."""
    if type(value) is int:
        return typed == str(value)
    return type(value) is Fraction and not typed.isdigit() and Fraction(typed) == value
