"""Functions that are formulas of the rows: every kind of number follows them by its own ops."""

from gradcheck.ops.composed import elementary, losses, networks, numpys, picking, products, windows

__all__ = ["elementary", "losses", "networks", "numpys", "picking", "products", "windows"]
