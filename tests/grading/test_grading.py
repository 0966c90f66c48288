"""Whatever a stranger types: judged or refused, at once, in little memory, never carried out."""

import random
import resource
import sys
from pathlib import Path

import pytest
import yaml

from gradcheck.grading.key import make_key
from gradcheck.grading.marking import mark
from gradcheck.language.vocabulary import words
from gradcheck.problem.load import make_question
from tests.support.grading import judged, keyed, scalar
from tests.support.sweeping import at_most
from tests.support.typed import typed_answers

VERDICTS = {"right", "wrong", "invalid", "missing", "needs-review"}
MOST_MEMORY = 64 * 1024  # kilobytes by which a process may grow over a whole test


HOSTILE = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text())
EXPLOITS = HOSTILE["exploits"]
BOMBS = [
    *HOSTILE["bombs"],
    *(before + piece * count + behind for before, piece, count, behind in HOSTILE["repeated"]),
    *(left * count + "x" + right * count for left, right, count in HOSTILE["nested"]),
]
VALUES = [
    *HOSTILE["values"],
    10**400,
    -(10**4000),
    [1] * 5_000,
    ["x"] * 2_000,
    b"x",
    (1, 2),
    object,
    1j,
]


@pytest.mark.parametrize("disguise", ["lambda: x", "𝐱", "х", "x\u200b", "\u202ex", "ｘ"])
def test_a_disguise_is_echoed_as_what_it_is(disguise):
    """What looks like another character is one that can be seen in the echo."""
    assert judged(scalar("x**3"), disguise).understood == "x"


@pytest.mark.parametrize("exploit", EXPLOITS)
def test_nothing_typed_is_carried_out(exploit, tmp_path, capsys, monkeypatch):
    """Code in an answer is refused as mathematics: no file, no output, no import."""
    file = tmp_path / "pwned"
    ready = scalar("x**3 + 2*sin(x)")
    monkeypatch.setattr("builtins.open", _refused)
    modules = set(sys.modules)
    found = judged(ready, exploit.format(file=file))
    monkeypatch.undo()
    assert found.verdict in ("invalid", "wrong")
    assert found.remarks
    assert not file.exists()
    assert capsys.readouterr() == ("", "")
    assert set(sys.modules) == modules


def _refused(*_, **__):
    raise AssertionError("a file was opened")


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb[:30])
def test_no_text_explodes(bomb):
    """Towers, factorials, nesting and giant arrays have a verdict; none of them is right."""
    assert judged(scalar("x**3 + 2*sin(x)"), bomb, diagnose=False).verdict in VERDICTS - {
        "right",
        "missing",
    }


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_no_value_is_too_strange(value):
    """Whatever YAML or a caller can deliver gets a verdict."""
    found = judged(scalar("x**3 + 2*sin(x)"), value)
    assert found.verdict in {"invalid", "wrong"}
    assert found.remarks or found.witness


def test_only_declared_names_are_known():
    """Another problem's input, a Python builtin: all unknown."""
    ready = keyed("id: t\ninputs: {x: 2.0}\nprogram: |\n  y = x**2\n  y*x\n")
    for name in ("z", "len", "range", "int", "float", "self", "None", "np", "torch"):
        found = judged(ready, f"3x^2 + 0*{name}")
        assert (name, found.verdict) == (name, "invalid")


def test_a_hostile_list_of_formulas_is_bounded():
    """A thousand formulas for a vector are read or refused, and never evaluated one by one."""
    ready = keyed("id: v\ninputs: {x: [1.0, 2.0]}\nprogram: sum(x**2)\n")
    for answer in (["x[0]"] * 1_000, [["x[0]"] * 30] * 30, ["gamma(x[0])"] * 999):
        assert judged(ready, answer).verdict in {"wrong", "invalid"}


PIECES = [
    *"0123456789.eExyπθ+-*/^()[]{}|,:=<>!'\"\\_&%$#@~`;? \n\t√∛²³⁻¹½·×÷−≤≥",
    *sorted(
        words(
            r"""
            sin cos tan exp ln log sqrt abs sign gamma erf max min where sum inv det zeros ones eye
            arange reshape outer norm softmax x.T x[0] 1e9 10^9 ^^ ** // \frac{ \sin __class__ in if
            __import__ lambda import np. torch. .grad () [] {} None True for
            """
        )
    ),
    "\u200b",
    "\u202e",
    "\x00",
    "\ud800",
    "ｘ",
    "𝐱",
    "é",
    "9" * 50,
    "(" * 30,
]
SEEDS = [
    *EXPLOITS,
    *BOMBS,
    "3x^2 + 2cos x",
    r"\frac{x}{\sqrt{1+x^2}}",
    "[x, 2x]",
    "where(x>0,x,-x)",
]


def texts(count, seed):
    """Random strings, and known ones cut, doubled and sprinkled with pieces."""
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.4:
            yield "".join(rng.choices(PIECES, k=rng.randint(1, 20)))
            continue
        text = rng.choice(SEEDS)[:400]
        for _ in range(rng.randint(1, 4)):
            at, cut = rng.randint(0, len(text)), rng.randint(0, 5)
            text = text[:at] + rng.choice(PIECES) + text[at + cut :]
        yield text


@pytest.mark.parametrize(
    ("count", "seed"), [(3_000, 1), pytest.param(at_most(100_000), 2, marks=pytest.mark.sweep)]
)
def test_random_texts_are_judged_or_refused(count, seed):
    """Random and mutated strings: no error, and memory stays flat."""
    ready, sizes = scalar("x**3 + 2*sin(x)"), []
    for sample in (texts(200, seed=0), texts(count, seed)):
        for text in sample:
            assert judged(ready, text, diagnose=False).verdict in VERDICTS - {"missing"}
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert sizes[1] - sizes[0] < MOST_MEMORY


def test_no_module_of_the_judge_evaluates_text():
    """The sources of reading and judging call neither eval nor sympify nor their kin."""
    import gradcheck.answers  # noqa: PLC0415
    import gradcheck.grading  # noqa: PLC0415

    banned = ("eval(", "exec(", "sympify", "parse_expr", "lambdify", "literal_eval", "__import__")
    for package in (gradcheck.answers, gradcheck.grading):
        for file in Path(package.__path__[0]).glob("*.py"):
            source = file.read_text()
            assert not [word for word in banned if word in source], file


# -- nothing that was typed is dropped: junk beside a right answer never makes it right in silence


TABLE = yaml.safe_load(Path(__file__).with_name("junk.yaml").read_text())
JUNK, BETWEEN, RIGHT, FUNCTIONS = (TABLE[k] for k in ("around", "between", "right", "functions"))
AROUND = [*JUNK, *TABLE["more"]]


@pytest.fixture(scope="module", params=RIGHT)
def problem(request):
    return make_key(make_question(request.param, [], [])), RIGHT[request.param]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_never_right(problem, junk):
    """Whatever stands around the right formula is read, or refused."""
    ready, answers = problem
    for right in answers:
        judged = mark(ready, ready.problem.parts[0], junk.format(right))
        assert judged.verdict in ("wrong", "invalid"), judged


def test_junk_inside_is_never_right(problem):
    """What is put between the signs of a right formula is read, or refused."""
    ready, answers = problem
    rng = random.Random(5)
    for right in answers:
        for junk in BETWEEN:
            at = rng.randrange(1, len(right))
            judged = mark(ready, ready.problem.parts[0], right[:at] + junk + right[at:])
            assert judged.verdict in ("wrong", "invalid"), judged


def test_a_chain_that_begins_wrong_says_so(problem):
    """The last link is the answer; that an earlier one is false is said."""
    ready, answers = problem
    judged = mark(ready, ready.problem.parts[0], f"5 = {answers[0]}")
    assert judged.verdict == "right"
    assert "`5` is not equal to the derivative" in " ".join(judged.remarks)


@pytest.mark.parametrize(("whole", "own"), [("chain: strict\n", ""), ("", ", chain: strict")])
def test_a_strict_chain_has_no_false_link(whole, own):
    ready = keyed(f"{whole}problems:\n- {{id: t, inputs: {{x: 2.0}}, program: x**3{own}}}\n")
    for line, typed in enumerate(["2x = 3x^2", "3x^2\n= 2x\n= 3x^2"], 1):
        judged = mark(ready, ready.problem.parts[0], typed)
        assert (judged.verdict, judged.score, judged.line) == ("wrong", 0.0, line)


@pytest.mark.parametrize(("typed", "left"), [("1. 5", "1."), ("a) 2", "a)"), ("2) 3x", "2)")])
def test_a_marker_of_a_list_is_noted(problem, typed, left):
    ready, _ = problem
    judged = mark(ready, ready.problem.parts[0], typed)
    assert any(f"`{left}` is left out" in remark for remark in judged.remarks)


def test_junk_around_the_spellings_of_right_answers_is_never_right():
    rng = random.Random(7)
    known = [row for row in typed_answers() if row[0] == ("x",) and row[1] in FUNCTIONS]
    keys = {meaning: make_key(make_question(f, [], [])) for meaning, f in FUNCTIONS.items()}
    for _ in range(300):
        _, meaning, typed = rng.choice(known)
        answer = rng.choice(AROUND).replace("{}", typed)
        judged = mark(keys[meaning], keys[meaning].problem.parts[0], answer)
        assert judged.verdict in ("wrong", "invalid"), (answer, judged.understood, judged.remarks)
