"""`gradcheck solve` of scripts: each in a process of its own, forked from one that has started."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from gradcheck.cli.script import main

Outcome = tuple[int, str, str]


def ran(file: Path, *options: str) -> Outcome:
    """Exit code, standard output, standard error."""
    return ran_each({"only": (str(file), *options)})["only"]


def ran_each(words: Mapping[str, Sequence[str]]) -> dict[str, Outcome]:
    """The same for each of several; the interpreter starts once for all of them."""
    with tempfile.TemporaryDirectory() as home:
        order = {
            name: (str(Path(home) / str(k)), *given)
            for k, (name, given) in enumerate(words.items())
        }
        command = [sys.executable, "-m", "tests.support.ran", json.dumps(list(order.values()))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
        assert done.returncode == 0, done.stderr
        return {name: _read(path) for name, (path, *_) in order.items()}


def _read(path: str) -> Outcome:
    out, err, code = (Path(f"{path}.{end}").read_text() for end in ("out", "err", "code"))
    return int(code), out, err


def _serve(orders: Sequence[Sequence[str]]) -> None:
    """Run one after the other, what each says in files of its own."""
    for path, *words in orders:
        child = os.fork()
        if not child:
            _run(path, words)
        _, status = os.waitpid(child, 0)
        Path(f"{path}.code").write_text(str(os.waitstatus_to_exitcode(status)))


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


@cache
def lessons(home: Path) -> dict[str, Outcome]:
    """All scripts of a directory, as JSON."""
    return ran_each({file.stem: (str(file), "--json") for file in sorted(home.glob("*.py"))})


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
