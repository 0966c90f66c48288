"""File names for problems, parts and series: safe on every disk, and never two alike."""

import re
from collections.abc import Iterable

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST = 80


def safe(name: str) -> str:
    """The name, not too long, an underscore for each run of what may not stand in a file's name."""
    return UNSAFE.sub("_", name)[:LONGEST] or "_"


def distinct(names: Iterable[str]) -> list[str]:
    """Safe names in the same order; later ones get a number where they would look alike."""
    taken: set[str] = set()
    found = []
    for name in names:
        plain = candidate = safe(name)
        count = 1
        while candidate.casefold() in taken:
            count += 1
            candidate = f"{plain}-{count}"
        taken.add(candidate.casefold())
        found.append(candidate)
    return found
