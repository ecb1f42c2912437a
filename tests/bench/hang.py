"""Every command next to a filesystem that hangs at one kind of system call: does it end, how, and when?"""

import sys
import tempfile
from pathlib import Path

from tests.bench.pairs import arguments
from tests.real import hanging


def main(argv: list[str]) -> int:
    """Print a line for each place, call and command. Return 1 if one did not end or left something behind.

    ``--midway``: only runs that had already started.
    """
    commands = () if "--midway" in argv else tuple(hanging.COMMANDS)
    argv = [word for word in argv if word != "--midway"]
    options = arguments(argv, "hang", rounds=1, directory=tempfile.gettempdir())
    wrong = 0
    for place in hanging.PLACES:
        for call in hanging.CALLS:
            with (
                tempfile.TemporaryDirectory(dir=options.dir) as workshop,
                hanging.hanging_mount(Path(workshop)) as mount,
            ):
                for row in hanging.run_all(mount, place, call, commands):
                    wrong += not row.well
                    print(f"{place:8}{call:9}{row.line}", flush=True)
                if place != "another":
                    row = hanging.stop_midway(mount, place, call)
                    wrong += not row.well
                    print(f"{place:8}{call:9}stopped midway: {row.line}", flush=True)
                wrong += len(left := hanging.leftovers_after_clean(mount))
                print(f"{place:8}{call:9}left behind after clean: {len(left)}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
