"""Diagnosis: each mistake made on purpose, and those kept that reproduce the answer."""

from gradcheck.diagnosis.explain import Diagnosis, Hypothesis, explain, write_words
from gradcheck.diagnosis.line import Made
from gradcheck.diagnosis.preparing import Prepared, prepare

__all__ = ["Diagnosis", "Hypothesis", "Made", "Prepared", "explain", "prepare", "write_words"]
