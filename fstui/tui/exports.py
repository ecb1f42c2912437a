"""A run as files in the current directory: JSON, CSV and Markdown.

The current directory may be on the very storage that hangs, so a child writes them and can be abandoned.
"""

from __future__ import annotations

import os

from fstui.children import ask
from fstui.model import Run
from fstui.quantities import plain
from fstui.report import csv, json, markdown

WRITE_S = 5.0


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
        troubles = [await _write(f"{directory}/{name}.{ending}", data) for ending, data in files.items()]
        trouble = next(filter(None, troubles), "")
        if not trouble:
            return f"Exported {plain(directory)}/{plain(name)}.json, .csv and .md"
    return f"Not exported: {plain(trouble)}"


async def _write(path: str, data: bytes) -> str:
    """Empty when it is written, else the reason."""
    try:
        answer = await ask("state.files", "write", path, WRITE_S, data)
    except TimeoutError:
        return f"{path}: no answer for {WRITE_S:.0f} s"
    except OSError as error:
        return f"{path}: {error.strerror}"
    return f"{answer.get('file', path)}: {answer['error']}" if "error" in answer else ""
