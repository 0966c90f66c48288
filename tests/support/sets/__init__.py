"""Problem sets as files, for the tests that load, judge or serve their text."""

from pathlib import Path


def set_of(name: str) -> str:
    return Path(__file__).with_name(f"{name}.yaml").read_text()
