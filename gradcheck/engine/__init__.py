"""The engine: reverse mode on NumPy arrays, with PyTorch's semantics."""

from pathlib import Path

from gradcheck.engine.compiled import import_sources, is_stale

if is_stale(Path(__file__).parent):
    import_sources()
