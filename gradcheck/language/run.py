"""Running a checked program with one kind of number."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, MappingProxyType, TracebackType

import numpy as np

from gradcheck.documents.document import Where
from gradcheck.errors import Complaint, GradcheckError, OutOfBudget, TextError
from gradcheck.language.budget import Budget, Meter
from gradcheck.language.grammar import LAST
from gradcheck.language.guards import TYPE, Guards
from gradcheck.language.kinds import NumberKind
from gradcheck.language.program import MARK, SPANS, Program, where_in
from gradcheck.values import Params, Routine, Value

NOTHING: Mapping[str, Routine] = MappingProxyType({})
START: Where = (1, 1, 0, 0)

# What went wrong, and what to do about it; first match first.
CURES: tuple[tuple[type[BaseException], str], ...] = (
    (NameError, "give it a value first, on every path"),
    (ZeroDivisionError, "choose inputs for which this is not zero"),
    (IndexError, "count from 0, up to the length in `.shape`"),
    (AttributeError, "plain numbers and lists know less than tensors"),
    (Exception, "look at the shapes and kinds of the values here"),
)
SAID: tuple[tuple[str, str], ...] = (
    ("only for scalar outputs", "make the loss one number: `.mean()` or `.sum()`"),
    ("through the graph a second time", "compute the loss anew before each backward call"),
    ("modified by an inplace operation", "call backward before the step: it needs the old values"),
    ("does not have a grad_fn", "compute it from inputs that require grad, not under no_grad"),
    ("NoneType", "`.grad` is None before backward, and after it was cleared"),
    ("rows of", "make the inner lengths alike: transpose one (`.T`), or change a shape"),
    ("could not be broadcast", "read shapes from the right: lengths must be alike, or 1"),
    ("converted to an index", "write the whole number itself: an input is no whole number"),
    (
        "in-place operation",
        "give the result a name of its own; or step it inside `with no_grad():`",
    ),
)
TOO_MUCH: dict[type[BaseException], str] = {
    MemoryError: "this does not fit into memory",
    RecursionError: "this is nested too deep",
}
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# NumPy's words about shapes, and ours.
SHAPES: tuple[tuple[str, str], ...] = (
    (r"matmul: .*\(size (\d+) is different from (\d+)\)",
     r"in a matrix product rows of \2 entries meet columns of \1"),
    (r"(\w+?)1?: .*gufunc.*\(size (\d+) is different from (\d+)\)",
     r"lengths of \3 and \2 could not be broadcast in `\1`"),
    (r"(\w+?)1?: .*not have enough dimensions.*", r"`\1` is given an array of too few axes"),
)  # fmt: skip
LONGEST_MESSAGE = 300


@dataclass(frozen=True)
class RunOutcome:
    """What a run came to: its last expression's value, all variables at the end, the steps.

    `error` is what the program ended in, where that was asked to be kept.
    """

    value: Value
    names: Params
    steps: int = 0
    error: TextError | None = None


def run(
    program: Program,
    inputs: Params,
    kind: NumberKind,
    budget: Budget,
    *,
    context: Mapping[str, Routine] = NOTHING,
    keep_error: bool = False,
) -> RunOutcome:
    """Run a program; `context` has the functions of this run alone (`record`, `no_grad`).

    With `keep_error`, an error of the program's own ends the run and is kept. What a program
    changes in place it changes in the inputs: pass copies. What goes wrong in it is a TextError or
    OutOfBudget at its place; other errors of gradcheck's pass as they are.
    """
    meter, namespace, kept = Meter(budget), dict[str, Value](), None
    try:
        namespace = _namespace(program, inputs, kind, meter, context)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            exec(program.code, namespace)  # noqa: S102  # every node was checked and lowered
    except (OutOfBudget, MemoryError, RecursionError) as error:
        raise OutOfBudget(str(_complaint(program, error))) from error
    except GradcheckError:
        raise
    except Exception as error:
        kept = TextError([_complaint(program, error)])
        if not keep_error:
            raise kept from error
    return RunOutcome(namespace.get(LAST), _variables(namespace), meter.spent["steps"], kept)


def _namespace(
    program: Program,
    inputs: Params,
    kind: NumberKind,
    meter: Meter,
    context: Mapping[str, Routine],
) -> dict[str, Value]:
    def find(name: str) -> Routine:
        return guards.function(name, context[name] if name in context else kind.function(name))

    guards = Guards(meter, kind.literal, find)
    tables: dict[str, Callable[[str], Value]] = {
        "guard": guards.look_up,
        "builtin": guards.builtin,
        "fn": find,
        "constant": kind.constant,
        "literal": lambda at: kind.literal(program.literals[int(at)]),
        "type": TYPE.__getitem__,
    }
    needs = {f"{table}.{name}": tables[table](name) for table, name in program.needs}
    return {**inputs, **needs, SPANS: program.spans, "__builtins__": {}}


def _variables(namespace: Params) -> dict[str, Value]:
    """What a program's names hold, but for its helpers."""
    plain = {n: v for n, v in namespace.items() if n.isidentifier() and n != "__builtins__"}
    helpers = {n for n, v in plain.items() if isinstance(v, FunctionType)}
    return {n: v for n, v in plain.items() if n not in helpers or v.__code__.co_filename != MARK}


def _complaint(program: Program, error: BaseException) -> Complaint:
    """What went wrong, at its place in the program; our own errors bring their cure along."""
    message, _, own = _message(error).partition(" - ")
    said = own or next((cure for words, cure in SAID if words in message), "")
    cure = said or next((cure for kind, cure in CURES if isinstance(error, kind)), "")
    return program.passage.complaint(message, cure, _place(error.__traceback__))


def _message(error: BaseException) -> str:
    known = next((words for kind, words in TOO_MUCH.items() if isinstance(error, kind)), "")
    said = str(error).partition(" Hint: ")[0]
    for theirs, ours in SHAPES:
        said = re.sub(theirs, ours, said)
    lines = ADDRESS.sub("", said).strip().splitlines()
    return known or (lines[0][:LONGEST_MESSAGE] if lines else type(error).__name__)


def _place(traceback: TracebackType | None) -> Where:
    where = START
    while traceback:
        code = traceback.tb_frame.f_code
        if code.co_filename == MARK:
            where = where_in(code, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next
    return where
