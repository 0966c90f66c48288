"""What students handed in, read lazily and without running anything."""

from gradcheck.batch.submissions.names import read_names
from gradcheck.batch.submissions.read import Read, Reading, submissions
from gradcheck.batch.submissions.submission import Notice, Submission, Unreadable
from gradcheck.batch.submissions.tables import Mapped, read_mapping, roster

__all__ = [
    "Mapped",
    "Notice",
    "Read",
    "Reading",
    "Submission",
    "Unreadable",
    "read_mapping",
    "read_names",
    "roster",
    "submissions",
]
