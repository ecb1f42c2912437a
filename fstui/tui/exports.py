"""A run as files in the current directory, one of each format that is kept in files.

The current directory may be on the very storage that hangs, so a child writes them and can be abandoned.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime

from fstui.model.run import Run
from fstui.report import formats
from fstui.runs.files import write

_NO_FILE_NAME = re.compile(r"[^\w.-]")


async def export(run: Run) -> str:
    """Write the files, here or else in the home directory; the sentence says where or why not."""
    return await _written(_files(run))


async def export_screen(svg: str) -> str:
    """The same of a picture of the screen, named by the second."""
    return await _written({f"fstui-screen-{datetime.now():%Y%m%d-%H%M%S}.svg": svg.encode()})


async def _written(files: Mapping[str, bytes]) -> str:
    trouble = ""
    # PWD, not getcwd(2): that one can hang where the directory does
    for directory in (os.environ.get("PWD", "."), os.environ.get("HOME", "/")):
        troubles = [await write(f"{directory}/{name}", data) for name, data in files.items()]
        trouble = next(filter(None, troubles), "")
        if not trouble:
            first, *others = files
            return f"Exported {directory}/{first}" + "".join(f", {_ending(name)}" for name in others)
    return f"Not exported: {trouble}"


def _files(run: Run) -> dict[str, bytes]:
    """By name. A saved document may have come from anywhere: what it calls its scenario leads to no other directory."""
    name = _NO_FILE_NAME.sub("-", f"fstui-{run.scenario.name if run.scenario else 'run'}-{run.id}")
    files = {}
    for format_ in formats.names():
        if ending := formats.format_of(format_).ENDING:
            document = formats.render(format_, run)
            files[f"{name}.{ending}"] = document.encode() if isinstance(document, str) else document
    return files


def _ending(name: str) -> str:
    return f".{name.rpartition('.')[2]}"
