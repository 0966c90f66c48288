"""The picture of a function, its derivative and an answer."""

import re

import numpy as np

from gradcheck.web.drawing import BOTTOM, LEFT, RIGHT, TOP, plot


def test_what_is_larger_stands_higher_and_what_is_later_to_the_right():
    """The line f = x - 1 from 0 to 4 beside its slope 1, at 2; a value that is missing is a gap."""
    xs = np.linspace(0, 4, 9).tolist()
    line = [(x, x - 1) for x in xs]
    curves = {
        "f": [*line[:4], (xs[4], None), *line[5:]],
        "slope": [(x, 1.0) for x in xs],
        "at": 2.0,
    }
    drawn = plot("x", curves, None)
    assert drawn["here"] == (LEFT + RIGHT) / 2
    places = [
        np.array(re.findall(r"[\d.]+", path), dtype=float).reshape(-1, 2)
        for kind, path in drawn["curves"]
        if kind == "f"
    ]
    assert [len(each) for each in places] == [4, 4]
    across, up = np.concatenate(places).T
    assert (across[0], across[-1]) == (LEFT, RIGHT)
    assert np.all(np.diff(across) > 0)
    assert np.all(np.diff(up) < 0)
    zero = next(place for kind, place, _ in drawn["rows"] if kind == "zero")
    assert TOP <= up[-1] < zero < up[0] <= BOTTOM
    assert up[2] == zero, "f is 0 at 1"
