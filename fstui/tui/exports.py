"""Files of a run or of the screen in the current directory.

A child process writes them, because that directory may be on a disk that hangs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath

from fstui.model.run import Run
from fstui.report import formats
from fstui.runs.files import write

_UNSAFE = re.compile(r"[^\w.-]")


async def export(run: Run) -> str:
    """Write the run in every format that has files. Return a sentence that says where, or why not."""
    # a saved document may come from anywhere: its scenario must not lead to another directory
    name = _UNSAFE.sub("-", f"fstui-{run.scenario.name if run.scenario else 'run'}-{run.id}")
    endings = {format_: ending for format_ in formats.names() if (ending := formats.format_of(format_).ENDING)}
    documents = {f"{name}.{ending}": formats.render(format_, run) for format_, ending in endings.items()}
    return await _write({file: text.encode() if isinstance(text, str) else text for file, text in documents.items()})


async def export_screen(svg: str) -> str:
    """Write a picture of the screen in the same way."""
    return await _write({f"fstui-screen-{datetime.now():%Y%m%d-%H%M%S}.svg": svg.encode()})


async def _write(files: Mapping[str, bytes]) -> str:
    """Write the files into the current directory, or into the home directory if that fails."""
    problem = ""
    # PWD instead of getcwd(2), which may hang with the directory
    for directory in (os.environ.get("PWD", "."), os.environ.get("HOME", "/")):
        results = [await write(f"{directory}/{name}", data) for name, data in files.items()]
        problem = next(filter(None, results), "")
        if not problem:
            first, *others = files
            return f"Exported {directory}/{first}" + "".join(f", {PurePath(name).suffix}" for name in others)
    return f"Not exported: {problem}"
