"""``fstui manual``: the man page, from the same declarations as the help (man(7) macros)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from fstui import __version__
from fstui.cli.output import put

_ENDS = (
    ("0", "done; a step that is impossible here was skipped with its reason"),
    ("1", "a step failed, the run could not be saved, or something could not be removed"),
    ("2", "refused before a byte was written"),
    ("3", "the verdict is that of --fail-on, or worse"),
    ("129, 130, 143", "ended by SIGHUP, SIGINT, SIGTERM; what was measured is judged, printed and saved"),
)
_FILES = (
    ("~/.local/state/fstui/", "runs, notes, the ledger of what is to be removed, declarations (XDG_STATE_HOME)"),
    ("~/.config/fstui/", "keys.toml, theme.toml, scenarios of one's own (XDG_CONFIG_HOME)"),
)
_ENVIRONMENT = (
    ("FSTUI_ASCII=1", "nothing but ASCII on the screens"),
    ("FSTUI_MOUSE=0", "no mouse in the app: the terminal selects text without Shift"),
    ("FSTUI_DEBUG=1", "where a fault of fstui's own came from"),
    ("NO_COLOR=1", "no colours"),
)


@click.command("manual")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Print the man page: 'fstui manual | man -l -' shows it."""
    put("".join(f"{line}\n" for line in _page(ctx.find_root())))


def _page(root: click.Context) -> Iterator[str]:
    yield f'.TH FSTUI 1 "" "fstui {__version__}" "User Commands"'
    yield from (".SH NAME", r"fstui \- does this storage keep its word, and how fast?")
    yield from (".SH SYNOPSIS", rf"\fB{_safe(root.command_path)}\fR {_safe(' '.join(_usage(root)))}")
    yield ".SH DESCRIPTION"
    yield from _help(root.command)
    yield from _options(root)
    yield ".SH COMMANDS"
    for ctx in _below(root):
        yield from _command(ctx)
    yield from _listed("EXIT STATUS", _ENDS)
    yield from _listed("FILES", _FILES)
    yield from _listed("ENVIRONMENT", _ENVIRONMENT)


def _below(above: click.Context) -> Iterator[click.Context]:
    """Every command, each before its own sub-commands."""
    group = above.command
    for name in group.list_commands(above) if isinstance(group, click.Group) else ():
        found = group.get_command(above, name) if isinstance(group, click.Group) else None
        if found is not None:
            ctx = click.Context(found, parent=above, info_name=name)
            yield ctx
            yield from _below(ctx)


def _command(ctx: click.Context) -> Iterator[str]:
    yield f".SS {_safe(ctx.command_path)} {_safe(' '.join(_usage(ctx)))}"
    yield from _help(ctx.command)
    yield from _options(ctx)


def _usage(ctx: click.Context) -> list[str]:
    return ctx.command.collect_usage_pieces(ctx)


def _help(command_: click.Command) -> Iterator[str]:
    """Paragraphs, as the help has them; after click's mark of one that keeps its lines (a backspace), its lines."""
    for paragraph in inspect.cleandoc(command_.help or "").split("\n\n"):
        mark, kept, lines = paragraph.partition("\b\n")
        if kept and not mark:
            yield from (".PP", ".nf", *map(_safe, lines.splitlines()), ".fi")
        else:
            yield from (".PP", _safe(" ".join(paragraph.split())))


def _options(ctx: click.Context) -> Iterator[str]:
    for param in ctx.command.get_params(ctx):
        if (record := param.get_help_record(ctx)) and record[1]:
            yield from (".TP", rf"\fB{_safe(record[0])}\fR", _safe(" ".join(record[1].split())))


def _listed(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, words in rows:
        yield from (".TP", rf"\fB{_safe(name)}\fR", _safe(words))


def _safe(text: str) -> str:
    """As roff prints it: a dash that can be copied, and no line of the text is a request."""
    escaped = re.sub(r"[\\-]", lambda found: rf"\{'e' if found[0] == chr(92) else '-'}", text)
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
