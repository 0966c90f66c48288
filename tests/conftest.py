"""What must hold before any test is believed: a compiled module says what its source says."""

import re
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent / "gradcheck" / "engine"


def pytest_sessionstart() -> None:
    """Python takes a compiled module before its source, however old it is: refuse to test that."""
    for compiled in (*ENGINE.glob("*.so"), *ENGINE.glob("*.pyd")):
        source = ENGINE / f"{compiled.name.split('.')[0]}.py"
        written = [f.stat().st_mtime for f in _texts(source)]
        if max(written) > compiled.stat().st_mtime:
            pytest.exit(
                f"{source}, or a .pxd it uses, has changed since {compiled.name} was made from it: "
                "run `pip install -e .` again, or delete the compiled files",
                returncode=4,
            )


def _texts(source: Path) -> list[Path]:
    """A module's own texts, and those whose C declarations it takes in."""
    own = source.with_suffix(".pxd")
    text = own.read_text() if own.exists() else ""
    used = [ENGINE / f"{name}.pxd" for name in re.findall(r"gradcheck\.engine\.(\w+)", text)]
    return [f for f in (source, own, *used) if f.exists()]
