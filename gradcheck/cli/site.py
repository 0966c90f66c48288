"""The pages of help as a site: what MkDocs calls while it builds (`gradcheck/mkdocs.yml`)."""

from typing import Any

from gradcheck.cli import main
from gradcheck.help import PROMISED, SECTIONS, fill_lists


def on_config(config: Any) -> Any:
    """Give MkDocs the pages in the order of their sections."""
    config.nav = [
        {"gradcheck": "index.md"},
        *({title: [f"{topic}.md" for topic in topics]} for title, topics in SECTIONS.items()),
    ]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the lists of a page; the API is written out from its docstrings."""
    return fill_lists(markdown, main, _direct_to_docstrings)


def _direct_to_docstrings() -> str:
    return "\n\n".join(
        f"::: {module}.{name}" for module, names in PROMISED.items() for name in names
    )
