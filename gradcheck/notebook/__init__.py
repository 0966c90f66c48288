"""Notebooks: tensors, verdicts and diagnoses shown as such, and `%%gradcheck` to practise."""

from typing import Any

from gradcheck.notebook.displays import HTML
from gradcheck.notebook.magic import NotebookPractice

__all__ = ["register"]


def register(shell: Any) -> None:
    """Teach an IPython shell the magics and how our objects look; nothing is imported for it."""
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), shown in HTML.items():
        formatter.for_type_by_name(module, name, shown)
    practice = NotebookPractice()
    shell.register_magic_function(practice.open, "line", "gradcheck")
    shell.register_magic_function(practice.answer, "cell", "gradcheck")
