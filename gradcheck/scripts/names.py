"""What the leaves of a script are called: the names by which its own variables hold them."""

from collections import Counter
from collections.abc import Iterator

from gradcheck.engine.modules import Module
from gradcheck.engine.tape import Leaf, Step
from gradcheck.engine.tensor import Tensor
from gradcheck.values import Params, Value

DEEPEST = 3
MANY = 2_000  # entries of lists and attributes that are looked through


class LeafNames:
    """Finds names among the variables that a line of the script can see, the nearest first."""

    def __init__(self, *scopes: Params) -> None:
        """`scopes` are the local and the global variables."""
        self.scopes = scopes
        self.known: dict[int, str] = {}
        self.given: Counter[str] = Counter()

    def of(self, step: Step) -> str:
        """The name of a leaf; of what nobody holds a number."""
        if not self.known:
            for scope in self.scopes:
                for path, held in self._tensors(scope):
                    self.known.setdefault(id(held), path)
        wanted = step.variable if isinstance(step, Leaf) else step
        nameless = "a leaf" if isinstance(step, Leaf) else "a value"
        name = self.known.get(id(wanted), nameless)
        self.given[name] += 1
        return name if self.given[name] == 1 else f"{name} ({self.given[name]})"

    def _tensors(self, scope: Params) -> Iterator[tuple[str, Value]]:
        left = [(n, v, 0) for n, v in scope.items() if not n.startswith("_")]
        for name, value, _ in left:  # `net.weight` says more than the `p` of a loop
            if isinstance(value, Module):
                yield from _inside(name, value)
        for path, value, depth in left:
            if isinstance(value, Tensor):
                yield path, value
                if value._node is not None:
                    self.known.setdefault(id(value._node), path)
            elif depth < DEEPEST and len(left) < MANY:
                left += [(n, v, depth + 1) for n, v in _inside(path, value)]


def _inside(path: str, value: Value) -> Iterator[tuple[str, Value]]:
    """What a value of the script holds, with the path that leads there."""
    if isinstance(value, Module):
        yield from ((f"{path}.{name}", p) for name, p in value.named_parameters())
    elif isinstance(value, list | tuple):
        yield from ((f"{path}[{k}]", each) for k, each in enumerate(value[:MANY]))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", each) for key, each in list(value.items())[:MANY])
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        yield from ((f"{path}.{name}", each) for name, each in vars(value).items())
