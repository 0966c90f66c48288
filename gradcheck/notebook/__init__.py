"""Notebooks: `%gradcheck` asks a problem, a `%%gradcheck` cell answers."""

from typing import Any

from gradcheck.notebook.magic import NotebookPractice

__all__ = ["register"]


def register(shell: Any) -> None:
    """Teach an IPython shell the magics."""
    practice = NotebookPractice(shell)
    shell.register_magic_function(practice.open, "line", "gradcheck")
    shell.register_magic_function(practice.answer, "cell", "gradcheck")
