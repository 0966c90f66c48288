"""Formulas of numbers alone, which no tape sees, beside what is differentiated."""

import numpy as np
import pytest

from gradcheck.ops import COMPOUNDS
from gradcheck.problem import load_text
from gradcheck.verdict.consult import consult
from tests.support.examples import EXAMPLES

SPECTRAL = {"eigh", "svd"}
"""Formulas with a row that has no counterpart in exact numbers."""
WORDY = {"convolve", "correlate"}
"""Examples that say a word, pass a function or compute with a list: no program does."""


def consulted(name):
    example, rng = EXAMPLES[name], np.random.default_rng(3)
    drawn = {
        each: size if isinstance(size, list) else rng.uniform(0.1, 0.9, size).tolist()
        for each, size in example.inputs.items()
    }
    lines = [f"{each} = array({v})" for each, v in drawn.items()]
    lines += [f"sum(factor * ({example.text}))"]
    text = "\n".join(f"    {line}" for line in lines)
    problem = load_text(f"id: t\ninputs: {{factor: 2.0}}\nprogram: |\n{text}\n").problems[0]
    return consult(problem.case({"factor": problem.inputs["factor"].value}))


@pytest.mark.parametrize("name", sorted(set(COMPOUNDS) - WORDY))
def test_each_opinion_follows_formulas_of_constants(name):
    """Reverse mode, too, whose samples of rounding disturb what a constant computes."""
    found = consulted(name)
    assert found.verdict == "agree"
    missing = {each: said.abstains for each, said in found.opinions.items() if said.abstains}
    assert not missing or (name in SPECTRAL), missing
