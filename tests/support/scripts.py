"""Scripts of users: what Python shows of each, and `gradcheck solve`, run as they run it.

Each script is solved in a process of its own, forked from one that has started.
"""

import atexit
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path

from gradcheck.batch.pool import PRELOADED
from gradcheck.cli.script import main

Outcome = tuple[int, str, str]
# Sizes, addresses and words around numbers are told differently; what is left has to be the same.
TOLD = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w])|True|False|None|\w+Backward0")
SIZE = re.compile(r"torch\.Size\(\[([^]]*)\]\)")
DRAWN = {"buffer_5_accumulate"}


def scripts_of(file: Path) -> dict[str, str]:
    found = re.findall(r"^## ([^\n]*)\n\n```python\n(.*?)^```$", file.read_text(), re.M | re.S)
    return dict(found)


LESSONS = scripts_of(Path(__file__).parents[1] / "scripts" / "lessons.md")


def numbers(text: str) -> list[str | float]:
    text = SIZE.sub(r"(\1)", re.sub(r" at 0x[0-9a-f]+|dtype=torch\.float32|float32", "", text))
    return [each if each[0].isalpha() else float(each) for each in TOLD.findall(text)]


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


def ran(file: Path, *options: str) -> Outcome:
    return _ran_each({"only": (str(file), *options)})["only"]


def solved(texts: Mapping[str, str], home: Path) -> dict[str, Outcome]:
    files = {name: home / f"{k}.py" for k, name in enumerate(texts)}
    for name, file in files.items():
        file.write_text(texts[name])
    return _ran_each({name: (str(file), "--json") for name, file in files.items()})


def _ran_each(words: Mapping[str, Sequence[str]]) -> dict[str, Outcome]:
    server, found = _server(), {}
    assert server.stdin
    assert server.stdout
    with tempfile.TemporaryDirectory() as home:
        for k, (name, given) in enumerate(words.items()):
            path = f"{home}/{k}"
            print(json.dumps([path, *given]), file=server.stdin, flush=True)
            code = int(server.stdout.readline())
            found[name] = code, Path(f"{path}.out").read_text(), Path(f"{path}.err").read_text()
    return found


@cache
def _server() -> "subprocess.Popen[str]":
    """The interpreter starts once for all scripts; it ends with its input, as this process does."""
    command, pipe = [sys.executable, "-m", "tests.support.scripts"], subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Run one after the other, what each says in files of its own; say how it ended."""
    for name in PRELOADED:
        import_module(name)
    for order in sys.stdin:
        path, *words = json.loads(order)
        child = os.fork()
        if not child:
            _run(path, words)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(path: str, words: list[str]) -> None:
    for number, end in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{path}.{end}", os.O_WRONLY | os.O_CREAT), number)
    code = 70
    try:
        code = main(words)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
