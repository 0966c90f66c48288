"""What `import gradcheck` shows, and what is not loaded before it is used."""

import doctest
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gradcheck
from gradcheck.help import PROMISED

FINE, FAULTY = "id: a\ninputs: {x: 2.0}\nprogram: x**3\n", "id: a\nprogramm: x**3\n"
COMMAND = """
import sys
sys.argv = {args!r}
from gradcheck.cli import main
try:
    main()
except SystemExit:
    pass
"""
# What takes long to load, and what else is loaded for one purpose only.
SYMPY = {"sympy", "mpmath", "gradcheck.numbers.closed"}
PLOTS = {"matplotlib", "gradcheck.plots"}
ARRAYS = {"gradcheck.texts.forms", "gradcheck.texts.steps"}
RIGHT = """
from gradcheck.testing import assert_gradient
assert_gradient(lambda x: x**3, 2.0, gradient=12.0)
"""
NO_TRAINING = {"gradcheck.training", "gradcheck.diagnosis"}
EVERYTHING = {"numpy", "flint", "rich", "pydantic", "jinja2"}


def test_dir_and_all_show_what_is_there():
    """Every public name can be had; ops are shown too, but a star import leaves `sum` alone."""
    shown = dir(gradcheck)
    assert set(gradcheck.__all__) < set(shown)
    assert "softmax" in shown
    assert "sum" not in gradcheck.__all__
    assert all(getattr(gradcheck, name) is not None for name in shown)


@pytest.mark.parametrize(
    ("program", "unloaded"),
    [
        ("import gradcheck", SYMPY | EVERYTHING),
        ("import gradcheck.pytest_plugin", SYMPY | {"flint", "gradcheck.problem"}),
        ("import gradcheck.testing", SYMPY | PLOTS | ARRAYS | {"pydantic", "rich", "jinja2"}),
        (RIGHT, SYMPY | PLOTS | ARRAYS | {"gradcheck.diagnosis"}),
        (["--help"], SYMPY | PLOTS | EVERYTHING),
        (["solve", FAULTY], SYMPY | PLOTS | ARRAYS | {"jinja2"}),
        (["solve", FINE], PLOTS | NO_TRAINING | {"gradcheck.texts.forms", "jinja2"}),
    ],
)
def test_what_is_not_used_is_not_loaded(program, unloaded, tmp_path):
    """SymPy alone takes longer to load than all the rest together."""
    if not isinstance(program, str):
        *words, text = program
        if words:
            (tmp_path / "one.yaml").write_text(text)
            words.append("one.yaml")
        program = COMMAND.format(args=["gradcheck", *(words or program)])
    asked = f"{program}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split("\n")[-2].split())
    assert "gradcheck" in loaded
    assert not sorted(unloaded & loaded)


@pytest.mark.parametrize(
    ("module", "name"), [(home, name) for home, names in PROMISED.items() for name in names]
)
def test_examples_of_the_reference_run(module, name):
    """What a promised name's own words show is what comes."""
    home = import_module(module)
    known = {"np": np} | {each: getattr(home, each) for each in PROMISED[module]}
    examples = doctest.DocTestFinder(recurse=False).find(getattr(home, name), name, globs=known)
    assert examples or module != "gradcheck"
    for test in examples:
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_a_file_of_tests_is_named_like_the_module_it_tests():
    """Or like its room; what stands in no room is about the whole. OpInfo is PyTorch's own name."""
    tests = Path(__file__).parent
    for file in tests.glob("*/**/test_*.py"):
        name = file.stem.removeprefix("test_")
        room = tests.parent / "gradcheck" / file.parent.relative_to(tests)
        assert name in (room.name, "opinfo") or (room / f"{name}.py").exists(), file
