"""``fstui explain`` and ``manual``: the documentation that is part of the program."""

import inspect
from collections.abc import Iterator

import click

from fstui import __version__
from fstui.cli import completion
from fstui.cli.options import format_option
from fstui.cli.output import width, write_stdout
from fstui.model.errors import Refused, hint_for

_EXIT_STATUSES = (
    ("0", "success; steps that are impossible on this storage were skipped, with the reason"),
    ("1", "a step failed, a filesystem did not respond, the run could not be saved, or something could not be removed"),
    ("2", "refused before anything was written"),
    ("3", "--fail-on VERDICT: the verdict is this one or worse; --fail-on slow: the storage is slow or stalls"),
    ("129, 130, 143", "ended by SIGHUP, SIGINT or SIGTERM; fstui judged, printed and saved what it had measured"),
    ("141", "the reader of the output closed the pipe before the end"),
)
_FILES = (
    (
        "~/.local/state/fstui/",
        "saved runs, notes, declarations, recordings, the ledger of what must be removed (XDG_STATE_HOME)",
    ),
    ("~/.config/fstui/", "keys.toml, theme.toml, scenarios of your own (XDG_CONFIG_HOME)"),
)
_ENVIRONMENT = (
    ("FSTUI_ASCII=1", "show only ASCII on a terminal"),
    ("FSTUI_MOUSE=0", "no mouse in the app, so that the terminal selects text without Shift"),
    ("FSTUI_DEBUG=1", "print a traceback of an unexpected error"),
    ("FSTUI_DB_PASSWORD", "password for an existing database server"),
    ("NO_COLOR=1", "no colours"),
)
_PAGES = {"etcd-fit": "fit", **dict.fromkeys(("slow", "not slow", "normal", "unknown"), "is-it-slow")}
"""Other names of pages: a note of old runs, and answers about speed."""
_MIN_BLANKS_IN_MESSAGE = 3
"""A text with at least this many blanks is a log message, and not a misspelled name."""


@click.command("explain")
@click.argument("words", metavar="[RULE | PAGE | WORD | MESSAGE]", nargs=-1, shell_complete=completion.pages_and_words)
@format_option("plain", "markdown")
def explain(words: tuple[str, ...], format_: str) -> None:
    """Explain a rule, a word or a log message, or show a page of the documentation.

    Without an argument, list all rules, words, log messages and pages.

    MESSAGE is a line, in quotation marks, from the log of etcd, PostgreSQL, Redis, the kernel or another program. The
    page says what the message means and what to do. It also names a command that finds out whether the disk, the CPU or
    another program is the cause.

    \b
    Examples:
      fstui explain flushes-arrive
      fstui explain supported-storage
      fstui explain "apply request took too long"
    """
    from fstui.report import explanation, glossary, symptoms  # noqa: PLC0415  slow: Markdown and the rules
    from fstui.report.text import WIDTH  # noqa: PLC0415
    from fstui.runs import rules, scenarios  # noqa: PLC0415

    documentation = explanation.documentation()
    name = " ".join(words)
    name = _PAGES.get(name.lower(), name)
    if not words:
        write_stdout(explanation.overview(None if format_ == "markdown" else width() or WIDTH))
    elif (word := glossary.find(name)) is not None and not rules.has_page(name):
        write_stdout(explanation.word_markdown(word) if format_ == "markdown" else explanation.render_word(word))
    elif text := explanation.rule_markdown(name) or documentation.get(name) or symptoms.markdown(name):
        write_stdout(text if format_ == "markdown" else explanation.plain_text(text, width() or WIDTH))
    else:
        names = (*rules.rule_names(), *documentation, *glossary.entries())
        messages = [page.name for page in symptoms.symptoms().page if name.lower() in page.product.lower().split(", ")]
        if name in scenarios.shipped_names():
            hint = f" 'fstui scenarios {name}' describes the scenario."
        elif name.count(" ") >= _MIN_BLANKS_IN_MESSAGE:
            hint = (
                " For a message of the kernel or a drive, look at 'sudo dmesg --level=err,warn', 'sudo smartctl -a "
                "DEVICE' and 'fstui list'. 'sudo fstui watch' shows whether a program waits for the disk."
            )
        else:
            hint = f" Messages of {name}: {'; '.join(messages)}." if messages else hint_for(name, names)
        raise Refused(f"no rule, page, word or message is called '{name}'.{hint} 'fstui explain' lists all names")


@click.command("manual")
@click.pass_context
def manual(ctx: click.Context) -> None:
    """Print the man page, which contains the help of every command.

    Example: fstui manual | man -l -
    """
    write_stdout("".join(f"{line}\n" for line in _page(ctx.find_root())))


def _page(root: click.Context) -> Iterator[str]:
    yield f'.TH FSTUI 1 "" "fstui {__version__}" "User Commands"'
    yield from (".nh", ".ad l")  # no hyphens that are not part of a command
    yield from (".SH NAME", r"fstui \- is an acknowledged write durable, and is the storage slow?")
    yield from (".SH SYNOPSIS", rf"\fB{_escape(root.command_path)}\fR {_escape(_usage(root))}")
    yield ".SH DESCRIPTION"
    yield from _help(root.command)
    yield ".SH OPTIONS"
    yield from _options(root)
    yield ".SH COMMANDS"
    for ctx in _subcommands(root):
        yield f".SS {_escape(ctx.command_path)} {_escape(_usage(ctx))}"
        yield from _help(ctx.command)
        yield from _options(ctx)
    yield from _definitions("EXIT STATUS", _EXIT_STATUSES)
    yield from _definitions("FILES", _FILES)
    yield from _definitions("ENVIRONMENT", _ENVIRONMENT)


def _subcommands(parent: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of all commands below this one, each before its own subcommands."""
    group = parent.command
    for name in group.list_commands(parent) if isinstance(group, click.Group) else ():
        command = group.get_command(parent, name) if isinstance(group, click.Group) else None
        if command is not None and not command.hidden:
            ctx = click.Context(command, parent=parent, info_name=name)
            yield ctx
            yield from _subcommands(ctx)


def _usage(ctx: click.Context) -> str:
    return " ".join(ctx.command.collect_usage_pieces(ctx))


def _help(command_: click.Command) -> Iterator[str]:
    """Yield the paragraphs of the help. One that starts with a backspace, as click requires, keeps its lines."""
    for paragraph in inspect.cleandoc(command_.help or "").split("\n\n"):
        before, backspace, lines = paragraph.partition("\b\n")
        if backspace and not before:
            yield from (".PP", ".nf", *map(_escape, lines.splitlines()), ".fi")
        else:
            yield from (".PP", _escape(" ".join(paragraph.split())))


def _options(ctx: click.Context) -> Iterator[str]:
    for param in ctx.command.get_params(ctx):
        if (record := param.get_help_record(ctx)) and record[1] and (param.name != "help" or not ctx.parent):
            # a line may break after each choice
            name = _escape(record[0]).replace("|", r"|\:")
            yield from (".TP", rf"\fB{name}\fR", _escape(" ".join(record[1].split())))


def _definitions(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows:
        yield from (".TP", rf"\fB{_escape(name)}\fR", _escape(meaning))


def _escape(text: str) -> str:
    """Escape text for roff, so that dashes can be copied and no line is a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
