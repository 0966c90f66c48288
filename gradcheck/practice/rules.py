"""The rules of differentiation as grammars, which stand in `rules.yaml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from gradcheck.documents import read_yaml

LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class Kind:
    """Problems of one kind: templates by level, and the mistakes that every one must reveal.

    `also` are mistakes that many of them reveal too, where a problem for such a mistake is asked.
    """

    mistakes: tuple[str, ...]
    levels: Mapping[int, tuple[str, ...]]
    also: tuple[str, ...]


@dataclass(frozen=True)
class Rule:
    """A rule of differentiation and its kinds of problems; `title` is what a student reads."""

    name: str
    title: str
    kinds: tuple[Kind, ...]


_FILE: Any = read_yaml((files("gradcheck") / "practice" / "rules.yaml").read_bytes()).value


def _make_kind(said: Mapping[str, Sequence[str]]) -> Kind:
    groups = _FILE["groups"]
    named = {
        key: tuple(id for name in said.get(key, ()) for id in groups.get(name, (name,)))
        for key in ("mistakes", "also")
    }
    return Kind(levels={level: tuple(said[f"level {level}"]) for level in LEVELS}, **named)


PIECES: Mapping[str, Sequence[str]] = _FILE["pieces"]
RULES = tuple(
    Rule(each["name"], each["title"], tuple(map(_make_kind, each["kinds"])))
    for each in _FILE["rules"]
)
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
