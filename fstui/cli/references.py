"""``fstui references [--medium M]…``"""

from __future__ import annotations

import click

from fstui.cli.output import put, say
from fstui.model.storage import MEDIA, MediumClass
from fstui.report import ruler
from fstui.session.references import library, published


@click.command("references")
@click.option(
    "--medium", "media", multiple=True, type=click.Choice(MEDIA), metavar="M", help="Only on this class of medium."
)
def command(media: tuple[MediumClass, ...]) -> None:
    """List what was published of other people's storage, on a logarithmic ruler, with its sources."""
    found = published(None, media)
    if found:
        put(ruler.library(found))
    else:
        known = sorted({reference.medium for reference in library()})
        say(f"Nothing was published on {', '.join(media)}. There is something on {', '.join(known)}.")
