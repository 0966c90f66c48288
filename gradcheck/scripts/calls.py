"""The passes back of a script: few of each line are judged, for a loop asks the same again."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.engine.modules import Module
from gradcheck.engine.recording import watching
from gradcheck.engine.tape import Leaf, Step
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.opinions.limits import MOST_WORK
from gradcheck.opinions.tape import Observer
from gradcheck.values import Params, Value
from gradcheck.verdict.consult import VERDICTS
from gradcheck.verdict.passes import BackwardPass, JudgedPass, judge_pass

A_LINE = 3  # passes that begin in one line and are judged
ALTOGETHER = 60
IN_VAIN = 5_000_000  # entries copied since the last pass that was kept: then copying ends
DEEPEST = 3
MANY = 2_000  # entries of lists and attributes that are looked through


@dataclass(frozen=True)
class ScriptJudgement:
    """All that was judged; `calls` counts the passes of each line, judged or not."""

    judged: tuple[JudgedPass, ...]
    calls: Mapping[int, int]

    @property
    def verdict(self) -> str:
        return max((j.verdict.verdict for j in self.judged), key=VERDICTS.index, default="agree")


class LeafNames:
    """Finds names among the variables that a line of the script can see, the nearest first."""

    def __init__(self, scopes: Sequence[Params]) -> None:
        self.scopes, self.given = scopes, Counter[str]()

    def of(self, step: Step) -> str:
        """The name of a leaf; of what nobody holds a number."""
        leaf = isinstance(step, Leaf)
        held = step.variable if isinstance(step, Leaf) else step
        name = self.known.get(id(held), "a leaf" if leaf else "a value")
        self.given[name] += 1
        return name if self.given[name] == 1 else f"{name} ({self.given[name]})"

    @cached_property
    def known(self) -> dict[int, str]:
        """Paths by the identities of tensors, and of what made them."""
        found: dict[int, str] = {}
        for scope in self.scopes:
            left = [(n, v, 0) for n, v in scope.items() if not n.startswith("_")]
            # `net.weight` says more than the `p` of a loop
            left.sort(key=lambda each: not isinstance(each[1], Module))
            for path, value, depth in left:
                if isinstance(value, Tensor):
                    found.setdefault(id(value), path)
                    if value._node is not None:
                        found.setdefault(id(value._node), path)
                elif isinstance(value, Module):
                    for name, held in value.named_parameters(path):
                        found.setdefault(id(held), name)
                elif depth < DEEPEST and len(left) < MANY:
                    left += [(n, v, depth + 1) for n, v in _inside(path, value)]
        return found


def _inside(path: str, value: Value) -> Iterator[tuple[str, Value]]:
    if isinstance(value, list | tuple):
        yield from ((f"{path}[{k}]", each) for k, each in enumerate(value[:MANY]))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", each) for key, each in list(value.items())[:MANY])
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        yield from ((f"{path}.{name}", each) for name, each in vars(value).items())


class PassRecorder:
    """Follows a script while it runs, and keeps the passes that are to be judged.

    `where` says which line runs, and what it sees.
    """

    def __init__(self, where: Callable[[], tuple[int, Sequence[Params]]]) -> None:
        self.where, self.observer = where, Observer()
        self.kept, self.calls, self.missed = list[BackwardPass](), Counter[int](), Counter[int]()
        self.watching = watching(self.observer.observe, None, self.walked)

    def walked(self, roots: Sequence[tuple[Step, Value]], landed: Mapping[Step, Value]) -> None:
        """One pass back is over, and nothing has been added to a `.grad`."""
        (line, scopes), observer = self.where(), self.observer
        self.calls[line] += 1
        if self.calls[line] - self.missed[line] > A_LINE or len(self.kept) >= ALTOGETHER:
            observer.idle = observer.idle or observer.copied > IN_VAIN
        elif observer.idle:  # this pass was not followed: the next of its line may be
            self.missed[line] += 1
            observer.idle = False
        else:
            observer.copied, names = 0, LeafNames(scopes)
            arrived = {step: np.array(bare(g), dtype=np.float64) for step, g in landed.items()}
            records = tuple((observer.record(step), bare(g)) for step, g in roots)
            named = {step: names.of(step) for step in arrived}
            self.kept.append(BackwardPass(line, records, arrived, named))


def judge(recorder: PassRecorder, tell: Callable[[str], None]) -> ScriptJudgement:
    """Ask the opinions about every pass that was kept; `tell` hears how far it is."""
    judged, spent = list[JudgedPass](), 0
    for k, call in enumerate(recorder.kept):
        spent += call.work
        if judged and spent > MOST_WORK:
            break
        tell(f"judging pass {k + 1} of {len(recorder.kept)}, line {call.place}")
        judged.append(judge_pass(call))
    return ScriptJudgement(tuple(judged), dict(recorder.calls))
