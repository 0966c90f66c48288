"""PyTorch's own samples of its functions, by three doors: equal, or refused with a cure.

`DIFFERENT` is the whole list of what is neither: NumPy's meanings, and PyTorch's own slips.
"""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's table of samples imports it

from tests.support.opinfo import DOORS, HOMES, entries, label, ours, tally
from tests.support.sweeping import at_most

DIFFERENT = yaml.safe_load(Path(__file__).with_name("different.yaml").read_text())
LEAST = {"function": 228, "text": 209, "method": 184}
"""So many entries of the table had an equal result and none that differs, when this was written."""


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("door", DOORS)
def test_equal_or_refused(door):
    """No entry outside the list has a value, a first or a second gradient of its own."""
    equal, wrong = [], {}
    known = list(entries())
    sample = known[:: max(len(known) // at_most(len(known)), 1)]
    for entry in sample:
        if door != "method" and ours(entry.name) is None:
            continue
        found = tally(entry, door)
        if found.wrong and label(entry) not in DIFFERENT:
            wrong[label(entry)] = found.wrong[:3]
        elif found.equal and not found.wrong:
            equal.append(label(entry))
    assert not wrong
    assert len(sample) < len(known) or len(equal) >= LEAST[door], sorted(equal)


@pytest.mark.sweep
def test_the_table_is_read():
    """The comparison itself sees a wrong value and a wrong gradient."""
    by_name = {entry.name: entry for entry in entries() if not entry.variant_test_name}
    assert len(by_name) > 400
    assert tally(by_name["sin"], "function").equal > 0
    home, torchs = HOMES[""]
    assert (ours("sin"), torchs.sin) == (home.sin, torchs.sin)
    broken = by_name["sin"]
    was, broken.name = broken.name, "cos"
    try:
        assert tally(broken, "function").wrong
    finally:
        broken.name = was
