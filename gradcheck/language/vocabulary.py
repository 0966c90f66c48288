"""The names of the checked language, how each may be spelled, and what is refused.

A number kind says what the names mean.
"""

import ast
import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Spelled before a function or constant, these say nothing: `np.sin`, `torch.sin`, `F.relu`.
PREFIXES = words(
    "np numpy np.linalg numpy.linalg np.special torch torch.linalg torch.special torch.nn "
    "torch.nn.functional torch.nn.init torch.nn.utils torch.autograd torch.optim nn nn.functional "
    "nn.init nn.utils F init utils optim autograd math "
    "linalg special scipy.special"
)
ROOTS = frozenset(prefix.split(".")[0] for prefix in PREFIXES)

# Python's own functions that a program may call, in guarded form.
BUILTINS = words(
    "range len enumerate zip abs min max sum int float bool list tuple sorted reversed"
)
# Names of types, where a function of the vocabulary takes one: `zeros(3, dtype=float)`.
TYPES = frozenset({"float", "int", "bool"})

# A word in quotes may say only how: these keywords, or this position of these functions.
WORD_KEYWORDS = words(
    "reduction mode indexing ord p norm order dtype padding approximate side method nonlinearity "
    "rounding_mode"
)
WORD_POSITIONS = {"einsum": 0, "norm": 1, "method_norm": 1, "matrix_norm": 1, "pad": 2}
WORDS = words(
    "sum mean none batchmean ij xy fro nuc reduced complete r raw constant edge reflect wrap "
    "symmetric circular replicate tanh same valid full left right linear lower higher nearest "
    "midpoint float64 float32 int64 int32 bool float int C F A K fan_in fan_out relu leaky_relu "
    "sigmoid floor trunc"
)


@dataclass(frozen=True)
class Vocabulary:
    """What a program may name beside its own variables; a number kind supplies the meanings."""

    functions: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    assignable: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    contexts: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()  # functions whose values may be called
    dtypes: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)

    def function(self, name: str) -> str | None:
        """The name that the number kind knows a function by, None where there is none."""
        for known in (self.aliases.get(name, name), name):
            if known in self.functions:
                return known
        return None

    def callables(self) -> frozenset[str]:
        return self.functions | self.aliases.keys() | BUILTINS


def suggest_nearest(name: str, known: Collection[str], alike: float = 0.66) -> str:
    """`did you mean ...?` for the known name closest to an unknown one, else nothing."""
    folded = {each.lower(): each for each in sorted(known, reverse=True)}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=alike)
    return f"did you mean `{folded[close[0]]}`?" if close else ""


def join_names(names: Iterable[str], most: int = 8) -> str:
    ordered = sorted(names)
    shown = ", ".join(f"`{name}`" for name in ordered[:most])
    return shown + (", ..." if len(ordered) > most else "")


# -- what is refused, why, and what to write instead -----------------------------------------------


class Refusal(NamedTuple):
    what: str
    cure: str = "leave it out"


LIST = "write a list: [...]"
PLAIN_DEF = "write `def name(x):` at the top level of the program"

# Every kind of node without a rule of its own ends here, or at OTHERWISE.
NODES: dict[type[ast.AST], Refusal] = {
    ast.Lambda: Refusal("a `lambda`", "write `def f(x): return ...` at the top level"),
    ast.ClassDef: Refusal("a `class`", "run all of Python as a script: `gradcheck solve FILE.py`"),
    ast.AsyncFunctionDef: Refusal("an `async def`", PLAIN_DEF),
    ast.AsyncFor: Refusal("an `async for`", "write `for`"),
    ast.AsyncWith: Refusal("an `async with`", "write `with`"),
    ast.Await: Refusal("an `await`"),
    ast.Yield: Refusal("a `yield`", "collect the values in a list and return it"),
    ast.YieldFrom: Refusal("a `yield from`", "collect the values in a list and return it"),
    ast.Try: Refusal("a `try`", "test with `if` before: an error in the program is reported"),
    ast.TryStar: Refusal("a `try`", "test with `if` before: an error in the program is reported"),
    ast.Raise: Refusal("a `raise`"),
    ast.Assert: Refusal("an `assert`", "leave it out, or test with `if`"),
    ast.AnnAssign: Refusal("an annotation", "leave it out: `x = ...`"),
    ast.Delete: Refusal("a `del`", "leave it out, or write `x.grad = None`"),
    ast.Global: Refusal("a `global`", "pass the value as an argument and return the result"),
    ast.Nonlocal: Refusal("a `nonlocal`", "pass the value as an argument and return the result"),
    ast.Match: Refusal("a `match`", "write `if` and `elif`"),
    ast.NamedExpr: Refusal("a `:=`", "write `name = value` on a line of its own"),
    ast.JoinedStr: Refusal("an f-string", "leave texts out: a program computes numbers"),
    ast.FormattedValue: Refusal("an f-string", "leave texts out: a program computes numbers"),
    ast.Starred: Refusal("a `*`", "write the values out one by one"),
    ast.Dict: Refusal("a dict", LIST),
    ast.Set: Refusal("a set", LIST),
    ast.DictComp: Refusal("a dict comprehension", LIST),
    ast.SetComp: Refusal("a set comprehension", LIST),
    ast.Slice: Refusal("a slice outside `x[...]`", "write `x[a:b]`"),
}
TEXT = Refusal("a text", "leave it out: a program computes numbers")
OTHERWISE = Refusal("a construct that is no part of the checked language")

OPERATORS: dict[type[ast.AST], Refusal] = {
    ast.BitXor: Refusal("a `^`, in Python not a power", "write `**` for a power"),
    ast.LShift: Refusal("a `<<`", "multiply by a power: `x * 2**n`"),
    ast.RShift: Refusal("a `>>`", "divide by a power: `x / 2**n`"),
    ast.In: Refusal("an `in`", "compare with `==`: `i == 2 or i == 5`"),
    ast.NotIn: Refusal("a `not in`", "compare with `!=`"),
    ast.Is: Refusal("an `is` with something but `None`", "compare with `==`"),
    ast.IsNot: Refusal("an `is` with something but `None`", "compare with `==`"),
}

# Names that people try, with a better answer than "unknown".
NO_WAY_OUT = "leave it out: a program only computes"
NAMES: dict[str, Refusal] = {
    "print": Refusal("`print`", "leave it out, or keep a value with `record(name=value)`"),
    "map": Refusal("`map`", "write a list comprehension: [f(v) for v in values]"),
    "filter": Refusal("`filter`", "write a list comprehension: [v for v in values if v > 0]"),
    "str": Refusal("`str`", "leave texts out: a program computes numbers"),
    "dict": Refusal("`dict`", LIST),
    "set": Refusal("`set`", LIST),
    "isinstance": Refusal("`isinstance`", "inputs are what the problem declares: no need to test"),
    "type": Refusal("`type`", "inputs are what the problem declares: no need to test"),
} | dict.fromkeys(
    words(
        "eval exec compile open input getattr setattr delattr hasattr globals locals vars dir "
        "breakpoint exit quit help object super memoryview bytes bytearray id hash callable"
    ),
    Refusal("a name of Python that reaches beyond the program", NO_WAY_OUT),
)

# What Python's parser says, and what people meant; first match first.
SYNTAX: tuple[tuple[str, str], ...] = (
    ("invalid decimal literal", "write the multiplication: `2*x`"),
    ("invalid imaginary literal", "write the multiplication: `2*j`"),
    ("leading zeros", "write the number without zeros in front"),
    ("perhaps you forgot a comma", "write the multiplication `*`, or the missing comma"),
    ("function call here", "write the right side alone, or `def f(x): return ...` and `f(x)`"),
    ("'=='", "compare with `==`, assign with one plain name on the left of `=`"),
    ("cannot assign", "write a plain name on the left of `=`"),
    ("indent", "indent the lines of one block alike, with spaces"),
    ("was never closed", "close the bracket"),
    ("unmatched", "open the bracket, or remove this one"),
    ("does not match", "close the bracket that was opened last"),
    ("expected ':'", "end the line with `:`"),
    ("too many nested parentheses", "split it up in assignments"),
    ("unterminated", "close the quote"),
    ("non-printable", "remove this character: it cannot be seen"),
    ("outside loop", "leave it out: it stands outside a loop"),
    ("continue' not properly", "leave it out: it stands outside a loop"),
    ("'return' outside", "let the last line be the value itself"),
    ("call to 'print'", "leave it out, or keep a value with `record(name=value)`"),
)
NO_PYTHON = {
    ">>>": "leave `>>>` and what was printed out",
    "%": "leave the line out: it is for a notebook",
    "!": "leave the line out: it is for a notebook",
}
"""What lines begin with that were copied from elsewhere."""
SYNTAX_OTHERWISE = "write it as Python: `2*x`, `x**2`, `sin(x)`, `abs(x)`"

# Characters of mathematics that Python's parser refuses.
SIGNS: dict[str, str] = {
    **dict(zip("×·⋅∗÷∕−–—“”‘’", "****//---''''", strict=True)),
    **{"²": "**2", "³": "**3", "√": "sqrt(...)", "≤": "<=", "≥": ">=", "≠": "!=", "∞": "inf"},
}

WRITTEN_OUT = {
    name: f"write `{formula}`"
    for name, formula in {
        "addmm": "b + x @ w",
        "addmv": "b + x @ w",
        "cdist": "((a[:, None] - b)**2).sum(-1).sqrt()",
        "cosine_similarity": "(a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))",
        "glu": "a * sigmoid(b)",
        "hardtanh": "clamp(x, -1, 1)",
        "kl_div": "(p * (p.log() - log_q)).sum()",
        "lerp": "a + w * (b - a)",
        "mish": "x * tanh(softplus(x))",
        "prelu": "where(x > 0, x, a * x)",
        "relu6": "clamp(x, 0, 6)",
        "softmin": "softmax(-x, dim=-1)",
        "softsign": "x / (1 + x.abs())",
    }.items()
}
"""What has no name here, as the formula that it is."""
INSTEAD = {
    **{kind: f"write the loop over time with `nn.{kind}Cell`" for kind in ("RNN", "LSTM", "GRU")},
    **dict.fromkeys(["DataLoader", "TensorDataset"], "take slices: `X[k:k + 5]` in a loop over k"),
    **dict.fromkeys(["device", "cuda"], "leave it out: there is one device"),
    **dict.fromkeys(
        ["at", "index_add", "index_add_", "scatter", "scatter_", "scatter_add_"],
        "write a loop: `for k, i in enumerate(places): y[i] += x[k]`",
    ),
    **dict.fromkeys(
        ["lr_scheduler", "param_groups", "RMSprop", "AdamW", "Adagrad"],
        "write the step out: `with no_grad():` and `w -= rate * w.grad`",
    ),
    "backward": "write `loss.backward()`",
    "Variable": "write `tensor(x, requires_grad=True)`",
    **dict.fromkeys(["r_", "c_"], "write `concatenate([a, b])` or `stack`"),
    "unravel_index": "write `k // n` and `k % n`",
    **WRITTEN_OUT,
    **dict.fromkeys(["plt", "pyplot"], "leave pictures out: `solve --plot DIR` draws some"),
}
"""What to write for what lessons use and nothing here is like."""
