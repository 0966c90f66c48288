"""What was compiled of other sources is not imported."""

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from gradcheck.engine import compiled


@pytest.fixture
def engine(tmp_path):
    """A folder like the engine's, with one extension module and its stamp."""
    for name in compiled.COMPILED:
        (tmp_path / f"{name}.py").write_text(f"x = {name!r}\n")
    (tmp_path / f"tape{EXTENSION_SUFFIXES[0]}").write_bytes(b"")
    (tmp_path / compiled.STAMP).write_text(compiled.digest(tmp_path))
    return tmp_path


def test_a_build_of_these_sources_is_taken(engine):
    """And none at all is not stale either."""
    assert not compiled.is_stale(engine)
    (engine / f"tape{EXTENSION_SUFFIXES[0]}").unlink()
    (engine / "tape.py").write_text("x = 2\n")
    assert not compiled.is_stale(engine)


@pytest.mark.parametrize("edited", ["tape.py", "tensor.py"])
def test_an_edited_source_makes_it_stale(engine, edited):
    """Any of them: the modules share their C types."""
    (engine / edited).write_text("x = 3\n")
    assert compiled.is_stale(engine)


def test_a_build_without_a_stamp_is_stale(engine):
    """It is an older one, or somebody else's."""
    (engine / compiled.STAMP).unlink()
    assert compiled.is_stale(engine)


def test_the_sources_are_imported_then():
    """All of the compiled modules, in a process of its own, whatever lies beside them."""
    words = (
        "from gradcheck.engine import compiled; import sys; "
        "[sys.modules.pop(n) for n in list(sys.modules) if n.startswith('gradcheck.engine.')]; "
        "compiled.import_sources(); "
        "print({sys.modules[f'gradcheck.engine.{n}'].__file__[-3:] for n in compiled.COMPILED})"
    )
    asked = [sys.executable, "-c", words]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "{'.py'}\n"
