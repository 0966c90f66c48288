"""What students handed in, read lazily and without running anything."""

from gradcheck.batch.submissions.names import read_names
from gradcheck.batch.submissions.read import Read, Reading, submissions
from gradcheck.batch.submissions.roster import Roster, read_roster
from gradcheck.batch.submissions.submission import Notice, Submission, Unreadable
from gradcheck.batch.submissions.tables import Mapped, moment, read_mapping

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
