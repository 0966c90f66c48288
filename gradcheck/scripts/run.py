"""A script or a notebook, run in this process as `python FILE` would run it.

PyTorch's modules, as it imports them, are gradcheck's functions and what only scripts need. There
is one device and one kind of float: `device=` says nothing, and every float is float64.
"""

import ast
import json
import linecache
import os
import random
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from types import CodeType, ModuleType

import numpy as np

from gradcheck.engine.function import Context
from gradcheck.engine.layers import STATELESS, Layer, Module
from gradcheck.engine.optimizers import Optimizer
from gradcheck.engine.recording import watching
from gradcheck.engine.tape import Leaf, Step, list_reachable
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.errors import Complaint, TextError
from gradcheck.language.program import list_frames
from gradcheck.language.vocabulary import WRITTEN_OUT, join_names, suggest_nearest
from gradcheck.nn import init
from gradcheck.opinions.limits import MOST_WORK
from gradcheck.opinions.tape import Observer
from gradcheck.scripts import modules, tensors
from gradcheck.values import Params, Value
from gradcheck.verdict.consult import VERDICTS
from gradcheck.verdict.passes import BackwardPass, JudgedPass, judge_pass

LIBRARY, PYTORCH = "torch", "2.13.0"  # whose names and numbers are meant
VARIABLE = {"Variable": tensors.make_variable}
PARTS = ("activation", "container", "conv", "linear", "loss", "module", "normalization", "rnn")
INIT = {name[:-1]: getattr(init, name) for name in dir(init) if name.endswith(("l_", "m_"))}
MODULES: Mapping[str, tuple[str, Params]] = {
    "torch": ("gradcheck", tensors.TORCH),
    "torch.nn": ("gradcheck.nn", modules.NN),
    "torch.nn.functional": ("gradcheck.nn.functional", modules.FUNCTIONAL),
    "torch.nn.init": ("gradcheck.nn.init", INIT),
    "torch.nn.utils": ("gradcheck.nn.utils", {}),
    "torch.nn.parameter": ("gradcheck.nn", {}),
    "torch.nn.modules": ("gradcheck.nn", modules.NN),
    **{f"torch.nn.modules.{part}": ("gradcheck.nn", modules.NN) for part in PARTS},
    "torch.optim": ("gradcheck.optim", modules.OPTIM),
    "torch.optim.lr_scheduler": ("", modules.SCHEDULERS),
    "torch.autograd": ("gradcheck.autograd", VARIABLE | {"gradcheck": tensors.compare_slopes}),
    "torch.autograd.function": ("gradcheck.autograd", {}),
    "torch.autograd.functional": ("gradcheck.autograd.functional", {}),
    "torch.autograd.variable": ("", VARIABLE),
    "torch.linalg": ("gradcheck.linalg", {}),
    "torch.special": ("gradcheck.special", {}),
    "torch.func": ("gradcheck.func", {}),
    "torch.functional": ("gradcheck", {}),
    "torch.random": ("", tensors.RANDOM),
    "torch.utils": ("", {}),
    "torch.utils.data": ("", modules.DATA),
    "torch.cuda": ("", tensors.CUDA),
    "torch.backends": ("", {}),
    "torch.backends.mps": ("", dict.fromkeys(("is_available", "is_built"), lambda: False)),
    "torch.backends.cudnn": ("", {"deterministic": True, "benchmark": False}),
    "torch.accelerator": ("", tensors.CUDA),
}
"""What each module of PyTorch is here, and what is added to that."""
METHODS: tuple[tuple[type, Params], ...] = (
    (Tensor, tensors.METHODS),
    (Module, modules.METHODS),
    (Layer, {"__init__": tensors.spell_as_pytorch(Layer.__init__)}),
    (STATELESS["BCELoss"], {"feed": lambda self, layer, p, t: (modules.expect_shares(p), t)}),
    (Optimizer, modules.OPTIMIZERS),
    (Context, {"saved_variables": Context.saved_tensors}),
)
INSTEAD: Mapping[str, str] = {
    **WRITTEN_OUT,
    **dict.fromkeys(("compile", "jit"), "call the function itself"),
    **dict.fromkeys(
        ("register_full_backward_hook", "register_backward_hook"),
        "`y.register_hook(print)` shows what comes back to the value `y` of a layer",
    ),
    "resize_as_": "write `zeros_like(x)`",
    **dict.fromkeys(("resize", "resize_"), "write `reshape`"),
    **dict.fromkeys(
        ("rnn", "pad_sequence", "pack_padded_sequence", "pad_packed_sequence"),
        "`cat` zeros behind the shorter ones, and choose with `where` what counts",
    ),
    "AdaptiveAvgPool2d": "write `x.mean((2, 3), keepdim=True)` for one entry a channel",
    "PReLU": "write `where(x > 0, x, a * x)` with a `Parameter` a",
    "ConvTranspose2d": "write `repeat_interleave` along both axes, then `Conv2d`",
    "distributions": "write the log-density as a formula; `randn`, `rand`, `multinomial` draw",
    **dict.fromkeys(
        ("Transformer", "TransformerEncoder", "TransformerEncoderLayer", "MultiheadAttention"),
        "write it with `scaled_dot_product_attention`, `Linear` and `LayerNorm`",
    ),
}


class Library(ModuleType):
    """One module of PyTorch: its own names, and those of a module of gradcheck."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        own = MODULES[name][1].items()
        self.__dict__.update({name: tensors.spell_as_pytorch(value) for name, value in own})

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        home = MODULES[self.__name__][0]
        found = getattr(import_module(home), name, None) if home else None
        if found is None:
            raise AttributeError(_explain_missing(self.__name__, name, dir(self)))
        self.__dict__[name] = found = tensors.spell_as_pytorch(found)
        return found

    def __dir__(self) -> list[str]:
        home = MODULES[self.__name__][0]
        theirs = dir(import_module(home)) if home else []
        return sorted({*self.__dict__, *theirs} - {"__path__"})


def install() -> None:
    """From here on `import torch` means gradcheck in this process, whose classes get methods."""
    for kind, methods in METHODS:
        for name, method in methods.items():
            setattr(kind, name, method)
    sys.modules.update({path: Library(path) for path in MODULES})
    for path in MODULES:
        parent, _, name = path.rpartition(".")
        if parent:
            setattr(sys.modules[parent], name, sys.modules[path])
    sys.modules[LIBRARY].__dict__["__version__"] = f"{PYTORCH}+gradcheck.{version('gradcheck')}"


def _explain_missing(owner: str, name: str, names: Iterable[str]) -> str:
    offered = [each for each in names if not each.startswith("_")]
    cure = INSTEAD.get(name) or suggest_nearest(name, offered)
    if not cure and owner in (LIBRARY, "Tensor", "torch.nn.functional"):
        cure = f"`gradcheck ops` lists the {'methods' if owner == 'Tensor' else 'functions'}"
    return f"`{owner}.{name}` is not offered by gradcheck - {cure or join_names(offered)}"


def find_advice(error: BaseException) -> str:
    """A sentence on an import or an attribute that is PyTorch's and not here; else nothing."""
    if isinstance(error, AttributeError):
        kind = type(error.obj)
        own = kind.__module__.startswith("gradcheck.") and kind is not Library
        return _explain_missing(kind.__name__, error.name or "", dir(kind)) if own else ""
    owner = str(error.name) if isinstance(error, ImportError) else ""
    if owner.split(".")[0] != LIBRARY:
        return ""
    if isinstance(error, ModuleNotFoundError):
        cure = INSTEAD.get(owner.rpartition(".")[2]) or join_names(MODULES.keys() - {LIBRARY})
        return f"`{owner}` is not offered by gradcheck - {cure}"
    name = str(error).partition("cannot import name '")[2].partition("'")[0]
    return _explain_missing(owner, name, dir(sys.modules[owner])) if name else ""


# -- the passes back of a script, and the names of what they reach ---------------------------------

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
        held, word = (step.variable, "a leaf") if isinstance(step, Leaf) else (step, "a value")
        name = self.known.get(id(held), word)
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
                    left += [(n, v, depth + 1) for n, v in _walk_inside(path, value)]
        return found


def _walk_inside(path: str, value: Value) -> Iterator[tuple[str, Value]]:
    if isinstance(value, list | tuple):
        yield from ((f"{path}[{k}]", each) for k, each in enumerate(value[:MANY]))
    elif isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", each) for key, each in list(value.items())[:MANY])
    elif type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
        yield from ((f"{path}.{name}", each) for name, each in vars(value).items())


class PassRecorder:
    """Follows a script while it runs, and keeps the passes that are to be judged."""

    def __init__(self, file: str) -> None:
        self.file, self.observer = file, Observer()
        self.kept, self.calls, self.missed = list[BackwardPass](), Counter[int](), Counter[int]()
        self.watching = watching(self.observer.observe, None, self.walked)

    def walked(self, roots: Sequence[tuple[Step, Value]], landed: Mapping[Step, Value]) -> None:
        """One pass back is over, and nothing has been added to a `.grad`."""
        frames = [frame for frame in list_frames() if frame.f_code.co_filename == self.file]
        line, observer = frames[0].f_lineno if frames else 0, self.observer
        self.calls[line] += 1
        if self.calls[line] - self.missed[line] > A_LINE or len(self.kept) >= ALTOGETHER:
            observer.idle = observer.idle or observer.copied > IN_VAIN
        elif observer.idle:  # this pass was not followed: the next of its line may be
            self.missed[line] += 1
            observer.idle = False
        else:
            observer.copied, names = 0, LeafNames([frame.f_locals for frame in frames])
            arrived = {step: np.array(unwrap(g), dtype=np.float64) for step, g in landed.items()}
            records = tuple((observer.record(step), unwrap(g)) for step, g in roots)
            named = {step: names.of(step) for step in arrived}
            hooked = any(step.hooks for step in list_reachable([step for step, _ in roots]))
            self.kept.append(BackwardPass(line, records, arrived, named, hooked=hooked))


def judge(recorder: PassRecorder, tell: Callable[[str], None]) -> ScriptJudgement:
    """Ask the opinions about every pass that was kept; `tell` hears how far it is.

    What a backward of the script's own prints when it is asked again is not printed again.
    """
    judged, spent = list[JudgedPass](), 0
    for k, call in enumerate(recorder.kept):
        spent += call.work
        if judged and spent > MOST_WORK:
            break
        tell(f"judging pass {k + 1} of {len(recorder.kept)}, line {call.place}")
        with redirect_stdout(StringIO()):
            judged.append(judge_pass(call))
    return ScriptJudgement(tuple(judged), dict(recorder.calls))


# -- a script as `python FILE` would run it --------------------------------------------------------

MAIN = "__main__"
SEED = 0


@dataclass(frozen=True)
class Ended:
    """What a script ended in: the traceback through its own lines."""

    text: str
    line: int


def run_file(file: Path) -> tuple[list[str], PassRecorder, Ended | None]:
    """Run a file with PyTorch's names meaning gradcheck; raises TextError where it is no program.

    Gives its lines, what it recorded, and its error if it ended in one. The process is the script's
    own: its modules, its seeds and its directory are changed.
    """
    codes, name = _compile(file), str(file)
    main = ModuleType(MAIN)
    main.__dict__.update(__file__=name, __builtins__=__builtins__)
    sys.modules[MAIN], sys.argv = main, [name]
    sys.path.insert(0, str(file.resolve().parent))
    os.environ["MPLBACKEND"] = "Agg"  # pictures need no window
    if (with_screen := sys.modules.get("matplotlib")) is not None:
        with_screen.use("Agg")
    warnings.filterwarnings("ignore", module=r"gradcheck\.")  # PyTorch says nothing of 1/0
    install()
    random.seed(SEED)
    np.random.seed(SEED)
    recorder = PassRecorder(name)
    with recorder.watching:
        error = _run(codes, main.__dict__, name)
    return [line.rstrip("\n") for line in linecache.getlines(name)], recorder, error


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
        lines = "\n".join(filter(None, [text, find_advice(error)]))
        return Ended(lines, own[-1].lineno or 0 if own else 0)
    return None


def _compile(file: Path) -> list[CodeType]:
    name, said = str(file), tuple[Value, ...]()
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".py":
            return [compile(text, name, "exec", dont_inherit=True)]
        return list(_compile_cells(name, json.loads(text)))
    except UnicodeDecodeError:
        said = "not a text in UTF-8", "save it as one", name
    except SyntaxError as error:
        place = name, error.lineno or 1, error.offset or 1
        said = f"not readable as Python: {error.msg}", "write it as Python", *place
    except ValueError as error:
        said = str(error), "save it again", name
    raise TextError([Complaint(*said)])


def _parse_cell(lines: list[str], start: int, file: str) -> ast.Module:
    while True:
        try:
            return ast.parse("\n" * start + "\n".join(lines[start:]), file)
        except SyntaxError as error:  # a line within brackets may begin with a % that is Python's
            k = (error.lineno or 1) - 1
            command = lines[k].lstrip() if k < len(lines) else ""
            if not command.startswith(("%", "!")):
                raise
            lines[k] = lines[k].replace(command, "pass")


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
        first = next(filter(str.strip, own), "")
        margin = first[: len(first) - len(first.lstrip())]  # which Jupyter takes away too
        lines += (line.removeprefix(margin) for line in own)
        tree = _parse_cell(lines, start, file)
        match tree.body:
            case [*_, ast.Expr(last)] if not lines[-1].rstrip().endswith(";"):
                tree.body.pop()
                shown = [ast.Expression(last)]
            case _:
                shown = []
        yield compile(tree, file, "exec", dont_inherit=True)
        yield from (compile(each, file, "eval", dont_inherit=True) for each in shown)
    whole = [f"{line}\n" for line in lines]
    linecache.cache[file] = sum(map(len, whole)), None, whole, file
