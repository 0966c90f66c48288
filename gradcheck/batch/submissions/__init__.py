"""What students handed in, read lazily and without running anything."""

from gradcheck.batch.submissions.read import Read, Reading, submissions
from gradcheck.batch.submissions.submission import Notice, Submission, Unreadable, read_names
from gradcheck.batch.submissions.tables import Mapped, Roster, moment, read_mapping, read_roster

__all__ = [
    "Mapped",
    "Notice",
    "Read",
    "Reading",
    "Roster",
    "Submission",
    "Unreadable",
    "moment",
    "read_mapping",
    "read_names",
    "read_roster",
    "submissions",
]
