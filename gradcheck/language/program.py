"""A program: checked, from a text or from the tree of an answer, and run with a kind of number."""

import ast
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import CodeType, FrameType, FunctionType, MappingProxyType, TracebackType

import numpy as np

from gradcheck.documents.document import DIGITS, Passage, Where, locate_node, read_decimal
from gradcheck.errors import Complaint, GradcheckError, OutOfBudget, TextError
from gradcheck.language.budget import Budget, Meter
from gradcheck.language.grammar import LAST, find_unexpected, list_statements, translate
from gradcheck.language.guards import TYPE, Guards
from gradcheck.language.kinds import VOCABULARY, NumberKind
from gradcheck.language.vocabulary import (
    NO_PYTHON,
    OTHERWISE,
    SIGNS,
    SYNTAX,
    SYNTAX_OTHERWISE,
    Vocabulary,
    words,
)
from gradcheck.numbers.run import silence_warnings
from gradcheck.values import Params, Routine, Value

# The file name of every compiled program, by which its frames are known.
MARK = "<gradcheck program>"
# Under this name the globals of a running program keep its spans.
SPANS = "program.spans"
Span = tuple[int, int]


@dataclass
class Spans:
    passage: Passage
    known: dict[int, tuple[CodeType, list[Span | None]]] = field(default_factory=dict)

    def of(self, code: CodeType, instruction: int) -> Span | None:
        """The start and end offsets of what an instruction (by `f_lasti`) was compiled from."""
        if id(code) not in self.known:
            self.known[id(code)] = code, list(map(self._span, code.co_positions()))
        spans = self.known[id(code)][1]
        return spans[instruction // 2] if 0 <= instruction // 2 < len(spans) else None

    def _span(self, where: tuple[int | None, ...]) -> Span | None:
        line, end_line, start, end = where
        if not line or max(line, end_line or 0) > len(self.passage.lines):
            return None
        if end_line is None or start is None or end is None:  # Python may keep no columns
            return self.passage.span((line, line, 0, len(self.passage.lines[line - 1].encode())))
        return self.passage.span((line, end_line, start, end))


def locate(frame: FrameType) -> Span | None:
    """The span of the program's text that a frame is at; None for frames of anything else."""
    if frame.f_code.co_filename != MARK:
        return None
    found = frame.f_globals.get(SPANS)
    return found.of(frame.f_code, frame.f_lasti) if isinstance(found, Spans) else None


def locate_running() -> Span | None:
    return next((span for frame in list_frames() if (span := locate(frame)) is not None), None)


def list_frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


# -- programs --------------------------------------------------------------------------------------

PICKING = words(
    "cross_entropy nll_loss embedding gather select take take_along_axis one_hot delete"
)
"""The functions that take places, or the numbers of classes."""
PICKERS = words("CrossEntropyLoss NLLLoss Embedding")
MADE = "requires_grad"


@dataclass(frozen=True, eq=False)
class Program:
    """A checked program, compiled; `needs` are the tables and names that its run must look up.

    One of `arrays` computes with them as NumPy does: nothing in it learns.
    """

    passage: Passage
    tree: ast.Module
    code: CodeType
    needs: frozenset[tuple[str, str]]
    literals: tuple[Fraction, ...]
    spans: Spans
    arrays: bool = False

    @property
    def source(self) -> str:
        return self.passage.source


def check_program(
    source: str | Passage,
    *,
    declared: Collection[str],
    vocabulary: Vocabulary = VOCABULARY,
    moved: Collection[str] = (),
    valued: bool = False,
) -> Program:
    """A text as a program in the declared names; TextError has every complaint found.

    A passage says where in a file the text stands. To the values of `moved` names the program adds
    the input of that name, where it assigns them. `valued`: what the last line assigns to one name
    is the program's value.
    """
    given = source if isinstance(source, Passage) else Passage(source)
    passage = replace(given, source=given.source.replace("\r\n", "\n").replace("\r", "\n"))
    tree = parse(passage)
    for name, statement in list_assignments(tree):
        if name in moved:
            before = ast.copy_location(ast.Name(name, ast.Load()), statement.value)
            added = ast.BinOp(statement.value, ast.Add(), before)
            statement.value = ast.copy_location(added, before)
    last = tree.body[-1] if tree.body and valued else None
    match last:
        case (
            ast.Assign(targets=[ast.Name(id=name) as target])
            | ast.AugAssign(target=ast.Name(id=name) as target)
            | ast.AnnAssign(target=ast.Name(id=name) as target, value=ast.expr())
        ):
            read = ast.copy_location(ast.Name(name, ast.Load()), target)
            tree.body.append(ast.copy_location(ast.Expr(read), target))
    return _check(tree, passage, declared, vocabulary)


def list_assignments(tree: ast.Module) -> list[tuple[str, ast.Assign]]:
    plain = [node for node in tree.body if isinstance(node, ast.Assign)]
    single = [(node.targets[0], node) for node in plain if len(node.targets) == 1]
    return [(target.id, node) for target, node in single if isinstance(target, ast.Name)]


def find_assignments(tree: ast.Module) -> dict[str, bool]:
    """The names that a program assigns, and whether it does so once, outside of any block."""
    stored = [
        node.value if isinstance(node, ast.Subscript) else node  # as a whole, or entry by entry
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    count = Counter(target.id for target in stored if isinstance(target, ast.Name))
    plain = {name for name, _ in list_assignments(tree)}
    return {name: name in plain and often == 1 for name, often in count.items()}


def find_leaves(program: Program) -> tuple[str, ...]:
    """The names given to `tensor(..., requires_grad=True)` and its like, outside of any `def`."""
    found: dict[str, None] = {}
    for node in list_statements(program.tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call() as call):
                flags = {each.arg: getattr(each.value, "value", None) for each in call.keywords}
                made = flags.get(MADE) is True or _find_called(call) in ("Parameter", f"{MADE}_")
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), attr))):
                made = attr == f"{MADE}_"
            case ast.Assign(targets=[ast.Attribute(ast.Name(name), attr)]):
                made = attr == MADE
            case _:
                continue
        if made:
            found[name] = None
    return tuple(found)


def find_places(tree: ast.Module) -> frozenset[str]:
    """The names that stand in an index, or as an argument of what picks entries."""
    found: set[str] = set()
    picks = PICKING | {
        name for name, each in list_assignments(tree) if _find_called(each.value) in PICKERS
    }
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=index):
                found |= {each.id for each in ast.walk(index) if isinstance(each, ast.Name)}
            case ast.Call() if _find_called(node) in picks or _find_called(node.func) in PICKERS:
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                found |= {each.id for each in given if isinstance(each, ast.Name)}
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For | ast.comprehension)]
    turned = (pair for loop in loops for pair in _list_turned(loop.target, loop.iter))
    return frozenset(found | {values for name, values in turned if name in found})


def _list_turned(target: ast.expr, values: ast.expr) -> Iterator[tuple[str, str]]:
    """The names of a loop, each with the name of what it goes through."""
    match target, values:
        case ast.Name(id=name), ast.Name(id=each):
            yield name, each
        case ast.Tuple(elts=[_, inner]), ast.Call(ast.Name("enumerate"), [each, *_]):
            yield from _list_turned(inner, each)
        case ast.Tuple(elts=names), ast.Call(ast.Name("zip"), lists):
            for pair in zip(names, lists, strict=False):
                yield from _list_turned(*pair)


def _find_called(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def check_expression(
    tree: ast.Expression | ast.Module,
    *,
    declared: Collection[str],
    vocabulary: Vocabulary,
    source: str = "",
) -> Program:
    """A tree as a program: an answer's, its decimal numbers as Fractions, or one of statements.

    How deep it may be is for its reader to say. Floats of statements are as written.
    """
    copied = copy_tree(tree)
    if isinstance(copied, ast.Expression):
        copied = ast.Module([ast.Expr(copied.body)], [])
    else:
        for node in ast.walk(copied):
            if isinstance(node, ast.Constant) and isinstance(node.value, float):
                node.value = Fraction(repr(node.value))  # type: ignore[assignment]
    lines = max(getattr(node, "lineno", 1) for node in (copied, *ast.walk(copied)))
    passage = Passage(source or "\n" * lines)
    return _check(ast.fix_missing_locations(copied), passage, declared, vocabulary)


def _check(
    tree: ast.Module, passage: Passage, declared: Collection[str], vocabulary: Vocabulary
) -> Program:
    made, needs, literals = translate(tree, passage, declared, vocabulary)
    for node in find_unexpected(made):
        raise TextError([passage.complaint(*OTHERWISE, locate_node(node))])
    try:
        with silence_warnings():
            code = compile(made, MARK, "exec", dont_inherit=True)
    except SyntaxError as error:
        line, start = error.lineno or 1, (error.offset or 1) - 1
        where = (line, line, start, start + 1)
        complaint = passage.complaint(f"not readable as Python: {error.msg}", cure(error), where)
        raise TextError([complaint]) from None
    return Program(passage, tree, code, needs, literals, Spans(passage))


def copy_tree(node: Value) -> Value:
    if isinstance(node, list):
        return [copy_tree(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    there = (name for name in (*node._fields, *node._attributes) if hasattr(node, name))
    return type(node)(**{name: copy_tree(getattr(node, name)) for name in there})


# -- Python's own parser, its faults told as complaints, its numbers read as written ---------------

LONGEST, DEPTH = 20_000, 100
DEEP = f"more than {DEPTH} levels of nesting", "split it up in several assignments"
PARSING = threading.Lock()


def parse_python(source: str, mode: str = "exec") -> Value:
    """`ast.parse`, one text at a time, and again where another thread disturbed it.

    Python before 3.11.8 counts the depths of all threads together (python/cpython#106905).
    """
    with PARSING:
        for _ in range(9):
            with suppress(SystemError):
                return ast.parse(source, mode=mode)
        return ast.parse(source, mode=mode)


def parse(passage: Passage) -> ast.Module:
    """The syntax tree of a program, no deeper than a walk can go, its decimals as Fractions."""
    if len(passage.source) > LONGEST:
        size = f"{len(passage.source):,} characters, at most {LONGEST:,}"
        raise TextError([passage.complaint(f"a program of {size}", "shorten it")])
    try:
        with silence_warnings():
            tree: ast.Module = parse_python(passage.source)
    except SyntaxError as error:
        raise TextError([_explain_syntax(passage, error)]) from None
    except (RecursionError, MemoryError):
        raise TextError([passage.complaint(*DEEP)]) from None
    except ValueError as error:
        raise TextError([passage.complaint(str(error), "remove it")]) from None
    level: list[ast.AST] = [tree]
    for _ in range(DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise TextError([passage.complaint(*DEEP, locate_node(level[0]))])
    _read_numbers(tree, passage)
    return tree


def _explain_syntax(passage: Passage, error: SyntaxError) -> Complaint:
    line = min(max(error.lineno or 1, 1), len(passage.lines))
    text = passage.lines[line - 1]
    start = min(max((error.offset or 1) - 1, 0), len(text))
    end = error.end_offset if error.end_lineno == line and error.end_offset else start + 1
    stop = max(end - 1, start + 1)
    before, until = (len(text[:at].encode(errors="replace")) for at in (start, stop))
    where = (line, line, before, until)
    if sign := SIGNS.get(text[start : start + 1]):
        return passage.complaint(f"`{text[start]}` is no sign of Python", f"write `{sign}`", where)
    message = f"not readable as Python: {error.msg[0].lower()}{error.msg[1:]}"
    copied = next((cure for sign, cure in NO_PYTHON.items() if text.lstrip().startswith(sign)), "")
    return passage.complaint(message, copied or cure(error, SYNTAX_OTHERWISE), where)


def cure(error: SyntaxError, otherwise: str = "") -> str:
    said = error.msg.lower()
    return next((cure for words, cure in SYNTAX if words in said), otherwise)


def _read_numbers(tree: ast.AST, passage: Passage) -> None:
    """Put into the tree, for each decimal number, the Fraction that is written in the text."""
    complaints = []
    formatted = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    shown = {id(node) for each in formatted for node in ast.walk(each)}  # which has no place
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.Constant)):
        where, value = locate_node(node), node.value
        try:
            if isinstance(value, float):
                written = repr(value) if id(node) in shown else passage.text(where)
                node.value = read_decimal(written)  # type: ignore[assignment]
            elif isinstance(value, int) and abs(value) >= 10**DIGITS:
                raise ValueError(f"an integer with more than {DIGITS} digits")
        except ValueError as error:
            cure = "write a number that float64 can hold"
            complaints.append(passage.complaint(str(error), cure, where))
    if complaints:
        raise TextError(complaints[:20])


# -- running a program with one kind of number -----------------------------------------------------

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
    ("modified by an inplace operation", "call backward before that, or write into a copy"),
    ("must be of integer", "write `int(k)` for a place `k`"),
    ("boolean negative", "make it numbers first: `1.0 * (x < 2)`"),
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
    (r"mat1 .* multiplied \((?:\d+x)*(\d+) and (\d+)[x\d]*\)",
     r"in a matrix product rows of \1 entries meet columns of \2"),
    (r"The size of tensor a \((\d+)\) .* b \((\d+)\).*",
     r"lengths of \1 and \2 could not be broadcast"),
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
    done: int = 0
    error: TextError | None = None


def run(
    program: Program,
    inputs: Params,
    kind: NumberKind,
    budget: Budget,
    *,
    context: Mapping[str, Routine] = MappingProxyType({}),
    keep_error: bool = False,
) -> RunOutcome:
    """Run a program; `context` has the functions of this run alone (`record`, `no_grad`).

    With `keep_error`, an error of the program's own ends the run and is kept. What a program
    changes in place it changes in the inputs: pass copies. What goes wrong in it is a TextError or
    OutOfBudget at its place; other errors of gradcheck's pass as they are.
    """
    meter, namespace, kept = Meter(budget), dict[str, Value](), None
    try:
        namespace = _make_namespace(program, inputs, kind, meter, context)
        with np.errstate(all="ignore"), silence_warnings(RuntimeWarning, DeprecationWarning):
            exec(program.code, namespace)  # noqa: S102  # every node was checked and lowered
    except (OutOfBudget, MemoryError, RecursionError) as error:
        raise OutOfBudget(str(_make_complaint(program, error))) from error
    except GradcheckError:
        raise
    except Exception as error:
        kept = TextError([_make_complaint(program, error)])
        kept.done = meter.done
        if not keep_error:
            raise kept from error
    names, steps = _list_variables(namespace), meter.spent["steps"]
    return RunOutcome(namespace.get(LAST), names, steps, meter.done, kept)


def _make_namespace(
    program: Program, inputs: Params, kind: NumberKind, meter: Meter, context: Mapping[str, Routine]
) -> dict[str, Value]:
    def find(name: str) -> Routine:
        return guards.function(name, context[name] if name in context else kind.function(name))

    guards = Guards(meter, kind.literal, find, program.arrays, "record" in context)
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


def _list_variables(namespace: Params) -> dict[str, Value]:
    plain = {n: v for n, v in namespace.items() if n.isidentifier() and n != "__builtins__"}
    helpers = {n for n, v in plain.items() if isinstance(v, FunctionType)}
    return {n: v for n, v in plain.items() if n not in helpers or v.__code__.co_filename != MARK}


def _make_complaint(program: Program, error: BaseException) -> Complaint:
    """What went wrong, at its place in the program; our own errors bring their cure along."""
    message, _, own = _write_message(error).partition(" - ")
    said = own or next((cure for words, cure in SAID if words in message), "")
    cure = said or next((cure for kind, cure in CURES if isinstance(error, kind)), "")
    return program.passage.complaint(message, cure, _locate_fault(error.__traceback__))


def _write_message(error: BaseException) -> str:
    known = next((words for kind, words in TOO_MUCH.items() if isinstance(error, kind)), "")
    said = str(error).partition(" Hint: ")[0]
    for theirs, ours in SHAPES:
        said = re.sub(theirs, ours, said)
    lines = ADDRESS.sub("", said).strip().splitlines()
    return known or (lines[0][:LONGEST_MESSAGE] if lines else type(error).__name__)


def _locate_fault(traceback: TracebackType | None) -> Where:
    where: Where = (1, 1, 0, 0)
    while traceback:
        code = traceback.tb_frame.f_code
        if code.co_filename == MARK:
            first, last, start, end = list(code.co_positions())[traceback.tb_lasti // 2]
            first = first or traceback.tb_lineno
            where = first, last or first, start or 0, end or 0
        traceback = traceback.tb_next
    return where
