"""The shipped sets: read once, and each key prepared once, for all tests of a process."""

from functools import cache
from pathlib import Path

from gradcheck.grading.key import make_key
from gradcheck.problem import load

FOLDER = Path(__file__).parents[2] / "problems"
FILES = sorted(FOLDER.glob("*.yaml"))
SETS = {file.stem: load(file) for file in FILES}
PROBLEMS = {problem.id: problem for set_ in SETS.values() for problem in set_.problems}
prepared = cache(make_key)
