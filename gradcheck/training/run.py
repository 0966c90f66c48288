"""A program with backward calls, run once on the engine: its ledger, and what it is asked.

The reference and an answer that is a program run alike; an answer has an allowance of turns, calls,
elements and operations, which are counted, and no clock.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import TypeAlias

import numpy as np

from gradcheck.documents.document import Passage
from gradcheck.engine.autograd import grad as engine_grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.factories import MAKERS, Generator, Maker, make_fillers
from gradcheck.engine.layers import LAYERS, STATELESS, Sequential, mark
from gradcheck.engine.optimizers import SGD, Adam, clip_grad_norm_, clip_grad_value_
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.errors import STUDENT_EXPONENT, Complaint, GradcheckError, OutOfBudget, TextError
from gradcheck.language.budget import Budget
from gradcheck.language.grammar import list_targets
from gradcheck.language.kinds import KINDS, RECORDED_WORDS, VOCABULARY
from gradcheck.language.program import Program, check_expression, check_program, run
from gradcheck.language.vocabulary import words
from gradcheck.ops.shapes import as_tuple
from gradcheck.problem.record import ERROR, Part, Point, Problem
from gradcheck.scripts.run import LeafNames
from gradcheck.training.ledger import CHUNK, BackwardCall, GradLedger, LedgerEntry, LoopVerbs
from gradcheck.training.outputs import Output, as_value
from gradcheck.values import Array, Numbers, Params, Routine

Taken: TypeAlias = tuple[Numbers, BackwardCall, Tensor]
WHOLE = "write 2.0 for 2, or give dtype=float"


class LoopWords:
    """The words of one run, and what they left.

    `recorded` are the series of `record(...)`; `taken` the gradients that `grad(...)` gave, each
    with its call and what it is a gradient by; `written` the leaves that the text makes out of
    numbers, with those. `moved` are others in their place.
    """

    def __init__(self, ledger: GradLedger, moved: Mapping[int, Array]) -> None:
        self.ledger, self.moved, self.generator = ledger, moved, Generator()
        self.recorded, self.taken = dict[str, list[Numbers]](), list[Taken]()
        self.written: list[tuple[Tensor, Array]] = []
        makers = {**MAKERS, **self.generator.makers()}
        self.table: dict[str, Routine] = {
            **{name: partial(self.make, maker) for name, maker in makers.items()},
            **make_fillers(self.generator),
            **STATELESS,
            **{name: partial(self.build, layer) for name, layer in LAYERS.items()},
            "Sequential": Sequential,
            "SGD": _feed(SGD, _as_number),
            "Adam": _feed(Adam, _as_number),
            "clip_grad_norm_": clip_grad_norm_,
            "clip_grad_value_": clip_grad_value_,
            "manual_seed": self.generator.manual_seed,
            "record": self.record,
            "grad": self.grad,
            "tensor": self.tensor,
            "Tensor": lambda data: tensor(data, np.float64),
            "Parameter": lambda data, requires_grad=True: mark(
                self.leaf(unwrap(data)) if requires_grad else tensor(unwrap(data))
            ),
        }

    def leaf(self, values: Numbers, name: str = "") -> Tensor:
        """A new leaf; of those without a name, which the text writes, some may be `moved`."""
        given = values if name else self.moved.get(len(self.written), values)
        numbers = np.array(given, dtype=np.float64)
        found = tensor(numbers, requires_grad=True)
        self.ledger.enter(found).name = name
        if not name:
            self.written.append((found, numbers))
        return found

    def tensor(self, data: Numbers, dtype: Numbers = None, requires_grad: bool = False) -> Numbers:
        """`tensor([1.0, 2.0], requires_grad=True)`: a leaf; of tensors, their stack."""
        if _holds_tensors(data):
            return KINDS["tensor"].function("array")(data)
        if not requires_grad:
            return tensor(data, dtype)
        try:
            tensor(data, dtype, requires_grad=True)
        except RuntimeError as error:
            raise RuntimeError(f"{error}; {WHOLE}") from None
        return self.leaf(data)

    def grad(
        self, outputs: Numbers, inputs: Numbers, grad_outputs: Numbers = None, **how: Numbers
    ) -> Numbers:
        """`grad(outputs, inputs)`: a backward call that leaves the ledger alone."""
        wrt = as_tuple(inputs)
        for x in wrt:
            if isinstance(x, Tensor):
                self.ledger.enter(x)
        found = engine_grad(outputs, inputs, grad_outputs, **how)
        for call in self.ledger.calls[-1:]:
            self.taken += [(g, call, x) for x, g in zip(wrt, found, strict=True)]
        return found

    def record(self, **values: Numbers) -> None:
        """`record(norm=...)`: one entry of a trace a call."""
        for name, value in values.items():
            self.ledger.spend(1 + np.size(unwrap(value)) // CHUNK)
            self.recorded.setdefault(name, []).append(_copy(value))

    def make(
        self, maker: Maker, *args: Numbers, requires_grad: bool = False, **named: Numbers
    ) -> Numbers:
        """`ones(3, requires_grad=True)`: a leaf, or a constant; integers stay an array."""
        made = _feed(maker, unwrap)(*args, **named)
        if requires_grad:
            return self.leaf(made)
        return tensor(made) if made.dtype.kind == "f" else made

    def build(self, layer: Routine, *args: Numbers, **named: Numbers) -> Numbers:
        """A layer with parameters; of several that are drawn, each is drawn otherwise."""
        if not {"seed", "weight"} & named.keys() and "seed" in signature(layer).parameters:
            named["seed"] = self.generator.seed_layer()
        made = _feed(layer, _as_number)(*args, **named)
        for parameter in made.parameters():
            self.ledger.enter(parameter)
        return made


def _feed(make: Routine, say: Routine) -> Routine:
    """What makes something of arguments that are said otherwise."""
    return lambda *args, **named: make(*map(say, args), **{n: say(v) for n, v in named.items()})


def _as_number(value: Numbers) -> Numbers:
    """An input of the problem that is a single number as a number."""
    return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value


def _copy(value: Numbers) -> Numbers:
    if isinstance(value, Tensor | np.ndarray):
        return np.array(unwrap(value))
    return type(value)(map(_copy, value)) if type(value) in (tuple, list) else value


def _holds_tensors(data: Numbers) -> bool:
    if type(data) in (list, tuple):
        return any(map(_holds_tensors, data))
    return isinstance(data, Tensor)


# -- a program, and what it is asked ---------------------------------------------------------------

ROOMY = Budget()


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run left: the answers to what is asked, by part, and its ledger.

    `notes` are PyTorch's warnings; `error` is what the program ended in, where that is asked;
    `drawn` says whether it drew. Of an answer that is a program `failed` says why nothing could be
    read, `stopped` that its allowance was used up, `ended` that it came to its end.
    """

    values: Mapping[str, Output]
    ledger: GradLedger
    notes: tuple[str, ...] = ()
    error: TextError | None = None
    drawn: bool = False
    recorded: Mapping[str, Output] = field(default_factory=dict)
    failed: str = ""
    stopped: bool = False
    ended: bool = True

    @property
    def calls(self) -> list[BackwardCall]:
        return self.ledger.calls

    @property
    def entries(self) -> list[LedgerEntry]:
        return self.ledger.entries


def trace(
    problem: Problem, point: Point, verbs: LoopVerbs | None = None, *, together: int = 1
) -> Trace:
    """Run the program on the engine; raises TextError or OutOfBudget, as any program does."""
    ledger, notes = GradLedger(verbs, together), list[str]()
    with _note_warnings(notes):
        end = execute(problem, point, ledger)
        values = {part.name: end.read(part) for part in problem.parts}
    ledger.calls[:] = [
        replace(call, names={step: ledger.name_of(step) for step in call.landed})
        for call in ledger.calls
    ]
    recorded = {name: as_value(value) for name, value in end.words.recorded.items()}
    drawn = end.words.generator.used
    return Trace(values, ledger, tuple(notes), end.error, drawn, recorded)


@contextmanager
def _note_warnings(notes: list[str]) -> Iterator[None]:
    with warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught:
        yield
    notes += dict.fromkeys(str(warning.message) for warning in caught)


@dataclass(frozen=True, eq=False)
class RunEnd:
    """What a run can be asked at its end: all variables, what was recorded, and the error."""

    names: dict[str, Numbers]
    words: LoopWords
    error: TextError | None

    def read(self, part: Part, budget: Budget = ROOMY) -> Output:
        """What a part reads: its expression, or the `.grad` of the input it is named after.

        Of a program that ended in an error, what does not exist is None.
        """
        try:
            return as_value(self.look_up(part.ask or part.name, budget))
        except TextError:
            if self.error is None or part.ask is None:
                raise
            return None

    def look_up(self, asked: Program | str, budget: Budget = ROOMY) -> Numbers:
        """The value of an expression, or the `.grad` of an input."""
        if isinstance(asked, str):
            return self.names[asked].grad
        with self.words.ledger.watching():
            return run(asked, self.names, KINDS["tensor"], budget, context=self.words.table).value


def execute(problem: Problem, point: Point, ledger: GradLedger, budget: Budget = ROOMY) -> RunEnd:
    """Run a program, its leaves named after the variables.

    Where it is asked what the program ends in, it may end in an error.
    """
    entries = problem.inputs.items()
    written = {entry.written: point[n] for n, entry in entries if entry.written is not None}
    words = LoopWords(ledger, written)
    inputs = {
        name: words.leaf(point[name], name)
        if entry.requires_grad and not problem.program.arrays
        else tensor(problem.in_numpy(name, point[name]))
        for name, entry in entries
        if entry.written is None
    }
    asked = (n for p in problem.parts if p.ask is not None for n in ast.walk(p.ask.tree))
    ends = any(getattr(node, "id", "") == ERROR for node in asked)
    with ledger.watching():
        outcome = run(
            problem.program, inputs, KINDS["tensor"], budget, context=words.table, keep_error=ends
        )
    ledger.done = outcome.done
    _name_holders(ledger, outcome.names, problem.program.tree)
    error = None if outcome.error is None else outcome.error.complaints[0].message
    series = SimpleNamespace(**words.recorded)
    return RunEnd({ERROR: error, **outcome.names, "recorded": series}, words, outcome.error)


def _name_holders(ledger: GradLedger, names: Params, tree: ast.Module) -> None:
    """After the variables that hold them, or lists, or modules; after those of a loop at last."""
    turning = {n for f in ast.walk(tree) if isinstance(f, ast.For) for n in list_targets(f.target)}
    known = LeafNames([{n: v for n, v in names.items() if n not in turning}, names]).known
    for k, holder in enumerate(ledger.holders):
        nameless = f"leaf {k + 1}" if holder.tensor.is_leaf else "an intermediate value"
        holder.name = holder.name or known.get(id(holder.tensor), nameless)


# -- an answer that is a program -------------------------------------------------------------------

LONGEST = 5_000
COMPLAINTS = 5
WIDEST = 300
ANSWER = "answer"  # what the file is called in complaints
SPACES = " \n\r\t"
FENCE = re.compile(r"^[ \t]*```\w*(?=\s*?$)", re.MULTILINE)
STUDENTS = replace(VOCABULARY, methods=VOCABULARY.methods | {"append"})
UNREADABLE = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)
TOO_MUCH = (RecursionError, MemoryError)
OPERATIONS = 40_000
WORK = 400_000  # turns and calls, times the expressions of the longest turn
STEPS = 20_000
LEARNING = (RECORDED_WORDS - {"record"}) | words(
    "torch nn F optim autograd tensor backward detach no_grad enable_grad data requires_grad "
    "requires_grad_ grad_fn is_leaf retain_grad"
)
TURNING = (ast.For, ast.While, ast.FunctionDef, ast.ListComp, ast.GeneratorExp)


def read_program(problem: Problem, text: str) -> Program:
    """The text of an answer as a program over the inputs; TextError has what is refused.

    The fences of Markdown around it are blanks.
    """
    text = FENCE.sub(lambda fence: " " * len(fence[0]), text)
    try:
        if len(text) > LONGEST:
            size = f"{len(text):,} characters, at most {LONGEST:,}"
            raise TextError([Complaint(f"a program of {size}", "shorten it", ANSWER, 1, 1)])
        for k, letter in enumerate(text):
            if not (letter.isprintable() or letter in SPACES):  # the line is not quoted
                place = ANSWER, text.count("\n", 0, k) + 1, k - text.rfind("\n", 0, k)
                what = f"the character U+{ord(letter):04X}, which cannot be seen"
                raise TextError([Complaint(what, "remove it", *place)])
        names = tuple(problem.inputs)
        found = check_program(Passage(text, ANSWER), declared=names, vocabulary=STUDENTS)
        return _tell_arrays(problem, found)
    except TextError as error:
        raise TextError([_shorten(each) for each in error.complaints[:COMPLAINTS]]) from None


def _shorten(said: Complaint) -> Complaint:
    message, cure = said.message[:WIDEST], said.cure[:WIDEST]
    return replace(said, message=message, cure=cure, width=min(said.width, WIDEST))


def read_tree(problem: Problem, tree: ast.Module) -> Program:
    """The same of a tree, whose text nobody will see."""
    found = check_expression(tree, declared=tuple(problem.inputs), vocabulary=STUDENTS)
    return _tell_arrays(problem, found)


def _tell_arrays(problem: Problem, program: Program) -> Program:
    """What names nothing of PyTorch's computes with arrays: `w -= 0.1 * g` is no fault there."""
    trees = [program.tree, *(part.ask.tree for part in problem.parts if part.ask)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = {getattr(node, "id", "") for node in nodes}
    own = {getattr(node, "name", getattr(node, "arg", "")) for node in nodes}  # helpers, arguments
    own = own.union(*map(list_targets, trees))
    taken = {getattr(node, "attr", "") for node in nodes}
    words = taken | named - own - problem.inputs.keys()
    return replace(program, arrays=words.isdisjoint(LEARNING))


def make_allowance(program: Program, share: int, steps: int) -> Budget:
    """The budget of an answer, or a share of it; the longer its turns, the fewer it may take."""
    turns = (_count_once(n) for n in ast.walk(program.tree) if isinstance(n, TURNING))
    return Budget(
        steps=min(steps, STEPS // share, WORK // max([1, *turns]) // share),
        depth=20,
        elements=10_000,
        entries=5_000,
        total=3_000_000 // share,
        products=20_000_000 // share,
        bits=512,
        exponent=STUDENT_EXPONENT,
    )


def _count_once(turn: ast.AST) -> int:
    """The expressions of one turn of a loop, or of a call, without those of loops inside."""
    inner = (n for n in ast.iter_child_nodes(turn) if not isinstance(n, TURNING))
    return sum(isinstance(n, ast.expr) + _count_once(n) for n in inner)


def run_program(
    problem: Problem,
    program: Program,
    part: Part,
    point: Point,
    *,
    verbs: LoopVerbs | None = None,
    share: int = 1,
    steps: int = STEPS,
    watched: bool = True,
) -> Trace:
    """Run a program in the place of the reference, and read the part; never raises.

    With `share` 8 it gets an eighth of the allowance, but `steps` at most. One that is not
    `watched` has no ledger.
    """
    ledger = GradLedger(verbs, limit=OPERATIONS // share, watched=watched)
    notes = list[str]()
    answering, budget = replace(problem, program=program), make_allowance(program, share, steps)
    answering.places.update(problem.places)  # whole numbers there are whole in any program
    value: Output = None
    failed, stopped, ended = "", False, False
    with _note_warnings(notes):
        try:
            end = execute(answering, point, ledger, budget)
            ended = True
            value, failed = _read(problem, part, end, budget)
        except TextError as error:
            ledger.done = error.done
            failed = "\n".join(map(str, error.complaints))
        except GradcheckError as error:
            failed, stopped = str(error), isinstance(error, OutOfBudget)
    values = {part.name: value}
    return Trace(values, ledger, tuple(notes), failed=failed, stopped=stopped, ended=ended)


def _read(problem: Problem, part: Part, end: RunEnd, budget: Budget) -> tuple[Output, str]:
    """What a part reads, or why it cannot be read; its place is nothing to a student."""
    if absent := _describe_absent(problem, part, end):
        return None, absent
    try:
        return end.read(part, budget), ""
    except TextError as error:
        said = error.complaints[0].message
    except UNREADABLE as error:
        said = str(error.__cause__ or error)
    except TOO_MUCH:
        said = "it holds lists that are nested too deep"
    read = part.ask.source if part.ask else part.name
    return None, f"`{read}` cannot be read at the end of the program: {said[:WIDEST]}"


def _describe_absent(problem: Problem, part: Part, end: RunEnd) -> str:
    """What a part reads and a program did not leave; "" where everything is there."""
    due = list_targets(problem.program.tree) | problem.inputs.keys()
    for node in ast.walk(part.ask.tree) if part.ask else ():
        match node:
            case ast.Attribute(ast.Name("recorded"), name) if name not in end.words.recorded:
                return f"nothing was recorded as `{name}` - call `record({name}=...)`"
            case ast.Name(name) if name not in end.names and name in due:
                return f"the program leaves no `{name}` - give it a value under this name"
    return ""
