"""Mistakes of the training loop: one verb of the ledger of `.grad` said wrong.

`deposit` gives what `.grad` holds after a gradient arrived, `clear` whether a clearing is done,
`write` what a stepped leaf holds. A row gives one wrong way or several.
"""

from dataclasses import dataclass
from typing import Any

from gradcheck.mistakes.row import Example, Mistake


@dataclass(frozen=True, eq=False)
class Deposit:
    """A gradient g arrives where `held` is held (None: nothing).

    `divisor` is the k of `loss / k` (1 where the loss is not divided), `together` the number of
    gradients that the fullest window adds up.
    """

    held: Any
    g: Any
    divisor: float
    together: int


@dataclass(frozen=True, eq=False)
class Clear:
    """A clearing of what is held."""

    held: Any


@dataclass(frozen=True, eq=False)
class Write:
    """A step of a leaf: what it held, what it is to hold, and how far the step before moved it.

    `window` gradients came since the step before, `together` in the fullest such window.
    """

    before: Any
    after: Any
    previous: Any
    window: int
    together: int


TRAINING: list[Mistake] = []


def _row(
    id: str, verb: str, *wrong: Any, says: str, example: tuple[str, str, str], common: float
) -> None:
    """Enter a row; `wrong` are the ways in which the verb can be said wrong.

    The example is a program in w, what is asked at its end, and the wrong answer in the first w.
    """
    program, asked, answer = example
    shown = Example(program, {asked: answer})
    TRAINING.append(Mistake(id, verb, lambda: wrong, says, shown, common=common))


def _added(d: Deposit, g: Any) -> Any:
    return g if d.held is None else d.held + g


def _scaled(w: Write, factor: float) -> Any:
    return w.before + factor * (w.after - w.before)


def _complete(w: Write) -> bool:
    return w.window >= w.together


TWICE = """(w**2).backward()
(w**3).backward()
"""
LOOP = """for step in range(3):
    loss = (w**2).sum()
    loss.backward()
    with no_grad():
        w -= 0.1 * w.grad
    if step < 2:
        w.grad = None
"""
WINDOWS = """for i in range(5):
    loss = (i + 1) * (w**2).sum() / 2
    loss.backward()
    if i % 2 == 1 or i == 4:
        with no_grad():
            w -= 0.1 * w.grad
        if i < 4:
            w.grad = None
"""

_row(
    "missing-zero-grad",
    "clear",
    lambda c: False,
    says="The gradients of earlier steps are still in `.grad`: it was not cleared between steps, "
    "and backward adds.",
    example=(LOOP, "w.grad", "4.48*w"),
    common=0.95,
)
_row(
    "overwritten-grad",
    "deposit",
    lambda d: d.g,
    says="Only the last gradient is left: backward adds to `.grad`, it does not replace it.",
    example=(TWICE, "w.grad", "3*w**2"),
    common=0.8,
)
_row(
    "unscaled-accumulation",
    "deposit",
    lambda d: _added(d, d.g * d.divisor) if d.together > 1 else None,
    says="The gradients of the micro-batches were added, but not divided by their number.",
    example=(WINDOWS, "w.grad", "-1.6*w"),
    common=0.8,
)
_row(
    "scaled-twice",
    "deposit",
    lambda d: _added(d, d.g / d.divisor) if d.together > 1 else None,
    says="The gradients of the micro-batches were divided by their number twice.",
    example=(WINDOWS, "w.grad", "1.38125*w"),
    common=0.5,
)
_row(
    "partial-window",
    "write",
    lambda w: w.after if _complete(w) else w.before,
    lambda w: w.after if _complete(w) else _scaled(w, w.together / max(w.window, 1)),
    lambda w: w.after if _complete(w) else _scaled(w, w.window / w.together),
    says="The last window has fewer micro-batches than the others; it was left out, or weighed "
    "as if it were full.",
    example=(WINDOWS, "w", "0.21*w"),
    common=0.4,
)
_row(
    "step-before-backward",
    "write",
    lambda w: w.before + w.previous,
    says="Each step was taken with the gradient of the step before: the step came before backward.",
    example=(LOOP, "w.grad", "1.6*w"),
    common=0.5,
)
_row(
    "zeroed-before-step",
    "write",
    lambda w: w.before,
    says="Nothing moved: the gradient was cleared between backward and the step, which found none.",
    example=(LOOP, "w.grad", "2*w"),
    common=0.6,
)
_row(
    "counted-twice",
    "deposit",
    lambda d: _added(d, 2 * d.g),
    says="A gradient was counted twice.",
    example=(TWICE, "w.grad", "4*w + 6*w**2"),
    common=0.3,
)
