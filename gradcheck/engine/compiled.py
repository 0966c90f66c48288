"""Which modules Cython compiles, and whether what it made is of the sources that lie beside it.

An extension module stays where it was built when its source is edited, and Python would take it.
The build leaves the digest of its sources with it; where they are others now, the sources are
imported, all of them: modules share their C types and are never mixed.
"""

import hashlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

COMPILED = ("tape", "tensor")
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


def import_sources() -> None:
    """Import these modules from their sources: each before those that import it."""
    for name in COMPILED:
        spec = spec_from_file_location(
            f"{__package__}.{name}", Path(__file__).with_name(f"{name}.py")
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[spec.name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
