"""Program: becomes another program, in the run's own directory. Arguments: the directory, its device, its inode, and
the words of the other's command line."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from fstui.wire.held import enter


def main() -> NoReturn:
    directory, device, inode, *words = sys.argv[1:]
    try:
        enter(directory, (int(device), int(inode)))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and the other would inherit
        os.execvp(words[0], words)
    except OSError as error:
        sys.exit(f"FATAL: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
