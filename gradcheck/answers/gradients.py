r"""Gradients by their names in an answer: `dL/dz`, `\frac{\partial L}{\partial z}`, `z.grad`, `dz`.

In backpropagation by hand each line builds on the gradients before it.
"""

import re
from collections.abc import Collection

from gradcheck.answers.draft import Draft

GRADIENT = "d"  # before the name of a value: its gradient's
SIGN = r"(?:d|∂|\\partial(?![A-Za-z]))"
SPELLED = re.compile(
    rf"\\[dt]?frac\s*\{{\s*{SIGN}\s*\w+\s*\}}\s*\{{\s*{SIGN}\s*(\w+)\s*\}}"
    rf"|(?<!\w){SIGN}\s?\w+\s?/\s?{SIGN}\s?(\w+)|(?<![\w.])(\w+)\.grad\b|\bgrad_(\w+)"
)


def gradients(draft: Draft, names: Collection[str]) -> None:
    """Each gradient by its name, where that is known."""
    if not any(name.startswith(GRADIENT) for name in names):
        return

    def known(found: re.Match[str]) -> str | None:
        name = GRADIENT + next(filter(None, found.groups()))
        return name if name in names else None

    draft.swap(SPELLED, known)
