"""Prompts: a little Markdown, mathematics between dollars; whatever else is typed stays text."""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from gradcheck.report.tex import tex

INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`|\$\$?(?P<math>[^$]+)\$\$?|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?P<em>[^*\s][^*\n]*)\*(?!\w)"
)
FENCE = re.compile(r"```[^\n]*\n(.*?)(?:\n)?```", re.DOTALL)
ITEM = re.compile(r"\s*(?:[-*]|\d+[.)])\s+")


def prose(text: str) -> Markup:
    """Paragraphs, lists, code, emphasis and mathematics; escaped, with no links and no HTML."""
    found: list[Markup] = []
    done = 0
    for fence in FENCE.finditer(text):
        found += _blocks(text[done : fence.start()])
        found.append(Markup("<pre>{}</pre>").format(fence[1]))
        done = fence.end()
    return Markup("").join([*found, *_blocks(text[done:])])


def inline(text: str) -> Markup:
    """One line's worth: code, emphasis and mathematics."""
    found: list[Markup] = []
    done = 0
    for match in INLINE.finditer(text):
        found += [escape(text[done : match.start()]), _marked(match)]
        done = match.end()
    return Markup("").join([*found, escape(text[done:])])


def _blocks(text: str) -> Iterator[Markup]:
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if lines and all(ITEM.match(line) for line in lines):
            items = (Markup("<li>{}</li>").format(inline(ITEM.sub("", x, count=1))) for x in lines)
            yield Markup("<ul>{}</ul>").format(Markup("").join(items))
        elif block:
            yield Markup("<p>{}</p>").format(inline(block))


def _marked(match: re.Match[str]) -> Markup:
    """One marked stretch as an element; mathematics that cannot be written as it was typed."""
    kind = match.lastgroup or ""
    if kind == "math":
        written = tex(match["math"])
        return Markup(written) if written else Markup("<code>{}</code>").format(match["math"])
    return Markup(f"<{kind}>{{}}</{kind}>").format(
        match[kind] if kind == "code" else inline(match[kind])
    )
