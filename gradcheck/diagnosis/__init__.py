"""Diagnosis: each mistake made on purpose, and those kept that reproduce the answer."""

from gradcheck.diagnosis.explain import Diagnosis, Hypothesis, explain
from gradcheck.diagnosis.making import Made, Prepared, prepare

__all__ = ["Diagnosis", "Hypothesis", "Made", "Prepared", "explain", "prepare"]
