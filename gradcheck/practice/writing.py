"""A candidate as an entry of a problem file."""

import json
from collections.abc import Mapping, Sequence

from gradcheck.practice.drawing import LEAVES, Candidate
from gradcheck.report.latex import latex

NONE: Mapping[str, str] = {}


def written(
    drawn: Candidate,
    id: str,
    right: Mapping[str, str] = NONE,
    wrong: Sequence[tuple[str, str, str]] = (),
) -> str:
    """The problem as YAML, with its right answer and (part, answer, mistake) as self-tests."""
    inputs = ", ".join(f"{name}: {value}" for name, value in drawn.inputs.items())
    lines = [
        f"id: {id}",
        f"title: {drawn.rule.title}",
        f"prompt: {_quoted(task(drawn))}",
        f"inputs: {{{inputs}}}",
        f"program: {_quoted(drawn.program)}",
    ]
    if right:
        lines += ["right:", f"  - {_mapping(right)}"]
    if wrong:
        lines += ["wrong:"]
        lines += [f"  - {{answer: {_mapping({p: a})}, mistake: {m}}}" for p, a, m in wrong]
    return "".join(f"{line}\n" for line in lines)


def task(drawn: Candidate) -> str:
    """What the student reads: the function as mathematics, and by what to differentiate."""
    by = [f"${name}$" for name in drawn.inputs if name in LEAVES]
    fixed = [f"${name}$" for name in drawn.inputs if name not in LEAVES]
    several = "partial derivatives" if len(by) > 1 else "derivative"
    kind = "gradient" if any("shape" in value for value in drawn.inputs.values()) else several
    words = f"Give the {kind} of ${latex(drawn.program)}$ by {_and(by)}."
    if not fixed:
        return words
    return f"{words} {_and(fixed)} {'are constants' if len(fixed) > 1 else 'is a constant'}."


def _and(names: Sequence[str]) -> str:
    """`x`, `x and y`, `x, y and z`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def listed(title: str, entries: Sequence[str]) -> str:
    """Entries as one problem set."""
    blocks = [entry.rstrip("\n").replace("\n", "\n    ") for entry in entries]
    return "".join([f"title: {title}\nproblems:\n", *(f"  - {block}\n" for block in blocks)])


def _mapping(texts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {_quoted(text)}" for name, text in texts.items()) + "}"


def _quoted(text: str) -> str:
    """A text that YAML reads as it is, in quotes where it would not be one."""
    plain = text.replace(" ", "").isidentifier() and text not in ("y", "n")
    return text if plain else json.dumps(text, ensure_ascii=False)
