"""Programs of which PyTorch and the engine must tell the same: `programs/*.txt`.

A heading says what is shown. Below it stand programs by name, on one line or indented; the last
expression is what is told. Lines that begin with `|` are frames into which each program is put.
"""

import ast
import copy
import operator
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tests.support.oracle import made, same


def names(step):
    """The names of what comes next."""
    return [(type(s).__name__ if s is None else repr(s), k) for s, k in step.next_functions]


WORDS = {
    "np": np, "nan": np.nan, "inf": np.inf, "copy": copy, "operator": operator, "re": re,
    "made": made, "names": names,
}  # fmt: skip


def snippet(frame, text):
    lines = textwrap.dedent(frame.replace("{}", textwrap.dedent(text).strip())).split("; ")
    module, program = ast.parse("def program(m): pass"), ast.parse("\n".join(lines))
    if isinstance(program.body[-1], ast.Expr):
        program.body[-1] = ast.Return(program.body[-1].value)
    module.body[0].body = program.body
    space = dict(WORDS)
    exec(compile(ast.fix_missing_locations(module), "<program>", "exec"), space)
    return space["program"]


def programs():
    for file in sorted(Path(__file__).with_name("programs").glob("*.txt")):
        for section in re.split(r"^## ", file.read_text(), flags=re.M)[1:]:
            heading, *lines = section.rstrip().split("\n")
            framing = "\n".join(line[2:] for line in lines if line.startswith("|"))
            frames = framing.split("\n\n") if framing else ["{}"]
            rows = "\n".join(line for line in lines if not line.startswith("|"))
            for name, _, text in (row.partition(":") for row in re.split(r"\n(?=\S)", rows)):
                for k, frame in enumerate(frames):
                    title = f"{file.stem}: {heading.partition(':')[0]}: {name}" + "'" * k
                    yield pytest.param(frame, text, id=title)


@pytest.mark.parametrize(("frame", "text"), list(programs()))
def test_pytorch_tells_the_same(frame, text):
    """Values, errors, warnings, nodes and versions, in PyTorch's words."""
    same(snippet(frame, text))
