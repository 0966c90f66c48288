"""Mistakes of the training loop: one verb of the ledger of `.grad` said wrong.

`deposit` gives what `.grad` holds after a gradient arrived, `clear` whether a clearing is done,
`write` what a stepped leaf holds.
"""

from dataclasses import dataclass
from functools import partial

from gradcheck.mistakes.row import Example, Mistake, anywhere, mistake
from gradcheck.values import Numbers


@dataclass(frozen=True, eq=False)
class Deposit:
    """A gradient g of the `leaf`-th leaf arrives where `held` is held (None: nothing).

    `divisor` is the k of `loss / k` (1 where the loss is not divided), `loss` where that stands in
    the text, `together` the number of gradients that the fullest window adds up. `last` is what was
    done to the leaf's `.grad` before ("add", "clear", "step", "held back" a clearing that was not
    done), `number` counts the deposits from 0.
    """

    leaf: int
    held: Numbers
    g: Numbers
    divisor: float
    together: int
    loss: tuple[int, int] | None = None
    last: str = ""
    number: int = 0


@dataclass(frozen=True, eq=False)
class Clear:
    """A clearing of what is held for the `leaf`-th leaf."""

    leaf: int
    held: Numbers
    last: str = ""


@dataclass(frozen=True, eq=False)
class Write:
    """A step of the `leaf`-th leaf: what it held, what it is to hold.

    `previous` is how far the step before would have moved it; `window` gradients came since then,
    `together` in the fullest such window.
    """

    leaf: int
    before: Numbers
    after: Numbers
    previous: Numbers
    window: int
    together: int


TRAINING: list[Mistake] = []
ROUNDING = 1e-9


def _add(d: Deposit, g: Numbers) -> Numbers:
    return g if d.held is None else d.held + g


def _scale(w: Write, factor: float) -> Numbers:
    return w.before + factor * (w.after - w.before)


def _complete(w: Write) -> bool:
    return w.window >= w.together


def _share(d: Deposit) -> float:
    """The number of gradients that are added up, if the loss is divided by it; else 1."""
    return d.divisor if abs(d.divisor - d.together) < ROUNDING else 1.0


TWICE = """(w**2).backward()
(w**3).backward()
"""
LOOP = """opt = SGD([w], lr=0.1)
for k in range(3):
    opt.zero_grad()
    (w**2).backward()
    opt.step()
"""
WINDOWS = """opt = SGD([w], lr=0.1)
for k in range(4):
    (1.5 * w**2 / 3).backward()
    if k % 3 == 2 or k == 3:
        opt.step()
        opt.zero_grad()
"""

# A row lists the ways in which its verb can be said wrong. Its example is a program in w, and what
# is wrong in what is asked at its end; with an `operand` it points at the loss, not at backward.
loop = partial(mistake, into=TRAINING)

# fmt: off
missing_zero_grad = loop("clear", "missing-zero-grad", anywhere,
    "The gradients of earlier steps are still in `.grad`: it was not cleared between steps, and "
    "backward adds.",
    (lambda: [lambda c: False], LOOP, {"w.grad": "4.48*w"}),
    alike={"counted-twice": (
        "two equal gradients added up are one counted twice: no number tells the two apart here",
        "let the gradients differ from step to step")})
overwritten_grad = loop("deposit", "overwritten-grad", anywhere,
    "Only the last gradient is left: backward adds to `.grad`, it does not replace it.",
    (lambda: [lambda d: d.g], TWICE, {"w.grad": "3*w**2"}),
    alike={"scaled-twice": (
        "of equal gradients, each divided by their number, the last one is their sum divided "
        "once more: no number tells the two apart here",
        "let the gradients of the micro-batches differ")})
unscaled_accumulation = loop("deposit", "unscaled-accumulation", anywhere,
    "The gradients of the micro-batches were added, but not divided by their number.",
    (lambda: [lambda d: _add(d, d.g * _share(d))], WINDOWS, {"w": "0.07*w"}), operand=0,
    alike={"counted-twice": (
        "with two micro-batches, not dividing by two is counting each twice: no number tells "
        "the two apart",
        "accumulate three micro-batches or more")})
scaled_twice = loop("deposit", "scaled-twice", anywhere,
    "The gradients of the micro-batches were divided by their number twice.",
    (lambda: [lambda d: _add(d, d.g / _share(d))], WINDOWS, {"w": "0.87*w"}), operand=0)
partial_window = loop("write", "partial-window", anywhere,
    "The last window has fewer micro-batches than the others; it was left out, or weighed as if it "
    "were full.",
    (lambda: [
        lambda w: w.after if _complete(w) else w.before,
        lambda w: w.after if _complete(w) else _scale(w, w.together / max(w.window, 1)),
        lambda w: w.after if _complete(w) else _scale(w, w.window / w.together)],
     WINDOWS, {"w": "0.7*w"}))
step_before_backward = loop("write", "step-before-backward", anywhere,
    "Each step was taken with the gradient of the step before: the step came before backward.",
    (lambda: [lambda w: w.before + w.previous], LOOP, {"w.grad": "1.6*w"}),
    alike={"zeroed-before-step": (
        "after a single step both leave the parameters where they were: no number tells the "
        "two apart here",
        "take another step")})
zeroed_before_step = loop("write", "zeroed-before-step", anywhere,
    "Nothing moved: the gradient was cleared between backward and the step, which found none.",
    (lambda: [lambda w: w.before], LOOP, {"w.grad": "2*w"}))
loop("write", "step-upwards", anywhere,
    "Each step went up the gradient: what is taken away was added.",
    (lambda: [lambda w: _scale(w, -1.0)], LOOP, {"w.grad": "2.88*w"}))
counted_twice = loop("deposit", "counted-twice", anywhere,
    "A gradient was counted twice.",
    (lambda: [lambda d: _add(d, 2 * d.g)], TWICE, {"w.grad": "4*w + 6*w**2"}))
# fmt: on

# -- programs as answers: what is said otherwise in their text ----------------------------------

WRITTEN: dict[str, Mistake] = {}

# fmt: off
for _id, _says, _due, _came in (
    ("step-upwards", "The step goes up the gradient, and is to go down.",
     "w -= 0.1 * w.grad", "w += 0.1 * w.grad"),
    ("growing-total",
     "What has been added up goes back in every turn: the losses of earlier turns count again.",
     "loss.backward()", "total.backward()"),
    ("recorded-late",
     "It is recorded at another moment of the turn than is due: the step lies between.",
     "record(loss=loss)", "after the step: record(loss=loss_of(w))"),
    ("wrong-rate", "A step is as large as another rate makes it than the one that is due.",
     "w -= 0.1 * w.grad", "w -= 0.01 * w.grad"),
    ("sign-error", "A sign is the other one than is due.", "a - b", "a + b"),
    ("sum-for-mean", "There is a sum where a mean is due.", "mean(r**2)", "sum(r**2)"),
    ("mean-for-sum", "There is a mean where a sum is due.", "sum(r**2)", "mean(r**2)"),
    ("factor-two", "A factor of two is lacking, or is too many.", "2 * r", "r"),
    ("coefficient-slip", "A number is another one than is due.", "1 - h**2", "1 - h**3"),
    ("transposed", "A matrix is the transpose of the one that is due.", "X.T @ D", "X @ D"),
    ("operands-swapped", "The matrices of a product are swapped.", "X.T @ D", "D @ X.T"),
    ("chain-factor-dropped", "A factor of the chain rule is lacking.", "D * (1 - h**2)", "D"),
    ("chain-factor-twice", "There is a factor too many.", "D", "D * h"),
    ("path-dropped", "A term is lacking: one of the ways to the loss.", "a + b", "a"),
    ("term-too-many", "There is a term too many.", "a", "a + b"),
    ("broadcast-not-summed", "A sum over the rows is lacking.", "D.sum(0)", "D"),
    ("summed-over-wrong-axis", "Another axis is due.", "D.sum(0)", "D.sum(1)"),
    ("mask-wrong", "A comparison is another one than is due.", "x > 0", "x < 0"),
    ("power-dropped", "A power is lacking, or is too many.", "h**2", "h"),
    ("wrong-variable", "Another variable stands here than is due.", "1 - h**2", "1 - z**2"),
    ("quotient-swapped", "A quotient is the other way round.", "a / b", "b / a"),
    ("small-slip", "One small change makes the program right.", "cos(x)", "sin(x)"),
):
    WRITTEN[_id] = Mistake(_id, "written", tuple, _says, Example(_due, {"instead": _came}))
