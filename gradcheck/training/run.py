"""A program with backward calls, run once on the engine: its ledger, and what it is asked.

The reference and an answer that is a program run alike; an answer has an allowance of turns, calls,
elements and operations, which are counted, and no clock.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import TypeAlias, cast

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
from gradcheck.language.program import Program, RunOutcome, check_expression, check_program, run
from gradcheck.language.vocabulary import words
from gradcheck.ops.shapes import as_tuple
from gradcheck.problem.record import ERROR, Part, Point, Problem
from gradcheck.scripts.run import LeafNames
from gradcheck.training.ledger import CHUNK, BackwardCall, GradLedger, LoopVerbs
from gradcheck.training.outputs import Output, as_value
from gradcheck.values import Array, Numbers, Params, Routine

Taken: TypeAlias = tuple[Numbers, BackwardCall, Tensor]
ROOMY = Budget()
WHOLE = "write 2.0 for 2, or give dtype=float"


class LoopRun:
    """One run of a problem's program at a point: its words, and what it left.

    `recorded` are the series of `record(...)`; `taken` the gradients that `grad(...)` gave, each
    with its call and what it is a gradient by; `written` the leaves that the text makes out of
    numbers, with those. `names` are all variables at its end, `values` the answers to what is
    asked, by part; `notes` are PyTorch's warnings, `error` is what it ended in, where that is
    asked. Of an answer that is a program `failed` says why nothing could be read, `stopped` that
    its allowance was used up, `ended` that it came to its end.
    """

    def __init__(
        self, problem: Problem, point: Point, ledger: GradLedger, budget: Budget = ROOMY
    ) -> None:
        self.problem, self.point, self.ledger, self.budget = problem, point, ledger, budget
        self.calls, self.entries = ledger.calls, ledger.entries
        self.moved = {each.written: point[name] for name, each in problem.inputs.items()}
        self.generator, self.recorded = Generator(), dict[str, Numbers]()
        self.taken, self.written = list[Taken](), list[tuple[Tensor, Array]]()
        self.names, self.values = dict[str, Numbers](), dict[str, Output]()
        self.notes, self.error = list[str](), cast(TextError | None, None)
        self.failed, self.stopped, self.ended = "", False, False
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

    # -- the program, and what it is asked

    def execute(self) -> "LoopRun":
        """Run the program, its leaves named after the variables; itself.

        Where it is asked what the program ends in, it may end in an error.
        """
        program = self.problem.program
        inputs = {
            name: self.leaf(self.point[name], name)
            if entry.requires_grad and not program.arrays
            else tensor(self.problem.in_numpy(name, self.point[name]))
            for name, entry in self.problem.inputs.items()
            if entry.written is None
        }
        asked = (n for p in self.problem.parts if p.ask is not None for n in ast.walk(p.ask.tree))
        ends = any(getattr(node, "id", "") == ERROR for node in asked)
        outcome = self._run(program, inputs, keep_error=ends)
        self.ledger.done, self.error, self.ended = outcome.done, outcome.error, True
        turns = [node.target for node in ast.walk(program.tree) if isinstance(node, ast.For)]
        last = frozenset().union(*map(list_targets, turns))
        plain = {name: value for name, value in outcome.names.items() if name not in last}
        self.ledger.name_holders(LeafNames([plain, outcome.names]).known)
        error = None if self.error is None else self.error.complaints[0].message
        self.names = {ERROR: error, **outcome.names, "recorded": SimpleNamespace(**self.recorded)}
        return self

    @contextmanager
    def note_warnings(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught:
            yield
        self.notes += dict.fromkeys(str(warning.message) for warning in caught)

    def read(self, part: Part) -> Output:
        """What a part reads: its expression, or the `.grad` of the input it is named after.

        Of a program that ended in an error, what does not exist is None.
        """
        try:
            return as_value(self.look_up(part.ask or part.name))
        except TextError:
            if self.error is None or part.ask is None:
                raise
            return None

    def look_up(self, asked: Program | str) -> Numbers:
        """The value of an expression, or the `.grad` of an input."""
        if isinstance(asked, str):
            return self.names[asked].grad
        return self._run(asked, self.names).value

    def _run(self, program: Program, names: Params, **how: bool) -> RunOutcome:
        with self.ledger.watching():
            return run(program, names, KINDS["tensor"], self.budget, context=self.table, **how)


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


def trace(
    problem: Problem, point: Point, verbs: LoopVerbs | None = None, *, together: int = 1
) -> LoopRun:
    """Run the program on the engine; raises TextError or OutOfBudget, as any program does."""
    found = LoopRun(problem, point, GradLedger(verbs, together))
    with found.note_warnings():
        found.execute()
        found.values = {part.name: found.read(part) for part in problem.parts}
    for call in found.ledger.calls:
        call.names.update({step: found.ledger.name_of(step) for step in call.landed})
    found.recorded = {name: as_value(value) for name, value in found.recorded.items()}
    return found


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
) -> LoopRun:
    """Run a program in the place of the reference, and read the part; never raises.

    With `share` 8 it gets an eighth of the allowance, but `steps` at most. One that is not
    `watched` has no ledger.
    """
    ledger = GradLedger(verbs, limit=OPERATIONS // share, watched=watched)
    answering = replace(problem, program=program)
    answering.places.update(problem.places)  # whole numbers there are whole in any program
    found = LoopRun(answering, point, ledger, make_allowance(program, share, steps))
    found.values[part.name] = None
    with found.note_warnings():
        try:
            found.failed = _read(problem, part, found.execute())
        except TextError as error:
            ledger.done = error.done
            found.failed = "\n".join(map(str, error.complaints))
        except GradcheckError as error:
            found.failed, found.stopped = str(error), isinstance(error, OutOfBudget)
    return found


def _read(problem: Problem, part: Part, found: LoopRun) -> str:
    """Read a part; or why it cannot be read, whose place is nothing to a student."""
    if absent := _describe_absent(problem, part, found):
        return absent
    try:
        found.values[part.name] = found.read(part)
        return ""
    except TextError as error:
        said = error.complaints[0].message
    except UNREADABLE as error:
        said = str(error.__cause__ or error)
    except TOO_MUCH:
        said = "it holds lists that are nested too deep"
    read = part.ask.source if part.ask else part.name
    return f"`{read}` cannot be read at the end of the program: {said[:WIDEST]}"


def _describe_absent(problem: Problem, part: Part, end: LoopRun) -> str:
    """What a part reads and a program did not leave; "" where everything is there."""
    due = list_targets(problem.program.tree) | problem.inputs.keys()
    for node in ast.walk(part.ask.tree) if part.ask else ():
        match node:
            case ast.Attribute(ast.Name("recorded"), name) if name not in end.recorded:
                return f"nothing was recorded as `{name}` - call `record({name}=...)`"
            case ast.Name(name) if name not in end.names and name in due:
                return f"the program leaves no `{name}` - give it a value under this name"
    return ""
