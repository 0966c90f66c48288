"""Which modules Cython compiles, and whether what it made is of the sources that lie beside it.

An extension module stays where it was built when its source is edited, and Python would take it.
The build leaves the digest of its sources with it; where they are others now, the sources are
imported, all of them: modules share their C types and are never mixed.
"""

import hashlib
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

COMPILED = ("tape", "state", "tensor")
STAMP = "compiled.sha256"


def digest(folder: Path) -> str:
    """Of the sources that are compiled."""
    known = [folder / f"{name}.py" for name in COMPILED]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in known)).hexdigest()


def is_stale(folder: Path) -> bool:
    """Whether extension modules lie there that were made of other sources."""
    built = [folder / f"{name}{suffix}" for name in COMPILED for suffix in EXTENSION_SUFFIXES]
    if not any(path.exists() for path in built):
        return False
    stamp = folder / STAMP
    return not stamp.exists() or stamp.read_text().strip() != digest(folder)


class _Sources:
    """Finds the sources of these modules, where Python would find what was made of them."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The source of a module of the engine that is compiled; None for any other."""
        package, _, last = name.rpartition(".")
        if package != __package__ or last not in COMPILED:
            return None
        return spec_from_file_location(name, Path(__file__).with_name(f"{last}.py"))


def ignore_stale() -> None:
    if is_stale(Path(__file__).parent):
        sys.meta_path.insert(0, _Sources)
