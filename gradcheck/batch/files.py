"""Files, directories and zip archives as one stream of named bytes, each read when it is needed."""

import io
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from gradcheck.report.findings import visible

STDIN = Path("-")
ENDINGS = (".yaml", ".yml", ".json", ".ipynb", ".csv", ".xlsx", ".zip")
MEMBERS = 200_000  # files in one archive: a course of 100,000 with two files each
EXPANDED = 4_000_000_000  # bytes of all of them
RATIO = 200  # of a member of some size; deflate reaches 1000 on zeros, texts about 10
SMALL = 1_000_000  # bytes: a member below is harmless at any ratio
BROKEN = (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
PIECE = 1 << 16  # bytes read at once
LEFT_BY_SYSTEMS = ("__MACOSX", "Thumbs.db", "desktop.ini")
NAMED, LONGEST = 5, 300  # files in a notice, characters of a name


@dataclass(frozen=True)
class Notice:
    """What is said of a file or a row; `grave` where nobody is graded by it."""

    why: str
    grave: bool = True


@dataclass(frozen=True)
class File:
    """A file to be read: `name` tells people, `path` is its name below the directory or archive."""

    name: str
    path: str
    open: Callable[[], IO[bytes]]

    @property
    def ending(self) -> str:
        """`.yaml` of `Ada.YAML`."""
        return PurePosixPath(self.path).suffix.lower()

    @property
    def stem(self) -> str:
        """`ada` of `week-1/ada.yaml`: the student, where nothing else names one."""
        return PurePosixPath(self.path).stem

    def read(self, limit: int) -> bytes:
        """At most one byte more than the limit, so that too much is seen.

        In pieces: room for the limit is not made for every small file.
        """
        content = bytearray()
        with self.open() as stream:
            while len(content) <= limit and (piece := stream.read(min(PIECE, limit + 1))):
                content += piece
        return bytes(content[: limit + 1])


def files(paths: Iterable[Path]) -> Iterator[File | Notice]:
    """Every file of the paths, in order; what cannot be opened is said and passed over."""
    for path in paths:
        others: list[str] = []
        if path.is_dir():
            yield from _below(path, others)
        else:
            yield from _one(path, path.name, others)
        if others:
            words = f"not read, for their kind is none of {' '.join(ENDINGS)}"
            named = list_names(list(map(visible, others)))
            yield Notice(f"{path}: {words}: {named}", grave=False)


def list_names(names: Sequence[str], most: int = NAMED, between: str = ", ") -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def _below(root: Path, others: list[str]) -> Iterator[File | Notice]:
    """What lies in a directory, sorted by name; links are not followed out of it.

    The names of files of other kinds are put into `others`.
    """
    failed: list[OSError] = []
    walked = os.walk(root, onerror=failed.append)
    for path in sorted(Path(folder, name) for folder, _, names in walked for name in names):
        below = path.relative_to(root)
        if any(map(_is_ignored, below.parts)):
            continue
        if path.suffix.lower() not in ENDINGS:
            others.append(below.as_posix())
        elif path.is_symlink():
            yield Notice(f"{path}: a link is not followed - copy the file there")
        elif path.is_file():
            yield from _one(path, below.as_posix(), others)
    yield from (Notice(f"{error.filename}: {error.strerror}") for error in failed)


def _one(path: Path, below: str, others: list[str]) -> Iterator[File | Notice]:
    """A file, the members of an archive, or one document from standard input."""
    if path == STDIN:
        text = sys.stdin.buffer.read()
        yield File("-", "standard-input.yaml", lambda: io.BytesIO(text))
    elif path.suffix.lower() == ".zip":
        yield from _members(path, others)
    else:
        yield File(str(path), below, lambda: path.open("rb"))


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name in LEFT_BY_SYSTEMS


def _members(path: Path, others: list[str]) -> Iterator[File | Notice]:
    """The files of an archive, in the order of their names; nothing is unpacked to the disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            wanted = []
            for info in archive.infolist():
                name = PurePosixPath(info.filename)
                if info.is_dir() or any(_is_ignored(part) and part != ".." for part in name.parts):
                    continue
                if name.suffix.lower() in ENDINGS:
                    wanted.append(info)
                else:
                    others.append(info.filename)
            total = sum(info.file_size for info in wanted)
            if len(wanted) > MEMBERS:
                why = f"{len(wanted):,} files in one archive, at most {MEMBERS:,} are read"
                yield Notice(f"{path}: {why} - split it")
            elif total > EXPANDED:
                why = f"{total:,} bytes when unpacked, at most {EXPANDED:,} are read"
                yield Notice(f"{path}: {why} - split it")
            else:
                for info in sorted(wanted, key=lambda info: info.filename):
                    yield _member(path, archive, info)
    except BROKEN as error:
        yield Notice(f"{path}: not readable as a zip archive: {error}")


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> File | Notice:
    name = f"{path}/{visible(info.filename)[:LONGEST]}"
    inside = PurePosixPath(info.filename)
    times = info.file_size // max(info.compress_size, 1)
    refused = {
        "the name leads out of the archive - it is not read": ".." in inside.parts
        or info.filename.startswith(("/", "\\")),
        "a link is not followed - pack the file itself": stat.S_ISLNK(info.external_attr >> 16),
        "it is encrypted - unpack it with its password first": info.flag_bits & 1,
        f"grows {times:,}-fold when unpacked - it is not read": info.file_size > SMALL
        and times >= RATIO,
        "an archive in an archive - unpack it first": inside.suffix.lower() == ".zip",
    }
    if why := next((words for words, true in refused.items() if true), ""):
        return Notice(f"{name}: {why}")
    return File(name, info.filename, lambda: archive.open(info))
