"""`gradcheck help TOPIC`: pages kept as Markdown; what they list is read off the tables."""

from collections.abc import Iterable
from importlib.resources import files

from rich.markdown import Markdown

from gradcheck.commands.screen import screen


def show_help(topic: str) -> None:
    """A page well set on a terminal; as it is in a pipe."""
    out, text = screen(), page(topic)
    if out.is_terminal:
        out.print(Markdown(text, code_theme="ansi_dark"))
    else:
        print(text, end="")


def page(topic: str) -> str:
    """The Markdown of a page, its lists filled in."""
    text = (files("gradcheck") / "help" / f"{topic}.md").read_text(encoding="utf-8")
    if "<!-- ops -->" in text:
        from gradcheck.ops import TABLE  # noqa: PLC0415

        text = text.replace("<!-- ops -->", _listed(TABLE))
    if "<!-- mistakes -->" in text:
        from gradcheck.mistakes import CATALOGUE  # noqa: PLC0415
        from gradcheck.mistakes.training import TRAINING  # noqa: PLC0415
        from gradcheck.mistakes.typing import TYPING  # noqa: PLC0415

        ids = {row.id for row in (*CATALOGUE, *TRAINING, *TYPING)}
        text = text.replace("<!-- mistakes -->", _listed(ids))
    return text


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
