"""The commands by name. If the first word is not a command, it is the directory that the app opens."""

import importlib
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from fstui import __version__
from fstui.cli import completion
from fstui.cli.options import simulate_option, trust_option
from fstui.cli.terminal import start
from fstui.model.errors import Refused, hint_for

SECTIONS = {
    "Measure": {
        "list": ("host", "List filesystems, devices, and faults in their configuration."),
        "check": ("host", "Test every writable filesystem, about four seconds each."),
        "fit": ("host", "Measure whether storage is fast enough, for example for etcd."),
        "scenarios": ("catalog", "List the scenarios: what each measures and writes."),
        "run": ("run", "Run a scenario in a directory and judge the storage below it."),
        "watch": ("watch", "Show which programs wait for which files, and why."),
        "record": ("recording", "Record storage activity, for a later 'what-happened'."),
        "what-happened": ("recording", "Show which program waited for what at a past time, and why."),
        "powercut": ("powercut", "Test durability with a power cut and a second machine."),
        "fleet": ("fleet", "Run fstui on many hosts, and compare the hosts."),
        "clean": ("host", "Remove what earlier runs left behind."),
    },
    "Saved runs": {
        "history": ("saved", "List the saved runs."),
        "show": ("saved", "Print a saved run, or judge it again with the current rules."),
        "replay": ("saved", "Play a saved run again on the screen."),
        "compare": ("saved", "Compare saved runs."),
        "references": ("catalog", "List the rates that runs are compared with."),
    },
    "Documentation": {
        "explain": ("documentation", "Explain a rule, a word or a log message, or show a page."),
        "manual": ("documentation", "Print the man page."),
        "completion": ("completion", "Print or install completion for bash, zsh and fish."),
        "schema": ("catalog", "Print the JSON Schema of one kind of JSON output."),
    },
    "For classes": {
        "lessons": ("teaching", "Learn on simulated disks what makes data durable."),
        "serve": ("serve", "Serve the app to browsers, on simulated disks, for a class."),
        "lab": ("teaching", "Create real storage with known faults, for a class."),
    },
}
"""The module and the help line of each command. So --help does not import the commands."""

COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}

OLD_NAMES = {"judge": ("show", "--again"), "simulate": ("lessons", "--disks")}
"""Commands that still work but are not in the help, and the words that replace each."""

_REPLACEMENTS = {"plan": "run SCENARIO DIR --plan", "trend": "history trend"}
"""Words that users try as a command, and the command line to use instead."""

SIMULATE_COMMANDS = frozenset({"check", "fit", "list", "run", "serve", "watch"})

APP = "DIR"
"""The name of the app as a click command. It is not in COMMANDS, so ``fstui DIR`` can open a directory of this name."""


class Commands(click.Group):
    """Imports a command when it is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat ``fstui help run`` like ``fstui run --help``."""
        if args[:1] == ["help"]:
            if args[1:] and args[1] not in COMMANDS.keys() | OLD_NAMES:
                raise click.UsageError(f"No command is called {args[1]!r}.{suggestion(args[1])}", ctx)
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"fstui.cli.{COMMANDS[cmd_name][0]}")
        commands = (value for value in vars(module).values() if isinstance(value, click.Command))
        return next(command for command in commands if command.name == cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands with their help lines, options after a dash, and directories if the word can be one."""
        if incomplete[:1] in ("-", ".", "/", "~"):
            return [*super().shell_complete(ctx, incomplete), *completion.directories(ctx, self.params[0], incomplete)]
        return [
            CompletionItem(name, help=words) for name, (_, words) in COMMANDS.items() if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = [*OLD_NAMES.get(args[0], args[:1]), *args[1:]]
        return super().resolve_command(ctx, args) if args[0] in COMMANDS else (APP, app, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), words) for name, (_, words) in section.items()])


class App(click.Command):
    """Suggests a command if the arguments are wrong: the first word may be a mistyped command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        word, wants_help = args[0] if args else "", {"-h", "--help"} & set(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if hint := suggestion(word):
                raise click.UsageError(f"No command is called {word!r}.{hint}", ctx) from error
            if not Path(word).is_dir():
                raise click.UsageError(f"No command and no directory is called {word!r}.", ctx) from error
            if ctx.parent and wants_help:  # the help of fstui describes DIR
                click.echo(ctx.parent.get_help())
                ctx.exit()
            raise


def suggestion(word: str) -> str:
    """Return a sentence, with a leading space, that names a similar command; an empty string if there is none."""
    if word in _REPLACEMENTS:
        return f" Did you mean 'fstui {_REPLACEMENTS[word]}'?"
    return hint_for(word, COMMANDS).replace("'", "'fstui ", 1)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="[DIR] | COMMAND …",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", "-V", prog_name="fstui", message="%(prog)s %(version)s")
@trust_option
@simulate_option
@click.pass_context
def group(ctx: click.Context, trust_dir: bool, simulate: str | None) -> object:
    """Is an acknowledged write on this storage durable, and is the storage slow?

    Without a command, fstui starts the terminal app. With DIR, the app shows what a run in that directory would do.

    \b
    Examples:
      fstui                             the app
      fstui check                       measure and judge every filesystem
      fstui run fsync-rate /srv/data    one scenario in one directory
    """
    if simulate is not None and ctx.invoked_subcommand in COMMANDS.keys() - SIMULATE_COMMANDS:
        raise Refused(f"--simulate works with the app and with {', '.join(sorted(SIMULATE_COMMANDS))}")
    return None if ctx.invoked_subcommand else start(trust_directory=trust_dir, simulate=simulate)


@click.command(APP, cls=App, add_help_option=False)
@click.argument("directory", metavar="[DIR]", required=False, shell_complete=completion.directories)
@trust_option
@simulate_option
def app(directory: str | None, trust_dir: bool, simulate: str | None) -> int:
    """Start the terminal app with the plan for DIR."""
    return start(directory, trust_directory=trust_dir, simulate=simulate)
