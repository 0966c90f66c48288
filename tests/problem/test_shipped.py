"""Problem sets that come with the package are named without a path."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from gradcheck.problem.load import find_set, list_sets, shipped_problems


def test_a_set_is_found_by_its_bare_name() -> None:
    """With its ending or without; what is none is none."""
    assert find_set("first-derivatives") == find_set("first-derivatives.yaml") in list_sets()
    assert find_set("first") is None
    assert shipped_problems()["sine-of-square"].title


def test_commands_take_bare_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any directory; a file of the same name that is there is meant."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["solve", "first-derivatives", "--problem", "cubic-plus-sine"])
    assert "agree" in done.output
    assert done.exit_code == 0
    (tmp_path / "first-derivatives").write_text("id: mine\ninputs: {x: 2.0}\nprogram: x**2\n")
    assert "mine" in CliRunner().invoke(main, ["solve", "first-derivatives"]).output
    assert "does not exist" in CliRunner().invoke(main, ["lint", "no-such-set"]).output
