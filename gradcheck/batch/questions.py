"""What decides a judgement, as a hash: the problem and its rubric, the answer, the version."""

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from gradcheck.documents import WrittenFloat
from gradcheck.grading.follow import Among
from gradcheck.language import Program
from gradcheck.problem import Problem

# What may change without changing a judgement. A new field of a problem counts until it is here.
WORDS = frozenset({"title", "prompt", "right", "wrong", "file", "line", "choices", "variant"})


@lru_cache(maxsize=2_000)
def fingerprint(problem: Problem) -> str:
    """A hash of all that the judge knows of a problem, and of gradcheck's version."""
    known = {f.name: getattr(problem, f.name) for f in fields(problem) if f.name not in WORDS}
    text = json.dumps([_version(), _bare(known)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def question(problem: str, part: str, answer: str) -> bytes:
    """The key of an answer, as `packed`, to a part of the problem with a fingerprint."""
    text = "\0".join((problem, part, answer))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def pack_answer(answer: Any) -> str:
    """An answer as ASCII that `unpacked` reads again: 0.30 stays another answer than 0.3."""
    return json.dumps(_tag(answer), separators=(",", ":"))


def unpack_answer(text: str) -> Any:
    """The answer that was packed."""
    return _untag(json.loads(text))


def _tag(value: Any) -> Any:
    """Numbers as they were written, mappings, and answers among others are told by a tag."""
    if isinstance(value, WrittenFloat):
        return {"written": value.written}
    if isinstance(value, Among):
        return {"among": [_tag(value.answer), _tag(value.beside)]}
    if isinstance(value, dict):
        return {"mapping": [[_tag(k), _tag(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return [_tag(entry) for entry in value]
    return value


def _untag(value: Any) -> Any:
    if isinstance(value, dict):
        if "written" in value:
            return WrittenFloat(value["written"])
        if "among" in value:
            return Among(*map(_untag, value["among"]))
        return {_untag(k): _untag(v) for k, v in value["mapping"]}
    return [_untag(entry) for entry in value] if isinstance(value, list) else value


def _bare(value: Any) -> Any:
    """Any part of a problem as JSON: programs by their text, exact numbers as fractions."""
    if isinstance(value, Program):
        return [value.source, ast.dump(value.tree)]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _bare(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _bare(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return [list(value.shape), [str(entry) for entry in value.flat]]
    if isinstance(value, list | tuple):
        return [_bare(entry) for entry in value]
    if isinstance(value, set | frozenset):
        return sorted(str(entry) for entry in value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _version() -> str:
    try:
        return version("gradcheck")
    except PackageNotFoundError:
        return ""
