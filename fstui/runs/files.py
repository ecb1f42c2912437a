"""Files of the user's own, written whole or not at all."""

from __future__ import annotations

from fstui.measure.children import ask
from fstui.state.files import write_atomically

__all__ = ["write", "write_atomically"]

WRITE_S = 5.0


async def write(path: str, data: bytes) -> str:
    """By a child, as the disk may hang. Empty when it is written, else the reason."""
    try:
        answer = await ask("state.files", "write", path, WRITE_S, data)
    except TimeoutError:
        return f"{path}: no answer for {WRITE_S:.0f} s"
    except OSError as error:
        return f"{path}: {error.strerror}"
    return f"{answer.get('file', path)}: {answer['error']}" if "error" in answer else ""
