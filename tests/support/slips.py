"""The slips of `slips.yaml`, put into the backward passes of `layers`."""

import inspect
import itertools
import linecache
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.support import layers

SLIPS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
GROUPS = SLIPS.pop("GROUPS")
NUMBERS = itertools.count()


def accepted(names: str) -> str:
    """The ids that a slip may be called; capitals stand for several."""
    return " ".join(accepted(GROUPS[name]) if name in GROUPS else name for name in names.split())


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def slipped(name: str, old: str, new: str) -> Callable[..., Any]:
    backward = layers.LAYERS[name][1]
    text = replaced(inspect.getsource(backward), old, new)
    file = f"<slip {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    room = dict(vars(layers))
    exec(compile(text, file, "exec"), room)
    return room[backward.__name__]


def cases() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any], Any, str]]:
    """Every slip: its title, the forward, the wrong backward, arguments, the accepted names."""
    for name, slips in SLIPS.items():
        forward, _, make = layers.LAYERS[name]
        args = make(np.random.default_rng(11), 1.0)
        for old, new, names in slips:
            title = f"{name}: {old.strip()} -> {new.strip() or 'nothing'}"
            yield title, forward, slipped(name, old, new), args, accepted(names)
