"""The pages of `gradcheck help`, which are the pages of the site too.

What a page lists is read off the tables when it is shown.
"""

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.resources import files

import click

SECTIONS = {
    "Tutorials": ("student", "instructor", "engineer"),
    "How to": (
        *("problems", "variants", "generate", "forms", "batches", "lessons", "python"),
        *("notebooks", "server", "cluster", "add-an-op", "add-a-mistake"),
    ),
    "Reference": ("commands", "answers", "language", "marking", "json", "api", "versions"),
    "Explanation": ("why", "limits", "compared", "wild"),
}
TOPICS = tuple(topic for topics in SECTIONS.values() for topic in topics)
PROMISED = {
    "gradcheck.testing": (
        *("assert_gradient", "assert_vjp", "assert_jvp", "assert_hessian", "check", "check_table"),
        *("Result", "GradientError"),
    ),
    "gradcheck": ("tensor", "grad", "no_grad", "Function", "manual_seed"),
    "gradcheck.practice": ("next_problem",),
}


def read_page(topic: str, group: click.Group) -> str:
    """Read the Markdown of a page, its lists filled in; `group` has the commands."""
    text = (files("gradcheck") / "help" / f"{topic}.md").read_text(encoding="utf-8")
    return fill_lists(text, group, _list_promised)


def fill_lists(text: str, group: click.Group, write_api: Callable[[], str]) -> str:
    """Put a list in the place of each comment that stands for one."""
    lists = {
        "ops": _list_ops,
        "mistakes": _list_mistakes,
        "commands": lambda: _describe_commands(group),
        "keys": _describe_keys,
        "api": write_api,
    }
    for name, write in lists.items():
        comment = f"<!-- {name} -->"
        if comment in text:
            text = text.replace(comment, write())
    return text


def _list_ops() -> str:
    from gradcheck.ops import TABLE  # noqa: PLC0415

    return _list_names(TABLE)


def _list_mistakes() -> str:
    from gradcheck.problem.model import list_mistake_ids  # noqa: PLC0415

    return _list_names(list_mistake_ids())


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _list_promised() -> str:
    lines = []
    for module, names in PROMISED.items():
        home = import_module(module)
        lines += [f"## `{module}`", ""]
        for name in names:
            first = (inspect.getdoc(getattr(home, name)) or "").partition("\n")[0]
            lines.append(f"- `{name}`: {first}")
        lines.append("")
    return "\n".join(lines).rstrip()


def _describe_commands(group: click.Group) -> str:
    texts = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        context = click.Context(command, info_name=f"gradcheck {name}")
        usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
        texts += [f"## {name}", inspect.cleandoc(command.help or ""), f"```text\n{usage}\n```"]
        options = [record for p in command.params if (record := p.get_help_record(context))]
        if options:
            rows = [f"| `{names}` | {says} |" for names, says in options]
            texts.append("\n".join(("| option | meaning |", "|---|---|", *rows)))
        if command.epilog:
            texts.append(f"```text\n{inspect.cleandoc(command.epilog)}\n```")
    return "\n\n".join(texts)


def _describe_keys() -> str:
    from gradcheck.problem.model import make_schema  # noqa: PLC0415

    texts = []
    titles = {
        "ProblemModel": "Keys of a problem",
        "InputModel": "Keys of an input",
        "ProgramModel": "Keys of a question for a program",
        "WrongModel": "Keys of a wrong answer",
    }
    for model, title in titles.items():
        rows = [
            f"| `{key}` | {what.get('description', '').replace('|', chr(92) + '|')} |"
            for key, what in make_schema()["$defs"][model]["properties"].items()
        ]
        texts += [f"### {title}", "\n".join(("| key | meaning |", "|---|---|", *rows))]
    return "\n\n".join(texts)
