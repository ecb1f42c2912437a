"""``fstui references [--medium M]… | add RUN… --name NAME | remove NAME``"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from fstui.cli import completing
from fstui.cli.options import report_options
from fstui.cli.output import say
from fstui.cli.output_file import check_output, print_report
from fstui.model.storage import MEDIA, MediumClass
from fstui.report import formats, ruler
from fstui.runs import references


@click.group("references", invoke_without_command=True)
@click.option(
    "--medium", "media", multiple=True, type=click.Choice(MEDIA), metavar="M", help="Only on this class of medium."
)
@report_options()
@click.pass_context
def command(ctx: click.Context, media: tuple[MediumClass, ...], format_: str, output: Path | None) -> None:
    """List what storage is held against: what was published of other people's, on a logarithmic ruler, and your own."""
    if not ctx.invoked_subcommand:
        asyncio.run(_list(media, format_, output))


@command.command("add")
@click.argument("runs", nargs=-1, required=True, metavar="RUN|DIR…", shell_complete=completing.runs)
@click.option("--name", required=True, help="What to call them, as in 'our db hosts'; replaces those of that name.")
def add(runs: tuple[str, ...], name: str) -> int:
    """Hold later runs against these first: saved runs, or directories of run documents, such as a fleet's.

    Of several runs in a directory those that are no measure are left out: a lying box's, or of a network filesystem.

    They count for storage on the same class of medium; where the class is not known, for the same models.
    """
    found = asyncio.run(references.add(name, runs))
    asyncio.run(print_report(ruler.of_own(found.references), formats.PLAIN))
    for left_out in found.left_out:
        say(f"left out, {left_out}")
    return 0


@command.command("remove")
@click.argument("name")
def remove(name: str) -> int:
    """Forget references of your own."""
    asyncio.run(references.remove(name))
    return 0


async def _list(media: tuple[MediumClass, ...], format_: str, output: Path | None) -> None:
    if output is not None:
        await check_output(output)
    own = [one for one in await references.own() if not media or set(media) & set(one.media)]
    found = references.published(None, media)
    await print_report(ruler.of_library(found, own), format_, output)
    if not found:
        known = sorted({reference.medium for reference in references.library()})
        say(f"Nothing was published on {', '.join(media)}. There is something on {', '.join(known)}.")
