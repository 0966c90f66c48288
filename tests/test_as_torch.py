"""`import gradcheck as torch` runs lessons that were written for PyTorch, with the same numbers."""

import pytest

from tests.support.scripts import DRAWN, LESSONS, alike, shown

torch = pytest.importorskip("torch")
AS = "import gradcheck as torch"


def as_gradcheck(text: str) -> str:
    """The script with its imports of PyTorch turned to gradcheck."""
    return (
        text.replace("import torch.nn.functional as F", "import gradcheck.nn.functional as F")
        .replace("import torch.nn as nn", "import gradcheck.nn as nn")
        .replace("from torch.nn import", "from gradcheck.nn import")
        .replace("from torch import", "from gradcheck import")
        .replace("import torch\n", f"{AS}\n")
    )


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_shows_what_it_shows_with_pytorch(name: str) -> None:
    """Numbers, shapes, truth values, names of nodes, and the error at the end if there is one."""
    theirs, their_error = shown(LESSONS[name], name)
    ours, our_error = shown(as_gradcheck(LESSONS[name]), name)
    assert (our_error == "") == (their_error == "")
    if name in DRAWN:
        assert ours == theirs
        return
    assert their_error.startswith(our_error)
    assert alike(ours, theirs), (ours, theirs)
