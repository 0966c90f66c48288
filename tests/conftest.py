"""What must hold before any test is believed, and what is said where PyTorch is not there."""

import gc
import os
import re
import signal
import sys
from collections import Counter
from contextlib import ExitStack, closing
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import pytest

from tests.support.sweeping import cases

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "gradcheck"
ENGINE = PACKAGE / "engine"
SAMPLE = int(os.environ.get("GRADCHECK_SAMPLE", "1"))  # every how many-th test is run
COLLECTED: Counter[str] = Counter()  # cases of a test so far
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""Workers share the cores, which PyTorch's and NumPy's own threads would burn while they wait."""
COMPARING = re.compile(r"""importorskip\("torch"\)|from tests\.support\.oracle """)


@pytest.fixture
def file(tmp_path):
    def write(text, name="set.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def uncollected():
    """What is freed here is freed at once, not by the collector of garbage."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def warm():
    """Nurseries are forked from one that has imported everything; `cold` ones import again."""
    from gradcheck.batch import pool  # noqa: PLC0415

    spawn = pool._spawn

    @cache
    def first():
        with pytest.MonkeyPatch.context() as as_it_was:
            as_it_was.setattr(pool, "_spawn", spawn)
            found = ends.enter_context(closing(pool.Nursery()))
            found.submit(os.getpid).result()
        return found

    def start(theirs, limits):
        if limits:
            return spawn(theirs, limits)
        first().submit(os.chdir, os.getcwd()).result()  # where this process is by now
        return first().fork(theirs, limits)

    with ExitStack() as ends, pytest.MonkeyPatch.context() as patched:
        if pool.FORKS:
            patched.setattr(pool, "_spawn", start)
        yield spawn


@pytest.fixture(scope="module")
def cold(warm):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gradcheck.batch.pool._spawn", warm)
        yield


def pytest_sessionstart():
    """Python takes a compiled module before its source, however old it is: refuse to test that.

    Where Python was told to write no bytecode, each process of the tests, and each command that one
    starts, would compile the whole package again.
    """
    gc.disable()  # until all is collected: nothing of that is garbage
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for compiled in (*PACKAGE.rglob("*.so"), *PACKAGE.rglob("*.pyd")):
        source = compiled.parent / f"{compiled.name.split('.')[0]}.py"
        written = [f.stat().st_mtime for f in _texts(source)]
        if written and max(written) > compiled.stat().st_mtime:
            pytest.exit(
                f"{source}, or a .pxd it uses, has changed since {compiled.name} was made from it: "
                "run `pip install -e .` again, or delete the compiled files",
                returncode=4,
            )


def pytest_collection_finish():
    """What is known by now stays: it is seldom looked through for garbage again."""
    gc.set_threshold(20_000, 50)
    gc.enable()


def pytest_configure():
    """Hear Ctrl-C also where the tests run in the background: what they start would ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item):
    """Of a test that is `sampled(n)`, all cases but each n-th belong to the sweeps."""
    sampled = item.get_closest_marker("sampled")
    if sampled is not None:
        COLLECTED[item.nodeid.partition("[")[0]] += 1
        if COLLECTED[item.nodeid.partition("[")[0]] % sampled.args[0]:
            item.add_marker("sweep")


def pytest_collection_modifyitems(config, items):
    """Leave of a sweep what GRADCHECK_SWEEP asks for, and of all tests each SAMPLE-th.

    Each Python has others, so that two of them try twice as many.
    """
    swept = [item for item in items if item.get_closest_marker("sweep")]
    left = set(swept)
    for _, group in groupby(swept, key=lambda item: item.nodeid.partition("[")[0]):
        of_one = list(group)
        left.difference_update(of_one[k] for k in cases(len(of_one)))
    first = sys.version_info.minor % SAMPLE
    chosen = dict.fromkeys([item for item in items if item not in left][first::SAMPLE])
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_terminal_summary(terminalreporter):
    """Say loudly that PyTorch is not there, and what was not compared with it."""
    if find_spec("torch") is None:
        files = [f for f in sorted(TESTS.rglob("test_*.py")) if COMPARING.search(f.read_text())]
        rooms = Counter(file.parent.relative_to(TESTS).as_posix() for file in files)
        terminalreporter.section("PyTorch is not installed", sep="!", red=True, bold=True)
        terminalreporter.line("not compared with it, wholly or in part (number of test files):")
        terminalreporter.line(", ".join(f"{room} {count}" for room, count in rooms.items()))
        terminalreporter.line("`pip install -e '.[test,torch]'` installs it")


def _texts(source):
    """A module's own texts, and those whose C declarations it takes in."""
    own = source.with_suffix(".pxd")
    text = own.read_text() if own.exists() else ""
    used = [ENGINE / f"{name}.pxd" for name in re.findall(r"gradcheck\.engine\.(\w+)", text)]
    return [f for f in (source, own, *used) if f.exists()]
