"""Files, directories and zip archives as one stream of named bytes, each read when it is needed."""

import io
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from gradcheck.batch.submissions.submission import Unreadable

STDIN = Path("-")
ENDINGS = (".yaml", ".yml", ".json", ".ipynb", ".csv", ".xlsx", ".zip")
MEMBERS = 200_000  # files in one archive: a course of 100,000 with two files each
ENTRIES = 2 * MEMBERS  # with directories, and files that are no answers
TAIL = 1 << 17  # bytes: the end of an archive with its longest comment
EXPANDED = 4_000_000_000  # bytes of all of them
RATIO = 200  # of a member of some size; deflate reaches 1000 on zeros, texts about 10
SMALL = 1_000_000  # bytes: a member below is harmless at any ratio
BROKEN = (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
PIECE = 1 << 16  # bytes read at once
LEFT_BY_SYSTEMS = ("__MACOSX",)


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


def files(paths: Iterable[Path]) -> Iterator[File | Unreadable]:
    """Every file of the paths, in order; what cannot be opened is said and passed over."""
    for path in paths:
        if path.is_dir():
            yield from _below(path, path)
        else:
            yield from _one(path, path.name)


def _below(root: Path, directory: Path) -> Iterator[File | Unreadable]:
    """What lies in a directory, sorted by name; links are not followed out of it."""
    try:
        with os.scandir(directory) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield Unreadable(str(directory), f"{directory}: {error.strerror}")
        return
    for entry in entries:
        path = Path(entry.path)
        if _ignored(entry.name):
            continue
        if entry.is_symlink():
            if path.suffix.lower() in ENDINGS:
                yield Unreadable(str(path), f"{path}: a link is not followed - copy the file there")
        elif entry.is_dir(follow_symlinks=False):
            yield from _below(root, path)
        elif path.suffix.lower() in ENDINGS and entry.is_file(follow_symlinks=False):
            yield from _one(path, path.relative_to(root).as_posix())


def _one(path: Path, below: str) -> Iterator[File | Unreadable]:
    """A file, the members of an archive, or one document from standard input."""
    if path == STDIN:
        text = sys.stdin.buffer.read()
        yield File("-", "standard-input.yaml", lambda: io.BytesIO(text))
    elif path.suffix.lower() == ".zip":
        yield from _members(path)
    else:
        yield File(str(path), below, lambda: path.open("rb"))


def _ignored(name: str) -> bool:
    return name.startswith(".") or name in LEFT_BY_SYSTEMS


# -- archives --------------------------------------------------------------------------------------


def _members(path: Path) -> Iterator[File | Unreadable]:
    """The files of an archive, in the order of their names; nothing is unpacked to the disk."""
    try:
        many = _announced(path)
        if many > ENTRIES:
            why = f"{many:,} entries in one archive, at most {ENTRIES:,} are read - split it"
            yield Unreadable(str(path), f"{path}: {why}")
            return
        with zipfile.ZipFile(path) as archive:
            wanted = [info for info in archive.infolist() if _wanted(info)]
            yield from _refused_whole(path, wanted) or (
                _member(path, archive, info) for info in sorted(wanted, key=lambda i: i.filename)
            )
    except BROKEN as error:
        yield Unreadable(str(path), f"{path}: not readable as a zip archive: {error}")


def _announced(path: Path) -> int:
    """How many entries the end of an archive announces: a million take a gigabyte to read.

    APPNOTE.TXT of PKWARE, 4.3.16 and, where two bytes do not hold the number, 4.3.14.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    count = end[at + 10 : at + 12] if at >= 0 else b""
    far = end.rfind(b"PK\x06\x06")
    if count == b"\xff\xff" and far >= 0:
        count = end[far + 32 : far + 40]
    return int.from_bytes(count, "little")


def _wanted(info: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(info.filename)
    hidden = any(_ignored(part) and part != ".." for part in path.parts)
    return not info.is_dir() and not hidden and path.suffix.lower() in ENDINGS


def _refused_whole(path: Path, wanted: list[zipfile.ZipInfo]) -> list[Unreadable]:
    """The complaint about an archive that is too much altogether."""
    total = sum(info.file_size for info in wanted)
    if len(wanted) > MEMBERS:
        why = f"{len(wanted):,} files in one archive, at most {MEMBERS:,} are read - split it"
    elif total > EXPANDED:
        why = f"{total:,} bytes when unpacked, at most {EXPANDED:,} are read - split it"
    else:
        return []
    return [Unreadable(str(path), f"{path}: {why}")]


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> File | Unreadable:
    """One file of an archive, or why it is not read."""
    name = f"{path}/{_visible(info.filename)}"
    if ".." in PurePosixPath(info.filename).parts or info.filename.startswith(("/", "\\")):
        return Unreadable(name, f"{name}: the name leads out of the archive - it is not read")
    if stat.S_ISLNK(info.external_attr >> 16):
        return Unreadable(name, f"{name}: a link is not followed - pack the file itself")
    if info.flag_bits & 1:
        return Unreadable(name, f"{name}: it is encrypted - unpack it with its password first")
    if info.file_size > SMALL and info.file_size > RATIO * max(info.compress_size, 1):
        times = info.file_size // max(info.compress_size, 1)
        return Unreadable(name, f"{name}: grows {times:,}-fold when unpacked - it is not read")
    if PurePosixPath(info.filename).suffix.lower() == ".zip":
        return Unreadable(name, f"{name}: an archive in an archive - unpack it first")
    return File(name, info.filename, lambda: archive.open(info))


def _visible(name: str) -> str:
    """A stranger's file name without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)[:300]
