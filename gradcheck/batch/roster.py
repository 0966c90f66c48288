"""Who the students are: names as they are kept, names in those of files, and the roster."""

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradcheck.documents.table import read_table
from gradcheck.errors import Complaint, GradcheckError, TextError
from gradcheck.problem.draw import fold_name, list_spellings

LONGEST = 200  # characters of a student's name: e-mail addresses, the longest in use, fit
# Control characters and the marks that turn the direction of the text around them (Trojan source).
BARRED = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
WORDS = frozenset({"name", "section", "code"})  # columns that tell something, and name nobody
# Nor do those of a gradebook that hold points: `Week 1 (9001)`, `Final Score`.
POINTS = re.compile(r".*(?:\(\d+\)|\b(?:scores?|grades?|points|total)\b.*)")
NOBODY = "points possible"  # the line below the headers of Canvas's gradebook


class NoName(GradcheckError):
    """A student's name that cannot be used; the message says why."""


def normalize_name(written: str) -> str:
    """A name as it is kept: composed (NFC), single spaces; NoName if it is none."""
    name = " ".join(unicodedata.normalize("NFC", written).split())
    if not name:
        raise NoName("the student's name is empty")
    if len(name) > LONGEST:
        raise NoName(f"a student's name of {len(name):,} characters, at most {LONGEST} are read")
    for letter in name:
        if letter in BARRED or unicodedata.category(letter) in ("Cc", "Cs"):
            raise NoName(f"the character U+{ord(letter):04X} in a student's name")
    return name


# Canvas: `doejane_12345_678_homework.yaml`, `doejane_LATE_12345_678_homework-1.yaml`; the first
# number is the user's, as in the column `ID` of its gradebook. Moodle: `Jane Doe_12345_assign...`,
# with the participant's number, as in `Participant 12345` of its grading sheet. Names may be
# shared by two students, numbers never are: these are the students' names in a batch.
PRESETS = {
    "canvas": r"(?:^|/)(?P<called>[^/_]+)_(?P<late>LATE_)?(?P<student>\d+)_\d+_[^/]*$",
    "moodle": r"(?:^|/)(?P<called>[^/_]+)_(?P<student>\d+)_assignsubmission_[a-z]+_?[^/]*(?:/|$)",
}


def read_names(written: str) -> re.Pattern[str]:
    """A preset, or a regular expression with the group `student`, perhaps `called` and `late`.

    ValueError says what is wrong with it.
    """
    try:
        pattern = re.compile(PRESETS.get(written, written))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "student" not in pattern.groupindex:
        presets = ", ".join(PRESETS)
        raise ValueError(f"write {presets}, or a regular expression with (?P<student>...)")
    return pattern


@dataclass(frozen=True)
class Roster:
    """What people call each student, and the student of every other name: a number, an address.

    `codes` are those that a student says beside the name, on pages; `twice` are students who stand
    in two rows.
    """

    called: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    twice: tuple[str, ...] = ()

    def owner(self, stem: str, *, whole: bool = False) -> str | None:
        """The one student whose name, or another, is in that of a file, or is the `whole` of it."""
        if not whole and (found := self._find(stem)) is not None:
            return found
        words = _split_words(stem)
        near = [each for word in words for each in self._by_word.get(word, ())]
        fits = {s for name, s in near if words == name}
        if len(fits) > 1:  # `Jo Ann` and `Jo-Ann`
            fits = {s for s in fits if fold_name(stem) in map(fold_name, (s, self.called[s]))}
        fits = fits if fits or whole else {s for name, s in near if words >= name}
        return fits.pop() if len(fits) == 1 else None

    @functools.cached_property
    def _by_word(self) -> dict[str, list[tuple[frozenset[str], str]]]:
        """The words of every name, and its student, under one of them."""
        found: dict[str, list[tuple[frozenset[str], str]]] = {}
        called = ((name, student) for student, name in self.called.items())
        for name, student in (*self.names.items(), *called):
            if words := _split_words(name):
                found.setdefault(min(words), []).append((words, student))
        return found

    def student(self, name: str) -> str:
        """Who goes by a name: the student of the roster, or the name itself."""
        return self._find(name) or name

    def _find(self, name: str) -> str | None:
        known = {name: name} if name in self.called else self.names
        return next((known[each] for each in list_spellings(name) if each in known), None)


def _split_words(name: str) -> frozenset[str]:
    """The words of a name, without accents, however they are ordered and parted."""
    letters = unicodedata.normalize("NFKD", fold_name(name))
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return frozenset(re.findall(r"[^\W_]+", bare))


def read_roster(path: Path) -> Roster:
    """A table with a column `student`; every other but `name` and `section` names students, too.

    What two of them share names neither: students of one name are told apart by what comes next.
    Canvas's gradebook is such a table: points name nobody.
    """
    table = read_table(path.read_bytes(), str(path)).rows
    headers = [header.strip().lower() for header in next(table, (0, list[str]()))[1]]
    if "student" not in headers:
        came = ", ".join(f"`{name}`" for name in headers) or "nothing"
        words = f"a column `student` was expected, {came} came"
        raise TextError([Complaint(words, "call it so", str(path), 1)])
    called: dict[str, str] = {}
    codes: dict[str, str] = {}
    owners: defaultdict[tuple[int, str], set[str]] = defaultdict(set)
    twice: list[str] = []
    people = []
    naming = {h for h in headers if h not in WORDS and not POINTS.fullmatch(h)}
    for line, row in table:
        cells = dict(zip(headers, row, strict=False))
        named = {h: cell for h, cell in cells.items() if h in naming and cell.strip()}
        other = next((cell for header, cell in named.items() if header != "student"), "")
        people.append((line, cells, named, (fold_name(cells.get("student", "")), other)))
    times = Counter(folded for folded, _ in {who for *_, who in people})
    for line, cells, named, (folded, other) in people:
        if folded in ("", NOBODY):
            continue
        more = f" ({other})" if times[folded] > 1 and other else ""
        try:
            student = normalize_name(cells["student"] + more)
        except NoName as error:
            words = f"not readable as a roster: {error}"
            raise TextError([Complaint(words, "", str(path), line)]) from None
        twice += [student] if student in called else []
        called[student] = cells.get("name", "")
        codes[student] = cells.get("code", "").strip()
        for cell in named.values():
            for place in enumerate(list_spellings(cell)[1:]):
                owners[place].add(student)
    alike = sorted(owners.items(), key=lambda each: -each[0][0])  # what is written so comes last
    names = {name: min(found) for (_, name), found in alike if len(found) == 1}
    return Roster(called, names, codes, tuple(twice))
