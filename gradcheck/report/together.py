"""Several parts of one answer read together: one misconception made in three places is one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gradcheck.mistakes import CATALOGUE

SLIPS = frozenset(row.id for row in CATALOGUE if row.slip)  # twice a slip is two slips
Line = Mapping[str, Any]


def together(lines: Sequence[Line]) -> list[Line]:
    """The lines of a student's parts of one problem, where a mistake that parts share is said once.

    Of a part that other mistakes would explain too, only the shared one is left; every part but the
    first says `"same"`, and which part that is.
    """
    found = list(lines)
    shared = Counter(id for line in lines for id in _ids(line))
    free = set(range(len(found)))
    for id, count in shared.most_common():
        where = [k for k in sorted(free) if id in _ids(lines[k])]
        if count < 2 or len(where) < 2:
            continue
        free -= set(where)
        for k in where:
            found[k] = _narrowed(lines[k], id, "" if k == where[0] else found[where[0]]["part"])
    return found


def _ids(line: Line) -> Sequence[str]:
    """The misconceptions that explain a wrong part, each on its own, the likeliest first."""
    told = line.get("mistakes") or () if line["verdict"] == "wrong" else ()
    alone = (m["id"] for m in told if not m.get("with") and m["id"] not in SLIPS)
    return tuple(dict.fromkeys(alone))


def _narrowed(line: Line, id: str, first: str) -> Line:
    """A line with one of its mistakes, which was made in the first part too."""
    mistakes = [m for m in line["mistakes"] if m["id"] == id and not m.get("with")]
    several = len(line["mistakes"]) > len(mistakes)
    certainty = "unique" if several and not line["hints"] else line["certainty"]
    said = {**line, "mistakes": mistakes, "certainty": certainty}
    if not first:
        return said
    words = f"the same mistake as in `{first}`"
    return {**said, "same": first, "hints": [*line["hints"], words]}
