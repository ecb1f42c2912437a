"""Write files that the user names, in a child process because their disk may hang."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from fstui.measure.children import call_in_child
from fstui.model.errors import Refused
from fstui.state.files import open_parent, open_user_file, write_atomically, write_private

__all__ = ["open_user_file"]  # re-exported for the interfaces

WRITE_TIMEOUT_S = 10.0


async def check_output(path: Path) -> None:
    """Check that the file of ``--output`` can be written, before anything else is done. Raises Refused."""
    await call_in_child(check_output_file, path, where=str(path))


async def is_stream(path: Path) -> bool:
    """Return whether the path is a pipe or a device. Raises OSError, Refused."""
    return await call_in_child(_is_stream, path, where=str(path))


async def write_output(path: Path, data: bytes) -> None:
    """Write the file of ``--output``. Raises OSError, Refused."""
    await call_in_child(write_output_file, path, data, timeout_s=WRITE_TIMEOUT_S, where=str(path))


async def write(path: str, data: bytes) -> str:
    """Write a new file. Return why it could not be written, or an empty string."""
    try:
        await call_in_child(write_private, Path(path), data, timeout_s=WRITE_TIMEOUT_S, where=path)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    except Refused as refusal:
        return str(refusal)
    return ""


def check_output_file(path: Path) -> None:
    try:
        os.close(open_parent(path)[0])  # raises OSError if another user could redirect the path
        if path.is_dir():
            raise Refused(f"--output {path} is a directory: name a file in it")
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"--output {path}: there is no directory {path.parent}") from None
    except OSError as error:  # also if the path is too long
        raise Refused(f"--output {path}: {error.strerror}") from None
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Refused(f"--output {path} is not writable by this user")


def write_output_file(path: Path, data: bytes) -> None:
    """Write the whole document or nothing, except to pipes, devices and read-only directories. Raises OSError."""
    parent_fd, name = open_parent(path)  # a link's target is replaced, not the link
    directory = Path(f"/proc/self/fd/{parent_fd}")
    mode = 0o666 & ~_umask()
    try:
        status = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
        if status.st_uid == os.geteuid():  # otherwise the mode may be setuid, or writable for all users
            mode = status.st_mode & 0o777
        is_replaced = stat.S_ISREG(status.st_mode) and os.access(directory, os.W_OK)
    except FileNotFoundError:
        is_replaced = True
    try:
        if is_replaced:
            write_atomically(directory / name, data, mode)
        else:
            with os.fdopen(open_user_file(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC), "wb") as file:
                file.write(data)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(parent_fd)


def _is_stream(path: Path) -> bool:
    with suppress(FileNotFoundError):
        os.close(open_parent(path)[0])  # otherwise the kernel would refuse a trap without naming the link
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
