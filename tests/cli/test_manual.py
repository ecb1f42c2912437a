"""The man page as it is printed, and the examples in it."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from fstui.cli.commands import group
from fstui.cli.documentation import _page, _subcommands

ROOT = click.Context(group, info_name="fstui")
COLUMNS = 73
"""What is left of 80 after the margin of a section in man(7)."""


def examples() -> Iterator[str]:
    """Yield each command line of the help, without what is not fstui's own."""
    for ctx in (ROOT, *_subcommands(ROOT)):
        paragraphs = re.sub(r"\\\n +", "", ctx.command.help or "").split("\n\n")
        verbatim = [paragraph for paragraph in paragraphs if paragraph.lstrip(" \n").startswith(("\b", "Example: "))]
        for line in "\n".join(verbatim).splitlines():
            if found := re.match(
                r" *(?:Example: |sudo |ssh (?:\S*Interval=2 )?HOST )*(fstui .*?)(?: {3,}.*| [|<>].*)?$", line
            ):
                yield found[1]


EXAMPLES = list(examples())


def test_examples_are_found() -> None:
    assert len(EXAMPLES) > 60


@pytest.mark.parametrize("line", EXAMPLES)
def test_example_has_options_that_exist(line: str) -> None:
    ctx, words = ROOT, shlex.split(line)[1:]
    while words and isinstance(ctx.command, click.Group) and (command := ctx.command.get_command(ctx, words[0])):
        ctx, words = click.Context(command, parent=ctx, info_name=words[0]), words[1:]
    ctx.command.make_parser(ctx).parse_args(words)


def test_verbatim_lines_fit_into_80_columns() -> None:
    verbatim, wide = False, []
    for line in _page(ROOT):
        verbatim = line == ".nf" or (verbatim and line != ".fi")
        if verbatim and len(line.replace("\\-", "-")) > COLUMNS:
            wide.append(line)
    assert wide == []
