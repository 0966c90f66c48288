"""`gradcheck serve` before anybody comes: what is missing, taken, or open to others."""

import socket

import pytest
from click.testing import CliRunner

from gradcheck.cli import main, serve


@pytest.fixture
def course(tmp_path):
    file = tmp_path / "course.yaml"
    file.write_text("problems: [{id: one, inputs: {x: 2.0}, program: x**2}]")
    return file


def asked(*words):
    return CliRunner().invoke(main, ["serve", *map(str, words)])


def test_without_the_extra_the_cure_is_said(course, monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else name)
    found = asked(course)
    assert found.exit_code == 2
    assert "uvicorn is not installed - pip install 'gradcheck[web]'" in found.output


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_a_port_that_is_taken(course, tmp_path, host, warned):
    """Who opens it to others is warned; nobody else reads the directory."""
    with socket.create_server((host, 0)) as taken:
        port = taken.getsockname()[1]
        found = asked(course, "--host", host, "--port", port, "-o", tmp_path / "kept")
    assert found.exit_code == 2
    assert "choose another with --port" in found.output
    assert ("anybody may use any name" in found.output) is warned
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


def test_a_directory_that_cannot_be(course, tmp_path):
    assert asked(course, "-o", course / "below").exit_code == 2
