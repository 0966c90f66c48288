"""Texts into problems: a file, every fault of it with its place, what was expected, and the cure.

And a question without a file: an expression, and its inputs as they are typed in a shell.
"""

import ast
import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from gradcheck.answers import read_formula
from gradcheck.answers.calls import BASED
from gradcheck.answers.tokens import write_plainly
from gradcheck.answers.words import STOP
from gradcheck.documents import BYTES, Document, read_yaml
from gradcheck.errors import Complaint, TextError
from gradcheck.language.kinds import FORMULAS, VOCABULARY
from gradcheck.language.program import Program, check_program, parse_python
from gradcheck.language.vocabulary import ROOTS
from gradcheck.problem.record import (
    Input,
    Part,
    Problem,
    ProblemSet,
    explain_too_large,
    explain_unnameable,
    read_exact_array,
)
from gradcheck.values import Value

# -- problem files ---------------------------------------------------------------------------------
NAME = re.compile(r"[^A-Za-z0-9._-]+")  # what may not stand in an id


def load(path: str | Path) -> ProblemSet:
    """The problem set in a file; raises TextError with all complaints, or OSError."""
    with open(path, "rb") as file:
        return load_text(file.read(BYTES + 1), str(path))


def load_text(text: str | bytes, file: str = "") -> ProblemSet:
    from gradcheck.problem.model import ProblemModel, SetModel, check  # noqa: PLC0415 - a question needs no pydantic
    from gradcheck.problem.section import Section  # noqa: PLC0415

    document = read_yaml(text, file)
    root = _find_mapping(document)
    complaints: list[Complaint] = []
    single = "problems" not in root
    whole, entries = SetModel.model_construct(), [root]
    if single:
        root.setdefault("id", NAME.sub("-", Path(file).stem).strip("-")[:64] or "problem")
    else:
        whole = check(SetModel, root, document, (), complaints) or whole
        entries = root["problems"] if isinstance(root["problems"], list) else []
    problems: list[Problem] = []
    ids: set[str] = set()
    for k, entry in enumerate(entries):
        at = () if single else ("problems", k)
        model = check(ProblemModel, entry, document, at, complaints)
        if model is None:
            continue
        if model.id in ids:
            words = f"the id `{model.id}` is used twice"
            complaints.append(document.complaint((*at, "id"), words, "rename it"))
        ids.add(model.id)
        try:
            problems.append(Section(document, at, model, whole).problem())
        except TextError as error:
            complaints += error.complaints
    if complaints:
        raise TextError(sorted(complaints, key=lambda each: (each.line, each.column)))
    kept = text.encode() if isinstance(text, str) else text
    return ProblemSet(whole.title, tuple(problems), file, kept, whole.late)


def _find_mapping(document: Document) -> dict[str, Value]:
    root = document.value
    if not isinstance(root, dict):
        listed = isinstance(root, list)
        cure = "write `problems:` on a line before the list" if listed else "start with `id:`"
        words = "the file is empty" if root is None else "a mapping was expected"
        raise TextError([document.complaint((), words, cure)])
    if {"student", "answers"} <= root.keys() and not {"problems", "program"} & root.keys():
        cure = f"`gradcheck grade PROBLEMS {document.file or 'ANSWERS'}` judges them"
        raise TextError([document.complaint((), "these are a student's answers", cure)])
    return root


HERE = Path(__file__).parents[1]
HOME = HERE / "sets" if (HERE / "sets").is_dir() else HERE.parent / "problems"  # a checkout


def list_sets() -> list[Path]:
    return sorted(HOME.glob("*.yaml"))


def find_set(name: str) -> Path | None:
    return next((path for path in list_sets() if path.stem == name.removesuffix(".yaml")), None)


@cache
def load_shipped() -> dict[str, Problem]:
    return {problem.id: problem for path in list_sets() for problem in load(path).problems}


# -- a question without a file ---------------------------------------------------------------------

ID = "question"
WORD = re.compile(r"[^\W\d_]\w*")
SHAPE = re.compile(r"\d+(x\d+)+|\d+x")
DERIVED = re.compile(r"\s*[d∂]\s*/\s*[d∂]([A-Za-z]\w*)\s*(?=[\s(\[{|])")  # d/dx in front of it
ASKED = re.compile(r"^\s*(find )?(differentiate|(the )?(derivative|gradient) of) ", re.IGNORECASE)
BELOW = re.compile(r"_\{(\w+)\}")
COMMAND = re.compile(r"\\[A-Za-z]+")
FUNCTIONS = FORMULAS.functions
LETTERS = frozenset(name for name in VOCABULARY.callables() if len(name) == 1)
"""`t` is a variable where it is not called, not PyTorch's transpose."""
KNOWN = (VOCABULARY.callables() - LETTERS) | VOCABULARY.constants | VOCABULARY.contexts | ROOTS
ONE_SIDE = "give the side that is differentiated"
CURE = "write x=2, 'x=[1, 2, 3]', or X=3x2 for an array that is drawn"


def make_question(expression: str, given: Sequence[str], wrt: Sequence[str] = ()) -> Problem:
    """The problem that asks for an expression's gradient by `wrt`, or by all inputs.

    `given` are texts like `x=2`; a name without a value is a number that is drawn. An expression
    may be a program or typed mathematics (`x^3 + 2sin x`). Raises TextError.
    """
    read = [_read_input(text) for text in given]
    inputs = {each.name: each for each in read}
    if len(inputs) < len(read):
        raise TextError([Complaint("an input is given twice", "give each name one value")])
    expression = ASKED.sub("", expression)
    if "d" not in inputs and (derived := DERIVED.match(expression)):
        expression, wrt = expression[derived.end() :], wrt or [derived[1]]
    program = _read_program(expression, inputs)
    free = sorted(_find_needed(program.tree) - inputs.keys())
    inputs |= {name: Input(name, None, (), True) for name in free}
    for name in wrt:
        if name not in inputs:
            words = f"`{name}` is not an input"
            raise TextError([Complaint(words, f"one of {', '.join(inputs)}")])
    asked = tuple(wrt) or tuple(inputs)
    if not asked:
        raise TextError([Complaint("nothing to differentiate by", "name an input: x=2")])
    inputs = {n: replace(each, requires_grad=n in asked) for n, each in inputs.items()}
    parts = tuple(Part(name, 1 / len(asked)) for name in asked)
    return Problem(ID, "", "", inputs, program, asked, parts)


def _read_input(text: str) -> Input:
    """`x=2`, `W=[[1, 2], [3, 4]]`, or `X=3x2`: the shape of an array that is drawn."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or explain_unnameable(name):
        raise TextError([Complaint(f"`{text}` is not NAME=VALUE", CURE)])
    if SHAPE.fullmatch(value):
        shape = tuple(int(size) for size in value.split("x") if size)
        if words := explain_too_large(shape):
            raise TextError([Complaint(f"{name}: {words}", "make it smaller")])
        return Input(name, None, shape, True)
    array = read_exact_array(read_yaml(value or "''").value)
    if array is None:
        raise TextError([Complaint(f"{name}: a number, a list or a shape was expected", CURE)])
    return Input(name, array, array.shape, True)


def _read_program(text: str, inputs: Mapping[str, Input]) -> Program:
    """A checked program in these names and whatever else it needs; or typed mathematics, so read.

    The complaint is that of the spelling which the text seems to be in.
    """
    try:
        tree = parse_python(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _read_formula(text, inputs)
    needed = _find_needed(tree)
    if _is_typed(tree, {*inputs, *needed}) or any(_read_argument(name) != name for name in needed):
        return _read_formula(text, inputs)
    return check_program(text.strip(), declared={*inputs, *needed})


def _is_typed(tree: ast.Module, names: Collection[str]) -> bool:
    """Whether what Python reads as well is mathematics: `x^2`, `(x + 1)(x - 1)`, `log_3(x)`."""
    for node in ast.walk(tree):
        match node:
            case ast.BitXor() | ast.Call(ast.Constant() | ast.BinOp()):
                return True
            case ast.Call(ast.Call(ast.Name(name))) if name in FUNCTIONS:
                return True
            case ast.Call(ast.Name("log"), [_, _]):
                return True
            case ast.Call(ast.Name(name)) if name in names or BASED.fullmatch(name):
                return True
    return False


def _read_formula(text: str, inputs: Mapping[str, Input]) -> Program:
    """Typed mathematics as a program; names that were not given are numbers, from the text."""
    if "\n" in text.strip():
        return check_program(text, declared=inputs)
    known: Collection[str] = inputs
    try:
        read = read_formula(text, names=known, functions=FUNCTIONS)
    except TextError:
        known = {*inputs, *_list_words(write_plainly(text).text)}
        read = read_formula(text, names=known, functions=FUNCTIONS)
    if read.steps[1:]:
        raise TextError([Complaint("an equation is no function", ONE_SIDE)])
    return check_program(read.understood, declared=known)


def _find_needed(tree: ast.Module) -> set[str]:
    """The names that a program reads, never assigns, and the language does not know."""
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return {node.id for node in names if id(node) not in called} - made - KNOWN


def _list_words(text: str) -> set[str]:
    """The names in typed mathematics: `sinx` has x, `log_a` has a, LaTeX's commands have none."""
    words = WORD.findall(BELOW.sub(r"_\1", COMMAND.sub(" ", text)))
    bases = [found[1] for word in words if (found := BASED.fullmatch(word)) and word not in KNOWN]
    known = KNOWN | {word for word in STOP if word[1:]}
    strange = (w for w in (*words, *bases) if w not in known and not BASED.fullmatch(w))
    return {_read_argument(w) for w in strange if w.isidentifier() and not keyword.iskeyword(w)}


def _read_argument(word: str) -> str:
    """The letter after the name of a function, or else the word itself."""
    return word[-1] if word[:-1] in FUNCTIONS and word[-1].isalpha() else word
