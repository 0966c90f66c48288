"""A student's program: read in the checked language, run within its allowance, and asked."""

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gradcheck.errors import STUDENT_EXPONENT, Complaint, GradcheckError, OutOfBudget, TextError
from gradcheck.language import Budget, Program, check_program
from gradcheck.language.budget import over
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.program import check_module
from gradcheck.problem.record import Part, Point, Problem
from gradcheck.training.ledger import RIGHT, BackwardCall, GradientLedger, LedgerEntry, LedgerVerbs
from gradcheck.training.outputs import Output
from gradcheck.training.trace import Recorder, names_after, notes_of, read_part
from gradcheck.values import Params

LONGEST = 5_000
COMPLAINTS = 5
WIDEST = 300
ANSWER = "answer"  # what the file is called in complaints
SPACES = " \n\r\t"
STUDENTS = replace(VOCABULARY, methods=VOCABULARY.methods | {"append"})
UNREADABLE = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)
TOO_MUCH = (RecursionError, MemoryError)


# -- what it may use: turns, calls, elements and operations are counted, and no clock ------------

OPERATIONS = 8_000
WORK = 80_000  # turns and calls, times the expressions that the text holds
STEPS = 4_000


def allowance(program: Program, share: int = 1) -> Budget:
    """The budget of an answer, or a share of it; the longer a text, the less it may loop."""
    expressions = sum(isinstance(node, ast.expr) for node in ast.walk(program.tree))
    return Budget(
        steps=min(STEPS, WORK // max(expressions, 1)) // share,
        depth=20,
        elements=10_000,
        entries=5_000,
        total=3_000_000 // share,
        products=20_000_000 // share,
        bits=512,
        exponent=STUDENT_EXPONENT,
    )


@dataclass(eq=False)
class OperationMeter:
    """Counts the operations on tensors of a recorded run; raises OutOfBudget at its limit."""

    limit: int = OPERATIONS
    spent: int = 0

    def __call__(self, count: int) -> None:
        self.spent += count
        if self.spent > self.limit:
            raise over(
                "operations on tensors, there and back",
                self.limit,
                "use fewer turns or smaller arrays",
            )


# -- what it leaves --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StudentRun:
    """What a program left: what is read at its end, its ledger, its backward calls.

    `failed` says why nothing could be read, `stopped` that the allowance was used up, `ended` that
    the program came to its end. `notes` are PyTorch's warnings; `spent` counts its operations.
    """

    value: Output
    entries: tuple[LedgerEntry, ...]
    calls: tuple[BackwardCall, ...]
    notes: tuple[str, ...] = ()
    failed: str = ""
    stopped: bool = False
    ended: bool = True
    spent: int = 0


def read_program(problem: Problem, text: str) -> Program:
    """The text of an answer as a program over the inputs; TextError has what is refused."""
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
        return check_program(text, declared=names, vocabulary=STUDENTS, file=ANSWER)
    except TextError as error:
        short = [
            replace(
                each,
                message=each.message[:WIDEST],
                cure=each.cure[:WIDEST],
                width=min(each.width, WIDEST),
            )
            for each in error.complaints[:COMPLAINTS]
        ]
        raise TextError(short) from None


def read_tree(problem: Problem, tree: ast.Module) -> Program:
    """The same of a tree, whose text nobody will see."""
    return check_module(tree, declared=tuple(problem.inputs), vocabulary=STUDENTS)


# What PyTorch and Python say of a training loop, and what is then to be done.
CURES: Mapping[str, str] = {
    "a leaf Variable that requires grad": "step it inside `with no_grad():`",
    "modified by an inplace operation": "call backward before the step: it needs the old values",
    "backward through the graph a second time": "compute the loss anew before each backward call",
    "does not have a grad_fn": "compute the loss from inputs that require grad, not under no_grad",
    "only for scalar outputs": "make the loss one number: `.mean()` or `.sum()`",
    "NoneType": "`.grad` is None before backward, and after it was cleared",
}
HINT = " Hint: "


def _advise(complaint: Complaint) -> Complaint:
    """A complaint with the cure that a training loop wants."""
    message = complaint.message.partition(HINT)[0]
    cure = next((cure for said, cure in CURES.items() if said in message), complaint.cure)
    return replace(complaint, message=message, cure=cure)


def run_program(
    problem: Problem,
    program: Program,
    part: Part,
    point: Point,
    *,
    verbs: LedgerVerbs = RIGHT,
    share: int = 1,
    watched: bool = True,
) -> StudentRun:
    """Run a program in the place of the reference, and read the part; never raises.

    With `share` 8 it gets an eighth of the allowance; one that is not `watched` has no ledger.
    """
    meter = OperationMeter(OPERATIONS // share)
    recorder = Recorder(GradientLedger(verbs, spend=meter))
    answering, budget = replace(problem, program=program), allowance(program, share)
    value: Output = None
    failed, stopped, ended = "", False, False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            names, _ = names_after(answering, point, recorder, budget, watched=watched)
            ended = True
            value, failed = _read(problem, part, names, recorder, budget)
        except TextError as error:
            failed = "\n".join(str(_advise(each)) for each in error.complaints)
        except GradcheckError as error:
            failed, stopped = str(error), isinstance(error, OutOfBudget)
    left = value, tuple(recorder.ledger.entries), tuple(recorder.calls)
    return StudentRun(*left, notes_of(caught), failed, stopped, ended, meter.spent)


def _read(
    problem: Problem, part: Part, names: Params, recorder: Recorder, budget: Budget
) -> tuple[Output, str]:
    """What a part reads, or why it cannot be read; its place is nothing to a student."""
    absent = _absent(problem, part, names, recorder)
    if absent:
        return None, absent
    try:
        return read_part(part, names, recorder, budget), ""
    except TextError as error:
        said = error.complaints[0].message
    except UNREADABLE as error:
        said = str(error.__cause__ or error)
    except TOO_MUCH:
        said = "it holds lists that are nested too deep"
    read = part.ask.source if part.ask else part.name
    return None, f"`{read}` cannot be read at the end of the program: {said[:WIDEST]}"


def _absent(problem: Problem, part: Part, names: Params, recorder: Recorder) -> str:
    """What a part reads and a program did not leave; "" where everything is there."""
    walked = ast.walk(problem.program.tree)
    stored = {n.id for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in ast.walk(part.ask.tree) if part.ask else ():
        match node:
            case ast.Attribute(ast.Name("recorded"), name) if name not in recorder.recorded:
                return f"nothing was recorded as `{name}` - call `record({name}=...)`"
            case ast.Name(name) if name not in names and name in stored | problem.inputs.keys():
                return f"the program leaves no `{name}` - give it a value under this name"
    return ""
