"""The walk over a syntax tree: which rule each node meets, what was refused, what names mean."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.rules.refusals import NODES, OTHERWISE, Refusal
from gradcheck.language.rules.vocabulary import ROOTS, Vocabulary

COMPLAINTS = 20
LONGEST_NAME = 64

Rule: TypeAlias = "Callable[[Check, Any], None]"


class Meaning(NamedTuple):
    """What a name, an attribute or a call turned out to be; the lowering follows it.

    Of a name or attribute: `variable`, `constant`, `newaxis`, `type`. Of a call: `function`
    (`np.sin(x)`), `postfix` (`x.sin()`), `builtin`, `method`, `guard` (`x.size()`), `context`, or
    `call` of a variable.
    """

    role: str
    name: str = ""


@dataclass
class Check:
    """The state of one walk."""

    passage: Passage
    vocabulary: Vocabulary
    rules: Mapping[type[ast.AST], Rule]
    scopes: list[frozenset[str]]
    helpers: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()  # variables that surely hold what may be called
    complaints: list[Complaint] = field(default_factory=list)
    meanings: dict[ast.AST, Meaning] = field(default_factory=dict)
    loops: int = 0
    blocks: int = 0
    inside_helper: bool = False

    def visit(self, node: ast.AST) -> None:
        """Apply the rule of a node's kind; without one the node is refused."""
        rule = self.rules.get(type(node))
        if rule:
            rule(self, node)
        else:
            self.refuse(node, NODES.get(type(node), OTHERWISE))

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        """Visit each node that is there."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def refuse(self, node: ast.AST, refusal: Refusal) -> None:
        """Complain about a node; past the most that anybody reads, stop."""
        self.complaints.append(self.passage.complaint(*refusal, where_is(node)))
        if len(self.complaints) >= COMPLAINTS:
            raise TextError(self.complaints)

    def say(self, node: ast.AST, what: str, cure: str) -> None:
        """Complain about a node in words of its own."""
        self.refuse(node, Refusal(what, cure))

    def is_variable(self, name: str) -> bool:
        """Whether a name is declared, assigned, or a parameter here: that comes before all else."""
        return any(name in scope for scope in self.scopes)

    def variables(self) -> frozenset[str]:
        """All variables that can be seen here."""
        return frozenset().union(*self.scopes)

    def prefix(self, node: ast.expr) -> str:
        """`np.linalg` where that stands before a dot and `np` is no variable, else nothing."""
        path = dotted(node)
        root = path.split(".")[0]
        return path if root in ROOTS and not self.is_variable(root) else ""

    @contextmanager
    def scope(self, names: Iterable[str]) -> Iterator[None]:
        """Let more names be variables for a while."""
        self.scopes.append(frozenset(names))
        yield
        self.scopes.pop()

    @contextmanager
    def block(self, *, loop: bool = False) -> Iterator[None]:
        """Be inside one more indented block, perhaps the body of a loop."""
        self.blocks, self.loops = self.blocks + 1, self.loops + loop
        yield
        self.blocks, self.loops = self.blocks - 1, self.loops - loop


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes that starts with a name, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""
