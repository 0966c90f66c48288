"""The ledger of `.grad`: what each backward call added, what was cleared, and what was stepped.

Three verbs keep it. Said right, they are PyTorch's; a mistake of the training loop is one of them
said wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.mistakes.training import Clear, Deposit, Write
from gradcheck.training.forms import Span

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Entry:
    """One line: `verb` is "add", "clear" or "step"; `amount` what was added, `total` what is held.

    `event` is the number of the backward call that added, counted from 0.
    """

    verb: str
    leaf: Any
    amount: Array | None
    total: Array | None
    span: Span = None
    event: int | None = None


@dataclass(frozen=True)
class Verbs:
    """What is done when a gradient arrives, when `.grad` is cleared, when a leaf is written.

    `deposit` gives what `.grad` then holds, `clear` whether it is done, `write` the leaf's value.
    """

    deposit: Callable[[Deposit], Any] = lambda d: d.g if d.held is None else d.held + d.g
    clear: Callable[[Clear], bool] = lambda c: True
    write: Callable[[Write], Any] = lambda w: w.after


RIGHT = Verbs()
