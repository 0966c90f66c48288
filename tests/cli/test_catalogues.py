"""`gradcheck ops`, `mistakes` and `schema`."""

import json

from tests.support.commands import run


def test_catalogues_are_printed():
    assert "arctan" in run("ops").output
    said = " ".join(run("mistakes").output.split())
    assert "was lost at `1 / (x**2 + 1)`." in said
    assert not [w for w in ("the the", ", its derivative,", "derivative a constant") if w in said]
    assert json.loads(run("schema").output)["title"] == "gradcheck problem file"
