"""A source line with the place underlined, as a compiler shows it."""

from gradcheck.errors import window


def underlined(source: str, span: tuple[int, int] | None, indent: str = "      ") -> list[str]:
    """The source line of a span with the span underlined, as a compiler shows it."""
    if span is None or not source:
        return []
    start = source.rfind("\n", 0, span[0]) + 1
    end = source.find("\n", span[0])
    line = source[start : end if end >= 0 else len(source)]
    dedent = len(line) - len(line.lstrip())
    column = span[0] - start - dedent
    width = max(1, min(span[1] - span[0], len(line) - dedent - column))
    shown, first, last = window(line.strip(), column, column + width)
    return [indent + shown, indent + " " * first + "~" * (last - first)]
