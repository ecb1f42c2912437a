"""A run as files in the current directory: JSON, CSV and Markdown.

The current directory may be on the very storage that hangs, so a child writes them and can be abandoned.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from fstui.model import Run
from fstui.quantities import plain
from fstui.report import csv, json, markdown

WRITE_S = 5.0
_WRITE = "import sys; f = open(sys.argv[1], 'xb'); f.write(sys.stdin.buffer.read()); f.close()"


async def export(run: Run) -> str:
    """Write the three files, here or else in the home directory; the sentence says where or why not."""
    name = f"fstui-{run.scenario.name if run.scenario else 'run'}-{run.id}"
    files = {
        "json": json.indented(run),
        "csv": csv.render(run).encode(errors="backslashreplace"),
        "md": markdown.render(run).encode(errors="backslashreplace"),
    }
    trouble = ""
    # PWD, not getcwd(2): that one can hang where the directory does
    for directory in (os.environ.get("PWD", "."), os.environ.get("HOME", "/")):
        trouble = ""
        for ending, data in files.items():
            path = f"{directory}/{name}.{ending}"
            if trouble := await _write(path, data):
                break
        if not trouble:
            return f"Exported {plain(directory)}/{plain(name)}.json, .csv and .md"
    return f"Not exported: {plain(trouble)}"


async def _write(path: str, data: bytes) -> str:
    """Empty when written, or already there: a run's document does not change. Else the reason."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _WRITE, path,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, said = await asyncio.wait_for(child.communicate(data), WRITE_S)
    except TimeoutError:
        child.kill()
        return f"{path}: no answer for {WRITE_S:.0f} s"
    last = said.decode(errors="replace").strip().splitlines()[-1:] or [""]
    return "" if child.returncode == 0 or "FileExistsError" in last[0] else f"{Path(path).name}: {last[0]}"
