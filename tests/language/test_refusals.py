"""Everything the checked language refuses: one row each, with its place and its cure."""

import ast
import sys

import pytest

from gradcheck.errors import TextError
from gradcheck.language import Vocabulary, check_program
from gradcheck.language.grammar import find_unexpected
from gradcheck.language.refusals import NAMES, NODES
from tests.support.checked import VOCABULARY

# A text in which `x` and `y` are declared; line and column of the fault; words of the complaint.
REFUSED = [
    # PyTorch's words for what NumPy answers otherwise
    ("torch.std(x)", 1, 1, "`correction=1` or `correction=0`"),
    ("y\ntorch.var(x, 0)", 2, 1, "divides by n - 1"),
    ("x.transpose(0, 1)", 1, 1, "swapaxes"),
    # statements
    ("import os", 1, 1, "already there"),
    ("x\nfrom os import path", 2, 1, "already there"),
    ("y = sum([lambda a: a])", 1, 10, "def f(x)"),
    ("class A:\n    pass", 1, 1, "`class`"),
    ("async def f():\n    pass", 1, 1, "`async def`"),
    ("def f():\n    yield 1", 2, 5, "`yield`"),
    ("def f():\n    yield from x", 2, 5, "`yield from`"),
    ("try:\n    x\nexcept:\n    y", 1, 1, "`try`"),
    ("try:\n    x\nexcept* y:\n    y", 1, 1, "`try`"),
    ("raise x", 1, 1, "`raise`"),
    ("assert x", 1, 1, "`assert`"),
    ("del x", 1, 1, "x.grad = None"),
    ("global x", 1, 1, "argument"),
    ("def f():\n    nonlocal x", 2, 5, "argument"),
    ("match x:\n    case 1:\n        y", 1, 1, "`elif`"),
    ("break", 1, 1, "outside a loop"),
    ("while x:\n    y\nelse:\n    continue", 4, 5, "outside a loop"),
    ("for i in x:\n    def f():\n        break", 2, 5, "top level"),
    ("def f():\n    break", 2, 5, "outside a loop"),
    ("return x", 1, 1, "last line"),
    ("with open('f') as g:\n    x", 1, 19, "`as`"),
    ("with open('f'):\n    x", 1, 6, "with no_grad():"),
    ("with no_grad:\n    x", 1, 6, "with no_grad():"),
    ("with no_grad(print):\n    x", 1, 14, "record"),
    ("with np.load('f'):\n    x", 1, 6, "with no_grad():"),
    ("x ^= 2", 1, 1, "`**`"),
    ("x <<= 2", 1, 1, "2**n"),
    # helpers
    ("def f(*a):\n    return a", 1, 8, "`*`"),
    ("def f(**a):\n    return a", 1, 9, "`*`"),
    ("def f(*, a):\n    return a", 1, 10, "`*`"),
    ("def f(a, /):\n    return a", 1, 7, "`/`"),
    ("def f(a=record(n=1)):\n    return a", 1, 9, "default"),
    ("def f(a=[]):\n    return a", 1, 9, "default"),
    ("def f(a='s'):\n    return a", 1, 9, "a text"),
    ("def f(a=-'s'):\n    return a", 1, 10, "a text"),
    ("@no_grad()\ndef f():\n    return x", 1, 2, "decorator"),
    ("@x.append\ndef f():\n    return x", 1, 2, "decorator"),
    ("def f():\n    def g():\n        return x", 2, 5, "top level"),
    ("if x:\n    def f():\n        return x", 2, 5, "top level"),
    ("def x():\n    return 1", 1, 1, "variable too"),
    ("def f():\n    return 1\nf = 2", 1, 1, "variable too"),
    ("def f(a, a):\n    return a", 1, 10, "duplicate"),
    ("def f(a):\n    return a\nz = f", 3, 5, "call it"),
    ("def _f():\n    return 1", 1, 1, "begins with `_`"),
    ("def f(_a):\n    return 1", 1, 7, "begins with `_`"),
    # names
    ("z", 1, 1, "known here: `x`, `y`"),
    ("x + sen(y)", 1, 5, "did you mean `sin`?"),
    ("xx + 1", 1, 1, "did you mean `x`?"),
    ("sin", 1, 1, "call it: `sin(...)`"),
    ("z = sin", 1, 5, "call it"),
    ("np", 1, 1, "np.sin(x)"),
    ("range", 1, 1, "call it"),
    ("no_grad", 1, 1, "with no_grad():"),
    ("no_grad()", 1, 1, "with no_grad():"),
    ("torch.no_grad()", 1, 1, "with no_grad():"),
    ("pi(x)", 1, 1, "pi * (...)"),
    ("pi.q", 1, 1, "not offered"),
    ("print(x)", 1, 1, "record"),
    ("eval('1')", 1, 1, "reaches beyond"),
    ("exec('1')", 1, 1, "reaches beyond"),
    ("open('f')", 1, 1, "reaches beyond"),
    ("input()", 1, 1, "reaches beyond"),
    ("getattr(x, 'shape')", 1, 1, "reaches beyond"),
    ("globals()", 1, 1, "reaches beyond"),
    ("isinstance(x, float)", 1, 1, "no need to test"),
    ("map(sin, x)", 1, 1, "comprehension"),
    ("str(x)", 1, 1, "texts"),
    ("__import__('os')", 1, 1, "begins with `_`"),
    ("__builtins__", 1, 1, "begins with `_`"),
    ("__debug__", 1, 1, "begins with `_`"),
    ("_z = 1", 1, 1, "begins with `_`"),
    ("for _z in x:\n    y", 1, 5, "begins with `_`"),
    ("[1 for __ in x]", 1, 8, "begins with `_`"),
    ("x" * 65 + " = 1", 1, 1, "at most 64 letters"),
    ("[v for v in x] + v", 1, 18, "not known here"),
    ("def f(a):\n    return a\na", 3, 1, "not known here"),
    # attributes
    ("x.__class__", 1, 1, "begins with `_`"),
    ("().__class__.__base__.__subclasses__()", 1, 1, "begins with `_`"),
    ("x.__dict__", 1, 1, "begins with `_`"),
    ("x.__init__.__globals__", 1, 1, "begins with `_`"),
    ("sin.__globals__", 1, 1, "call it"),
    ("x.__class__()", 1, 1, "begins with `_`"),
    ("x.gradd", 1, 1, "did you mean `grad`?"),
    ("x.tofile('f')", 1, 1, "not offered"),
    ("x.ctypes", 1, 1, "not offered"),
    ("x.base", 1, 1, "not offered"),
    ("x.sin", 1, 1, "call it: `.sin(...)`"),
    ("x.item", 1, 1, "call it"),
    ("x.shape()", 1, 1, "without parentheses"),
    ("x.data = y", 1, 1, "cannot be assigned"),
    ("x.T = y", 1, 1, "cannot be assigned"),
    ("x.__class__ = y", 1, 1, "begins with `_`"),
    ("np.os", 1, 1, "not offered"),
    ("np.load('f')", 1, 1, "not offered"),
    ("np.fromfile('f')", 1, 1, "not offered"),
    ("np.save('f', x)", 1, 1, "not offered"),
    ("torch.load('f')", 1, 1, "not offered"),
    ("torch.hub.load('f')", 1, 1, "not offered"),
    ("torch.os.system('ls')", 1, 1, "not offered"),
    ("np.random.normal(x)", 1, 1, "{shape: [...]}"),
    ("np.lib.npyio.os", 1, 1, "not offered"),
    ("np.__builtins__", 1, 1, "begins with `_`"),
    ("np.__loader__()", 1, 1, "begins with `_`"),
    ("np.linalg.linalg.norm(x)", 1, 1, "not offered"),
    ("np.sinn(x)", 1, 1, "did you mean `sin`?"),
    ("np.sin", 1, 1, "call it"),
    ("np.sin = x", 1, 1, "no value"),
    # texts
    ("'abc'", 1, 1, "a text"),
    ("x + 'abc'", 1, 5, "a text"),
    ("b'abc'", 1, 1, "a text"),
    ("f'{x}'", 1, 1, "f-string"),
    ("'{}'.format(x)", 1, 1, "a text"),
    ("'{0.__class__}'.format(x)", 1, 1, "a text"),
    ("'%s' % x", 1, 1, "a text"),
    ("['a'] * 3", 1, 2, "a text"),
    ("x['a']", 1, 3, "a text"),
    ("x.append('a')", 1, 10, "a text"),
    ("where(x, 'sum', 'mean')", 1, 10, "a text"),
    ("full(3, 'sum')", 1, 9, "a text"),
    ("sum(x, mode='ls')", 1, 13, "a text"),
    ("zeros(3, dtype='U9')", 1, 16, "a text"),
    ("einsum('i' * 99, x)", 1, 8, "a text"),
    ("einsum('i;j', x)", 1, 8, "a text"),
    ("sin(x, 'sum')", 1, 8, "a text"),
    # expressions
    ("x^2", 1, 2, "`**`"),
    ("x << 2", 1, 2, "2**n"),
    ("x >> 2", 1, 2, "2**n"),
    ("x in y", 1, 1, "`==`"),
    ("x not in y", 1, 1, "`!=`"),
    ("x is y", 1, 1, "`==`"),
    ("x is None is None", 1, 1, "`==`"),
    ("(z := x)", 1, 2, ":="),
    ("{1: x}", 1, 1, "a dict"),
    ("{x}", 1, 1, "a set"),
    ("{v for v in x}", 1, 1, "a set"),
    ("{v: v for v in x}", 1, 1, "a dict"),
    ("[*x]", 1, 2, "`*`"),
    ("sin(*x)", 1, 5, "`*`"),
    ("sin(**x)", 1, 5, "`**`"),
    ("a, *b = x", 1, 4, "`*`"),
    ("sin(x, _out=y)", 1, 8, "begins with `_`"),
    ("sin(x)(y)", 1, 1, "no name"),
    ("x[0](y)", 1, 1, "no name"),
    ("sin(x)[0] = 1", 1, 1, "no name"),
    ("sin(x).grad[0] += 1", 1, 1, "no name"),
    ("[1 for x.grad in y]", 1, 8, "plain name"),
    ("for x[0] in y:\n    x", 1, 5, "plain name"),
    ("...", 1, 1, "`...`"),
    ("x[[...]]", 1, 4, "`...`"),
    ("2j * x", 1, 1, "imaginary"),
    ("x**1e9", 1, 4, "exponent"),
    ("x**-1e9", 1, 4, "exponent"),
    ("sum(x, dim=0, axis=1)", 1, 15, "repeated"),
    ("await x", 1, 1, "`await`"),
    # numbers
    ("x * 1e999", 1, 5, "exponent beyond 400"),
    ("x * 1e309", 1, 5, "too large"),
    ("x * " + "9" * 41, 1, 5, "40 digits"),
    ("x * 0x" + "f" * 99, 1, 5, "40 digits"),
    ("x * 0." + "1" * 41, 1, 5, "42 digits"),
    # letters that look like others
    ("ｓｉｎ(x)", 1, 1, "U+FF53"),
    ("𝐱 + 1", 1, 1, "write `x`"),
    ("х + 1", 1, 1, "cyrillic small letter ha"),
    ("x.ｇｒａｄ", 1, 3, "write `grad`"),
    ("sin(x, ａxis=0)", 1, 8, "write `axis`"),
    ("def ｆ():\n    return x", 1, 5, "write `f`"),
    ("ο = 1", 1, 1, "omicron"),
    ("ﬁ = 1", 1, 1, "write `fi`"),
    ("x.__ｃlass__", 1, 3, "U+FF43"),
    ("é = x; y", 1, 1, "Greek"),
    # sizes
    ("x" + " " * 20_000, 1, 1, "at most 20,000"),
    ("-" * 19_000 + "x", 1, 1, "nesting"),
    ("not " * 4_000 + "x", 1, 1, "nesting"),
    ("(" * 300 + "x" + ")" * 300, 1, 201, "nested"),
    ("x" + "+x" * 9_000, 1, 1, "nesting"),
    ("x" + "**x" * 300, 1, 1, "nesting"),
    ("x" + ".T" * 5_000, 1, 1, "nesting"),
    ("x" + "[0]" * 5_000, 1, 1, "nesting"),
    ("[" * 150 + "]" * 150, 1, 99, "nesting"),
    ("lambda:" * 1_500 + "x", 1, 1, "nesting"),
    ("x if x else " * 1_500 + "x", 1, 1, "nesting"),
    ("9" * 5_000, 1, 1, "digits"),
]

# What Python's own parser refuses: where in the line differs between versions of Python.
UNREADABLE = [
    ("2x", 1, "`2*x`"),
    ("x = = 2", 1, "readable"),
    ("(x", 1, "close the bracket"),
    ("x)", 1, "open the bracket"),
    ("if x:\ny", 2, "indent"),
    ("  x", 1, "indent"),
    ("'x", 1, "close the quote"),
    ("x y", 1, "readable"),
    ("|x|", 1, "abs(x)"),
    ("x!", 1, "readable"),
    ("print x", 1, "record"),
    ("007", 1, "zeros"),
    ("x\x00", 1, "null"),
    ("x\ud800", 1, "remove it"),
    ("x × y", 1, "write `*`"),
    ("x − y", 1, "write `-`"),
    ("x²", 1, "write `**2`"),
    ("x ≤ y", 1, "write `<=`"),
    ("x\u200b", 1, "cannot be seen"),
    ("x = 1\n\u202ey", 2, "cannot be seen"),
]


@pytest.mark.parametrize(("text", "line", "phrase"), UNREADABLE)
def test_what_python_cannot_read_is_placed_and_has_a_cure(
    text: str, line: int, phrase: str
) -> None:
    """The parser's faults are told like all others."""
    with pytest.raises(TextError) as caught:
        check_program(text, declared=("x", "y"), vocabulary=VOCABULARY, file="set.yaml")
    (only,) = caught.value.complaints
    assert (only.line, only.column >= 1) == (line, True)
    assert phrase in f"{only.message} - {only.cure}"


@pytest.mark.parametrize(("text", "line", "column", "phrase"), REFUSED)
def test_what_is_refused_has_place_reason_and_cure(
    text: str, line: int, column: int, phrase: str
) -> None:
    """The first complaint stands where the fault is, and says why or what to write instead."""
    with pytest.raises(TextError) as caught:
        check_program(text, declared=("x", "y"), vocabulary=VOCABULARY, file="set.yaml")
    first = caught.value.complaints[0]
    assert (first.file, first.line, first.column) == ("set.yaml", line, column)
    assert phrase in f"{first.message} - {first.cure}"
    assert first.message


def test_every_fault_of_a_program_gets_its_complaint() -> None:
    """The walk goes on after a refusal, and past what stands inside it."""
    text = "import os\nz = x ^ q\nwith open('f'):\n    r.real\nx.__class__\n"
    with pytest.raises(TextError) as caught:
        check_program(text, declared=("x",), vocabulary=VOCABULARY)
    places = [(complaint.line, complaint.column) for complaint in caught.value.complaints]
    assert places == [(1, 1), (2, 6), (2, 9), (3, 6), (4, 5), (4, 5), (5, 1)]


def test_complaints_stop_where_nobody_reads_on() -> None:
    """A program of faults gets twenty complaints."""
    with pytest.raises(TextError) as caught:
        check_program("q\n" * 500, declared=("x",), vocabulary=VOCABULARY)
    assert len(caught.value.complaints) == 20


def test_places_count_in_the_file_that_the_program_stands_in() -> None:
    """A program in a block of a file is complained about in that file's lines and columns."""
    text = "# ü: a comment\nx + 1\nΔ = x; x + q"
    with pytest.raises(TextError) as caught:
        check_program(text, declared=("x",), vocabulary=VOCABULARY, file="f", line=10, column=5)
    assert str(caught.value) == (
        "f:12:16: `q` is not known here - known here: `x`, `Δ`\n"
        "        Δ = x; x + q\n" + " " * 4 + " " * 15 + "^"
    )


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_vocabulary_is_needed_to_refuse_a_name_of_python(name: str) -> None:
    """Every name of the table is refused, called or not, with the table's own words."""
    for text in (f"{name}(x)", f"z = {name}"):
        if name != "lambda":
            with pytest.raises(TextError) as caught:
                check_program(text, declared=("x",), vocabulary=Vocabulary())
            assert caught.value.complaints[0].message == NAMES[name].what


def test_every_refused_construct_says_what_it_is_and_what_to_do() -> None:
    """No row of the table leaves its reader without a cure."""
    assert all(refusal.what and refusal.cure for refusal in NODES.values())


def test_dunder_names_are_refused_even_where_a_vocabulary_offers_them() -> None:
    """A slip in a vocabulary opens no door."""
    careless = Vocabulary(
        functions=frozenset({"__import__"}),
        attributes=frozenset({"__class__"}),
        methods=frozenset({"__subclasses__"}),
        assignable=frozenset({"__class__"}),
    )
    for text in ("__import__()", "x.__class__", "x.__subclasses__()", "x.__class__ = x"):
        with pytest.raises(TextError, match="begins with `_`"):
            check_program(text, declared=("x",), vocabulary=careless)


def test_what_is_compiled_is_looked_at_once_more() -> None:
    """Nodes that the lowering removes, and hidden names, are strangers to the lowered tree."""
    for text in (
        "a + b",
        "a[1:2]",
        "lambda: a",
        "import a",
        "a.__b__",
        "__a__",
        "f(_a=1)",
        "a += 1",
    ):
        assert list(find_unexpected(ast.parse(text)))
    assert not list(find_unexpected(ast.parse("for _ in f(a):\n    b[i] = g(-a, k=[1, (2,)]).T")))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in Python 3.12")
def test_type_parameters_are_refused() -> None:
    """`def f[T: g()](x)` hides an expression."""
    with pytest.raises(TextError, match="type parameter"):
        check_program("def f[T: g()](x):\n    return x", declared=(), vocabulary=VOCABULARY)
