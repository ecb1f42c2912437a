"""``--trust-dir``"""

from __future__ import annotations

import click


def _here_or_before_the_command(context: click.Context, _: click.Parameter, value: bool) -> bool:
    return value or bool(context.find_root().params.get("trust_dir"))


trust_option = click.option(
    "--trust-dir",
    is_flag=True,
    callback=_here_or_before_the_command,
    help="As root, write also where another user may rename what is written.",
)
