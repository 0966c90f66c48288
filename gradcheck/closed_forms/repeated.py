"""What a formula says more than once, under a letter of its own."""

import ast
from collections import Counter
from collections.abc import Collection, Iterator

from gradcheck.closed_forms.trees import parsed

LETTERS = "GQSTK"
SHORT = 24  # characters: a shorter part is read where it stands
SAVED = 30  # characters that a letter has to save


def with_letters(text: str, taken: Collection[str]) -> tuple[str, dict[str, str]]:
    """A formula with letters for its longest repeated parts, and what they stand for.

    A letter's own text may have those before it. `taken` are names that mean something else.
    """
    tree, named = parsed(text), dict[str, str]()
    for letter in (x for x in LETTERS if x not in taken):
        part = _longest(tree)
        if part is None:
            break
        tree = _put(tree, ast.dump(part), letter)
        named[letter] = ast.unparse(part)
    return (ast.unparse(tree), named) if named else (text, {})


def _longest(tree: ast.expr) -> ast.expr | None:
    """The part whose letter saves most; None where none is worth it."""
    parts = {ast.dump(part): part for part in _parts(tree)}
    times = Counter(map(ast.dump, _parts(tree)))
    saved = {key: (times[key] - 1) * len(ast.unparse(part)) for key, part in parts.items()}
    best = max(saved, key=lambda key: saved[key], default="")
    return parts[best] if best and saved[best] >= SAVED else None


def _parts(tree: ast.expr) -> Iterator[ast.expr]:
    """Sums, products and calls that are long enough."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.Call) and len(ast.unparse(node)) >= SHORT:
            yield node


def _put(tree: ast.expr, key: str, letter: str) -> ast.expr:
    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if isinstance(node, ast.expr) and ast.dump(node) == key:
                return ast.Name(letter)
            return self.generic_visit(node)

    found = Put().visit(tree)
    assert isinstance(found, ast.expr)
    return found
