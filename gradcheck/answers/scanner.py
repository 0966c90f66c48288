"""A place in a typed text and the tokens before it; readers of signs, words and LaTeX move it.

Limits: 500 tokens, names of 32 characters.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from gradcheck.answers.complaint import refused

TOKENS, NAME = 500, 32
GROUP = -1


class Token(NamedTuple):
    """A piece of the text: kind, plain spelling, place, and whether a blank precedes it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False


@dataclass
class Scanner:
    """A place in the text, the tokens before it, and the LaTeX arguments still to come.

    `waiting` is a stack: GROUP for an open brace, else how many arguments a command still needs.
    """

    text: str
    at: int
    stop: int
    tokens: list[Token] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    spaced: bool = False

    def put(self, kind: str, text: str, width: int) -> None:
        """Append the token of `width` characters that starts here, and step over it."""
        if len(self.tokens) >= TOKENS:
            raise refused(
                self.text, self.at, f"more than {TOKENS} signs and names", "simplify it first"
            )
        self.tokens.append(Token(kind, text, self.at, self.at + width, self.spaced))
        self.at += width
        self.spaced = False

    def name(self, word: str, width: int, cure: str) -> None:
        """Append a name of `width` characters, unless it is longer than names are."""
        if len(word) > NAME:
            message = f"a name of {len(word)} letters: at most {NAME} are read"
            raise refused(self.text, self.at, message, cure, width)
        self.put("name", word, width)

    def argument(self) -> bool:
        """Whether an argument of a LaTeX command is due here."""
        return bool(self.waiting) and self.waiting[-1] > 0

    def served(self) -> None:
        """Forget the commands that have got all their arguments."""
        while self.waiting and self.waiting[-1] == 0:
            self.waiting.pop()
