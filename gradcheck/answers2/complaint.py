"""One way to refuse a typed text: at its column, with the text itself above the caret."""

from gradcheck.errors import Complaint, TextError


def refused(text: str, at: int, message: str, cure: str = "", width: int = 1) -> TextError:
    """The error to raise for a fault at character `at` (from 0) of the text."""
    return TextError(
        [Complaint(message, cure, line=1, column=at + 1, source=shown(text), width=width)]
    )


def shown(text: str) -> str:
    """The text on one line, what cannot be printed as blanks, positions kept."""
    return "".join(char if char.isprintable() else " " for char in text)


def clipped(text: str, size: int = 40) -> str:
    """The text, or its beginning when it is longer than `size`."""
    return text if len(text) <= size else text[: size - 3] + "..."
