"""One edit of a source text, and what it may be made of."""

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A mistake's name, what stood there, and what is to stand there (None: nothing)."""

    name: str
    old: ast.AST
    new: ast.AST | None

    @property
    def takes_away(self) -> bool:
        """Whether what is to stand there is a part of what stood there, or nothing."""
        return self.new is None or any(self.new is child for child in ast.walk(self.old))


@dataclass(frozen=True)
class Words:
    """The names that a backward pass knows, the cotangent's first; short calls it makes; divisors.

    The divisors are what the value is divided by on its way, `kept` what the methods of its class
    keep (`self.mask`), `given` its arguments, `keys` the texts by which it picks (`cache["h"]`).
    """

    cotangent: str
    names: tuple[str, ...]
    calls: tuple[str, ...] = ()
    divisors: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """Everything that may be missing somewhere."""
        return (*self.names, *self.calls, *self.kept)


class Filled(ast.NodeTransformer):
    """Puts an expression where a name stands."""

    def __init__(self, node: ast.expr, name: str = "_") -> None:
        self.node, self.name = node, name

    def visit_Name(self, name: ast.Name) -> ast.expr:
        """The expression for the name."""
        return self.node if name.id == self.name else name


def filled(node: ast.expr, text: str) -> ast.expr:
    """An expression of `_`, filled."""
    return Filled(node).visit(ast.parse(text, mode="eval").body)  # type: ignore[no-any-return]
