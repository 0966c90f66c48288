"""`gradcheck ops`, `mistakes` and `schema`."""

import json

from tests.support.commands import run


def test_catalogues_are_printed():
    assert "arctan" in run("ops").output
    assert "sign-error" in run("mistakes").output
    assert json.loads(run("schema").output)["title"] == "gradcheck problem file"
