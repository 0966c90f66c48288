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
from gradcheck.scripts.calls import PassRecorder
from gradcheck.scripts.pytorch import advice, install
from gradcheck.values import Params

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
    codes, name = _compile(file), str(file)
    main = ModuleType(MAIN)
    main.__dict__.update(__file__=name, __builtins__=__builtins__)
    sys.modules[MAIN], sys.argv = main, [name]
    sys.path.insert(0, str(file.resolve().parent))
    os.environ["MPLBACKEND"] = "Agg"  # pictures need no window
    if (with_screen := sys.modules.get("matplotlib")) is not None:
        with_screen.use("Agg")
    install()
    random.seed(SEED)
    np.random.seed(SEED)
    recorder = PassRecorder(lambda: _where(name))
    with recorder.watching:
        error = _run(codes, main.__dict__, name)
    return Ran(tuple(line.rstrip("\n") for line in linecache.getlines(name)), recorder, error)


def _run(codes: list[CodeType], names: Params, file: str) -> Ended | None:
    try:
        for code in codes:
            value = eval(code, names)  # type: ignore[arg-type]  # noqa: S307  # the user's own file
            if value is not None:  # the last expression of a notebook's cell
                print(repr(value))
    except SystemExit as stop:
        return Ended(f"SystemExit: {stop.code}", 0) if stop.code not in (None, 0) else None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # whatever the script ends in is shown
        told = traceback.TracebackException.from_exception(error, compact=True)
        told.stack[:] = own = [frame for frame in told.stack if frame.filename == file]
        text = "".join(told.format()).rstrip("\n")
        lines = "\n".join(filter(None, [text, advice(error)]))
        return Ended(lines, own[-1].lineno or 0 if own else 0)
    return None


def _where(file: str) -> tuple[int, list[Params]]:
    """The line of the script that is being run, and the variables that it sees."""
    frame: FrameType | None = sys._getframe(1)
    own: list[FrameType] = []
    while frame is not None:
        own += [frame] if frame.f_code.co_filename == file else []
        frame = frame.f_back
    return own[0].f_lineno if own else 0, [each.f_locals for each in own]


def _compile(file: Path) -> list[CodeType]:
    name = str(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".py":
            return [compile(text, name, "exec", dont_inherit=True)]
        return list(_compile_cells(name, json.loads(text)))
    except UnicodeDecodeError:
        raise TextError([Complaint("not a text in UTF-8", "save it as one", name)]) from None
    except SyntaxError as error:
        words = f"not readable as Python: {error.msg}"
        place = (name, error.lineno or 1, error.offset or 1)
        raise TextError([Complaint(words, "write it as Python", *place)]) from None
    except ValueError as error:
        raise TextError([Complaint(str(error), "save it again", name)]) from None


def _compile_cells(file: str, notebook: object) -> Iterator[CodeType]:
    """The code cells of a notebook, one behind the other as lines of one text.

    Magic commands and shell lines are left out; the last expression of a cell has a value.
    """
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("not a notebook: there are no cells")
    lines = list[str]()
    for cell in (cell for cell in cells if cell.get("cell_type") == "code"):
        start, own = len(lines), "".join(cell.get("source", "")).split("\n")
        lines += ["pass" if line.lstrip().startswith(("%", "!")) else line for line in own]
        tree = ast.parse("\n" * start + "\n".join(lines[start:]), file)
        match tree.body:
            case [*_, ast.Expr(value=last)] if not lines[-1].rstrip().endswith(";"):
                tree.body.pop()
                shown = [ast.Expression(last)]
            case _:
                shown = []
        yield compile(tree, file, "exec", dont_inherit=True)
        yield from (compile(each, file, "eval", dont_inherit=True) for each in shown)
    whole = [f"{line}\n" for line in lines]
    linecache.cache[file] = sum(map(len, whole)), None, whole, file
