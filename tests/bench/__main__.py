"""``python -m tests.bench NAME [--rounds N] [--dir DIR]``. Each NAME is a module of this package."""

import importlib
import os
import signal
import sys

NAMES = (
    "parity", "loop", "perturbation", "wire", "inventory", "firstframe", "watch", "servers", "exactness", "fuzz",
    "chaos", "long", "hang", "live", "incidents", "atrisk",
)  # fmt: skip


def main() -> int:
    """Run one bench with the remaining arguments and return its exit status."""
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        print(f"usage: python -m tests.bench {'|'.join(NAMES)} [--rounds N] [--dir DIR]", file=sys.stderr)
        return 2
    os.environ["FSTUI_YES"] = "1"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that context managers clean up
    status: int = importlib.import_module(f"tests.bench.{sys.argv[1]}").main(sys.argv[2:])
    return status


if __name__ == "__main__":
    sys.exit(main())
