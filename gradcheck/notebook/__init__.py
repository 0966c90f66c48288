"""Notebooks: tensors, verdicts and diagnoses shown as such, and `%%gradcheck` to practise."""

from typing import Any

from gradcheck.notebook.displays import HTML, LATEX
from gradcheck.notebook.magic import Practice

__all__ = ["register"]


def register(shell: Any) -> None:
    """Teach an IPython shell the magics and how our objects look; nothing is imported for it."""
    for mime, displays in (("text/html", HTML), ("text/latex", LATEX)):
        formatter = shell.display_formatter.formatters[mime]
        for (module, name), shown in displays.items():
            formatter.for_type_by_name(module, name, shown)
    practice = Practice(shell)
    shell.register_magic_function(practice.open, "line", "gradcheck")
    shell.register_magic_function(practice.answer, "cell", "gradcheck")
