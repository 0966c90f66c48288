"""A script or a notebook, run in this process as `python FILE` would run it."""

import ast
import json
import linecache
import os
import random
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, ModuleType

import numpy as np

from gradcheck.errors import Complaint, TextError
from gradcheck.scripts.calls import LeafNames, PassRecorder
from gradcheck.scripts.pytorch import advice, install
from gradcheck.values import Value

SCRIPT = ".py"
MAIN = "__main__"
SEED = 0


@dataclass(frozen=True)
class Ended:
    """What a script ended in: the traceback through its own lines."""

    text: str
    line: int


@dataclass(frozen=True)
class Ran:
    """A script that was run: its lines, what it recorded, and its error if it ended in one."""

    source: tuple[str, ...]
    recorder: PassRecorder
    error: Ended | None


def run_file(file: Path) -> Ran:
    """Run a file with PyTorch's names meaning gradcheck; raises TextError where it is no program.

    The process is the script's own: its modules, its seeds and its directory are changed.
    """
    codes = _compile(file)
    main = ModuleType(MAIN)
    main.__dict__.update(__file__=str(file), __builtins__=__builtins__)
    _prepare(file, main)
    recorder = PassRecorder(lambda: _where(str(file)))
    with recorder.watching:
        error = _run(codes, main.__dict__, str(file))
    return Ran(tuple(line.rstrip("\n") for line in linecache.getlines(str(file))), recorder, error)


def _prepare(file: Path, main: ModuleType) -> None:
    """What a script finds around it: PyTorch's names, its directory, seeds, no window."""
    sys.modules[MAIN] = main
    sys.argv = [str(file)]
    sys.path.insert(0, str(file.resolve().parent))
    os.environ["MPLBACKEND"] = "Agg"
    install()
    random.seed(SEED)
    np.random.seed(SEED)
    with_screen = sys.modules.get("matplotlib")
    if with_screen is not None:
        with_screen.use("Agg")


def _run(codes: list[tuple[CodeType, bool]], names: dict[str, Value], file: str) -> Ended | None:
    try:
        for code, shows in codes:
            if shows:
                value = eval(code, names)  # noqa: S307  # the user's own file, as they asked
                if value is not None:
                    print(repr(value))
            else:
                exec(code, names)  # noqa: S102
    except SystemExit as stop:
        return Ended(f"SystemExit: {stop.code}", 0) if stop.code not in (None, 0) else None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # whatever the script ends in is shown
        return _describe_error(error, file)
    return None


def _describe_error(error: BaseException, file: str) -> Ended:
    """An error as Python shows it, from the script's own lines on."""
    told = traceback.TracebackException.from_exception(error, compact=True)
    own = [frame for frame in told.stack if frame.filename == file]
    told.stack[:] = own
    said = "".join(told.format()).rstrip("\n")
    more = advice(error)
    return Ended(f"{said}\n{more}" if more else said, own[-1].lineno or 0 if own else 0)


def _where(file: str) -> tuple[int, LeafNames]:
    """The line of the script that is being run, and the variables that it sees."""
    frame: FrameType | None = sys._getframe(1)
    line, scopes = 0, []
    while frame is not None:
        if frame.f_code.co_filename == file:
            line = line or frame.f_lineno
            scopes.append(frame.f_locals)
        frame = frame.f_back
    return line, LeafNames(*scopes)


# -- what is run -----------------------------------------------------------------------------------


def _compile(file: Path) -> list[tuple[CodeType, bool]]:
    """The code of a file; of a notebook's cells the last expression is shown."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TextError([Complaint("not a text in UTF-8", "save it as one", str(file))]) from None
    try:
        if file.suffix == SCRIPT:
            return [(compile(text, str(file), "exec", dont_inherit=True), False)]
        return list(_cells(file, text))
    except SyntaxError as error:
        words = f"not readable as Python: {error.msg}"
        place = (str(file), error.lineno or 1, error.offset or 1)
        raise TextError([Complaint(words, "write it as Python", *place)]) from None
    except ValueError as error:
        raise TextError([Complaint(str(error), "save it again", str(file))]) from None


def _cells(file: Path, text: str) -> Iterator[tuple[CodeType, bool]]:
    """The code cells of a notebook, one behind the other as lines of one text."""
    lines, start = list[str](), 0
    for cell in _sources(json.loads(text)):
        start = len(lines)
        lines += cell
        tree = ast.parse("\n" * start + "\n".join(cell), str(file))
        last = tree.body[-1] if tree.body else None
        shown = isinstance(last, ast.Expr) and not (cell[-1].rstrip().endswith(";"))
        if shown:
            tree.body.pop()
        yield compile(tree, str(file), "exec", dont_inherit=True), False
        if shown and isinstance(last, ast.Expr):
            yield compile(ast.Expression(last.value), str(file), "eval", dont_inherit=True), True
    whole = [f"{line}\n" for line in lines]
    linecache.cache[str(file)] = sum(map(len, whole)), None, whole, str(file)


def _sources(notebook: Value) -> Iterator[list[str]]:
    """The lines of each code cell; magic commands and shell lines are left out."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("not a notebook: there are no cells")
    for cell in cells:
        if cell.get("cell_type") == "code":
            source = cell.get("source", "")
            lines = "".join(source).split("\n")
            yield ["pass" if _is_magic(line) else line for line in lines]


def _is_magic(line: str) -> bool:
    return line.lstrip().startswith(("%", "!"))
