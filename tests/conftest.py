"""What must hold before any test is believed: a compiled module says what its source says."""

from pathlib import Path

import pytest

TEXTS = (".py", ".pxd")
ENGINE = Path(__file__).parent.parent / "gradcheck" / "engine"


def pytest_sessionstart() -> None:
    """Python takes a compiled module before its source, however old it is: refuse to test that."""
    for compiled in (*ENGINE.glob("*.so"), *ENGINE.glob("*.pyd")):
        source = ENGINE / f"{compiled.name.split('.')[0]}.py"
        written = [f.stat().st_mtime for f in ENGINE.glob(f"{source.stem}.p*") if f.suffix in TEXTS]
        if max(written, default=0.0) > compiled.stat().st_mtime:
            pytest.exit(
                f"{source} has changed since {compiled.name} was made from it: "
                "run `pip install -e .` again, or delete the compiled files",
                returncode=4,
            )
