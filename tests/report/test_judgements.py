"""Parts of one problem read together."""

from gradcheck.report.judgements import together


def part(name, *ids, verdict="wrong", certainty="unique"):
    """A line of a part with the mistakes that explain it; `a+b` are two at once."""
    pairs = (i.partition("+") for i in ids)
    told = [{"id": a, **({"with": {"id": b}} if b else {})} for a, _, b in pairs]
    said = {"verdict": verdict, "mistakes": told, "certainty": certainty}
    return {"part": name, "hints": [], **said}


def read(*lines):
    """What is left of each: the ids, the certainty, and the part with the same mistake."""
    return [
        ([m["id"] for m in one["mistakes"]], one["certainty"], one.get("same", ""))
        for one in together(lines)
    ]


def test_one_misconception_in_three_places_is_one():
    """The first says it, the others point to the first; a part that is torn is torn no longer."""
    lines = (
        part("W1", "transposed"),
        part("W2", "operands-swapped", "transposed", certainty="torn"),
        part("b", "broadcast-averaged"),
        part("W3", "transposed"),
    )
    assert read(*lines) == [
        (["transposed"], "unique", ""),
        (["transposed"], "unique", "W1"),
        (["broadcast-averaged"], "unique", ""),
        (["transposed"], "unique", "W1"),
    ]
    torn = (
        part("u", "sum-for-mean", "path-dropped", certainty="torn"),
        part("v", "chain-factor-dropped", "path-dropped", certainty="torn"),
    )
    assert read(*torn) == [(["path-dropped"], "unique", ""), (["path-dropped"], "unique", "u")]


def test_slips_right_parts_and_pairs_are_left_alone():
    """Two slips are two; what is right has no mistake; two mistakes at once are not one."""
    lines = (
        part("a", "sign-error"),
        part("b", "sign-error"),
        part("c", "transposed", verdict="right"),
        part("d", "transposed"),
        part("e", "transposed+sum-for-mean"),
    )
    assert together(lines) == list(lines)
