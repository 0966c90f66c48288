"""How a backward pass is called: read from its parameters, and from what forward gives.

`backward(dout)` of a layer that keeps what it needs, `backward(dout, x, w)`, `backward(dout,
cache)`, and of a forward of several outputs `backward(dh, dc, cache)` or `backward((dh, dc), x)`.
Parameters that have a default keep it, unless they are called as forward's arguments are.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from types import FunctionType

from gradcheck.values import Routine

CACHES = ("ctx", "context", "saved", "saved_tensors", "res", "residuals", "memo", "aux")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
ASKED = (
    "`{name}` may be meant as {first} or as {second}: say cache=True where the last of what "
    "forward gives is a cache, cache=False where it is an output"
)


@dataclass(frozen=True)
class Parameters:
    """What a function takes by position: names, how many it needs, how many it takes at most."""

    names: tuple[str, ...]
    needed: int
    most: float
    known: bool = True


def parameters_of(function: Routine) -> Parameters:
    """The parameters of a function by position; anything goes where it does not say."""
    if type(function) is FunctionType and not function.__dict__:
        code = function.__code__
        plain = not code.co_flags & inspect.CO_VARARGS
        count = code.co_argcount
        needed = count - len(function.__defaults__ or ())
        return Parameters(code.co_varnames[:count], needed, count if plain else inf)
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return Parameters((), 0, inf, known=False)
    positional = [p for p in found if p.kind in POSITIONAL]
    needed = sum(p.default is p.empty for p in positional)
    anything = any(p.kind is p.VAR_POSITIONAL for p in found)
    return Parameters(
        tuple(p.name for p in positional), needed, inf if anything else len(positional)
    )


def takes_keywords(function: Routine, names: Sequence[str]) -> bool:
    """Whether a backward pass wants the keyword arguments of its forward."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found.values())
    return anything or all(name in found for name in names)


@dataclass(frozen=True)
class Convention:
    """A way of calling: how many outputs there are, their cotangents in one, what stands behind."""

    outputs: int = 1
    together: bool = True
    behind: str = "arguments"  # or "cache", or "nothing"

    @property
    def cotangents(self) -> int:
        """How many positions the cotangents fill."""
        return 1 if self.together else self.outputs

    def count(self, arguments: int) -> int:
        """How many positions a call fills."""
        return self.cotangents + {"arguments": arguments, "cache": 1, "nothing": 0}[self.behind]

    def spell(self, name: str, arguments: Sequence[str]) -> str:
        """The call, as it is written."""
        outs = [f"cotangent_{k}" for k in range(self.outputs)]
        first = outs if self.outputs > 1 else ["cotangent"]
        first = [f"({', '.join(first)})"] if self.together and self.outputs > 1 else first
        behind = {"arguments": list(arguments), "cache": ["cache"], "nothing": []}[self.behind]
        return f"{name}({', '.join([*first, *behind])})"


@dataclass(frozen=True)
class AskedCall:
    """What is known of a call before its way is chosen.

    `values` are how many arrays forward gives, `cached` whether a cache stands behind them (None
    where the last of them may be one), `keeps` whether forward leaves something in an object.
    """

    arguments: tuple[str, ...]
    values: int
    cached: bool | None
    keeps: bool

    def conventions(self) -> list[Convention]:
        """Every way there is."""
        outs = [(self.values, False)] if self.cached is not True else []
        outs += [(self.values, True)] if self.cached else []
        outs += [(self.values - 1, True)] if self.cached is None else []
        return [
            Convention(count, together, behind)
            for count, cached in outs
            for together in ((True,) if count == 1 else (True, False))
            for behind in ("arguments", "cache", "nothing")
            if (cached or behind != "cache")
            and (self.cached is not None or cached == (behind == "cache"))
        ]


def convention_of(backward: Routine, asked: AskedCall) -> Convention:
    """The way in which a backward pass is called; TypeError where none fits, or two do."""
    mine = parameters_of(backward)
    name = getattr(backward, "__name__", "backward")
    every = asked.conventions()
    if not mine.known:
        return every[0]
    fitting = [c for c in every if _fits(c, mine, asked)]
    if not fitting:
        ways = dict.fromkeys(c.spell(name, asked.arguments) for c in every)
        raise TypeError(
            f"`{name}({', '.join(mine.names)})` does not take what it is called with: "
            + " or ".join(ways)
        )
    scored = sorted(fitting, key=lambda c: -_likely(c, mine, asked))
    best = scored[0]
    others = [c for c in scored if (c.outputs, c.behind) != (best.outputs, best.behind)]
    if others and asked.cached is None:
        sure = _likely(best, mine, asked)
        if sure < 1 or sure - _likely(others[0], mine, asked) < 1:
            first, second = (c.spell(name, asked.arguments) for c in (best, others[0]))
            raise TypeError(ASKED.format(name=name, first=first, second=second))
    return best


def _fits(way: Convention, mine: Parameters, asked: AskedCall) -> bool:
    """Whether a call fills what is needed, and of the rest only what forward's arguments are."""
    count = way.count(len(asked.arguments))
    if not mine.needed <= count <= mine.most:
        return False
    more = set(mine.names[max(mine.needed, way.cotangents) : count])
    return not more or (way.behind == "arguments" and more <= set(asked.arguments))


def _likely(way: Convention, mine: Parameters, asked: AskedCall) -> float:
    """How well the names of the parameters fit a way of calling."""
    behind = mine.names[way.cotangents :]
    if way.behind == "arguments":
        named = behind[: len(asked.arguments)] == asked.arguments
        return 4.0 if named or mine.most == inf else 1.0 if not asked.cached else 0.5
    if way.behind == "cache":
        last = behind[0].lower() if behind else ""
        called = last in CACHES or "cache" in last
        return (4.0 if called else 1.0) - (0.0 if asked.cached else 0.5)
    return 2.0 if asked.keeps else -2.0
