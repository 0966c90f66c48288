"""The lessons' scripts, what Python shows of each, and whether two such texts tell the same."""

import io
import re
import warnings
from contextlib import redirect_stdout
from pathlib import Path

LESSONS = {
    path.stem: path.read_text() for path in sorted((Path(__file__).parent / "lessons").glob("*.py"))
}
# Sizes, addresses and words around numbers are told differently; what is left has to be the same.
TOLD = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w])|True|False|None|\w+Backward0")
SIZE = re.compile(r"torch\.Size\(\[([^]]*)\]\)")
DRAWN = {"buffer_5_accumulate"}


def numbers(text: str) -> list[str | float]:
    """The numbers, truth values and names of nodes in a text, in order."""
    text = SIZE.sub(r"(\1)", re.sub(r" at 0x[0-9a-f]+|dtype=torch\.float32|float32", "", text))
    return [_number(each) for each in TOLD.findall(text)]


def _number(told: str) -> str | float:
    return told if told[0].isalpha() else float(told)


def alike(came: str, due: str) -> bool:
    """Whether two texts tell the same: PyTorch counts in float32 and prints four digits."""
    pairs = zip(numbers(came), numbers(due), strict=False)
    same = all(a == b or _close(a, b) for a, b in pairs)
    return same and len(numbers(came)) == len(numbers(due))


def _close(a: str | float, b: str | float) -> bool:
    """Half a unit of the fourth digit either way, for -0.05625 is printed by its last bit."""
    return (
        not isinstance(a, str) and not isinstance(b, str) and abs(a - b) <= 1.01e-4 * max(1, abs(b))
    )


def shown(text: str, name: str) -> tuple[str, str]:
    """What a script prints, and its error's first line, run by Python itself."""
    out = io.StringIO()
    error = ""
    with redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, name, "exec"), {"__name__": "__main__"})  # our own scripts
        except RuntimeError as raised:
            error = str(raised).splitlines()[0]
    return out.getvalue(), error
