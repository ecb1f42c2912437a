"""The sub-commands by name. What is not one of them is the directory that the app opens with."""

from __future__ import annotations

import importlib

import click
from click.shell_completion import CompletionItem

from fstui import __version__
from fstui.cli import completing
from fstui.cli.options import simulate_option, trust_option
from fstui.cli.terminal import start
from fstui.model.errors import Refused

COMMANDS = {
    "list": "Filesystems, what they stand on, and what is wrong already.",
    "scenarios": "What can be run and what it asks.",
    "run": "Run a scenario in a directory and judge the storage under it.",
    "check": "The quick check of every writable filesystem, two seconds each.",
    "powercut": "Prove it: write with a witness elsewhere, pull the plug, verify.",
    "watch": "Who waits for which file, without writing a byte.",
    "lessons": "Lessons on simulated disks: what makes data durable.",
    "serve": "The app in browsers, on simulated disks, for a class.",
    "lab": "Real storage for a class, honest and lying, in envelopes.",
    "simulate": "Simulated disks, honest and lying, for lessons and tests.",
    "history": "The saved runs.",
    "show": "A saved run again.",
    "replay": "A saved run played again, as it went.",
    "compare": "Saved runs side by side.",
    "judge": "Judge a saved run again, with today's rules.",
    "explain": "Explain a rule or a word, or show a page of documentation.",
    "references": "What storage is held against: the published, and your own.",
    "schema": "The JSON Schema of the run document.",
    "fleet": "The same on many boxes at once, and the odd ones out.",
    "clean": "Remove what a killed run has left.",
    "completion": "What makes a shell complete all this.",
    "manual": "All of it as a man page.",
}
"""In the order of their use. The sentences stand here, so that help imports none of them."""

SIMULATED = frozenset({"check", "list", "run", "serve", "watch"})
"""Those that can be asked of a simulated disk."""

APP = "DIR"
"""The app's name where click wants one; no directory is hidden by it."""


class Commands(click.Group):
    """Imports a sub-command when it is called; hands any other first argument to the app as DIR."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """``fstui help run`` asks for the same as ``fstui run --help``."""
        if args[:1] == ["help"]:
            if args[1:] and args[1] not in COMMANDS:
                raise click.UsageError(f"No command is called {args[1]!r}.", ctx)
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _imported(cmd_name) if cmd_name in COMMANDS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands by the sentences that stand here, options after a dash, directories once it can be one."""
        if incomplete[:1] in ("-", ".", "/", "~"):
            return [*super().shell_complete(ctx, incomplete), *completing.directories(ctx, self.params[0], incomplete)]
        return [CompletionItem(name, help=told) for name, told in COMMANDS.items() if name.startswith(incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in COMMANDS:
            return super().resolve_command(ctx, args)
        return APP, _imported("app"), args

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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
    """Does this storage keep its word, and how fast?

    Without a command the terminal app starts; with DIR it goes straight to the plan for that directory.
    """
    if simulate and ctx.invoked_subcommand in COMMANDS.keys() - SIMULATED:
        raise Refused(f"--simulate is for the app and for {', '.join(sorted(SIMULATED))}")
    return None if ctx.invoked_subcommand else start(trusting=trust_dir, simulate=simulate)


def _imported(name: str) -> click.Command:
    command: click.Command = importlib.import_module(f"fstui.cli.{name}").command
    return command
