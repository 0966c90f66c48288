"""A student's answers for other programs: Gradescope's results.json, comments."""

import json
import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from gradcheck.report.findings import Line, findings

# What XML 1.0 cannot hold, even as an entity.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gradescope(lines: Sequence[Line], sources: dict[str, str]) -> str:
    """The results.json of one student: a test a part, the points as they stand."""
    tests = [
        {
            "name": f"{line['problem']}.{line['part']}",
            "number": str(number),
            "score": line["score"],
            "max_score": line["points"],
            "status": "passed" if line["verdict"] == "right" else "failed",
            "output": _words(line, sources[line["problem"]]),
            "output_format": "text",
            "visibility": "visible",
            "extra_data": {"verdict": line["verdict"], "certainty": line["certainty"]},
        }
        for number, line in enumerate(lines, 1)
    ]
    result: dict[str, Any] = {"output": "", "visibility": "visible", "tests": tests}
    return json.dumps(result, indent=1) + "\n"


def comments(lines: Sequence[Line]) -> str:
    """What a platform shows to a student beside the grade, as HTML: a paragraph an answer."""
    return "".join(f"<p>{_comment(line)}</p>" for line in lines)


def _comment(line: Line) -> str:
    """The verdict on an answer, and what explains it in words; underlined lines need a page."""
    name = f"<b>{escape(_clean(line['problem']))}.{escape(_clean(line['part']))}</b>"
    silent = line["verdict"] in ("right", "missing")
    found = [] if silent else [w for w in findings(line, "") if not w.startswith(" ")]
    said = escape(_clean("; ".join(found)))
    points = f"{line['score']:.6g} of {line['points']:.6g}"
    return f"{name}: {line['verdict']}, {points}{f' &ndash; {said}' if said else ''}"


def _words(line: Line, source: str) -> str:
    """What a student is told, in lines."""
    understood = [f"understood  {line['understood']}"] if line["understood"] else []
    found = [line["verdict"], *understood, *findings(line, source), *(line["remarks"] or ())]
    return "\n".join(found)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
