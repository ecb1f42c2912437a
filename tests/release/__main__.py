"""``python -m tests.release [build] [FILE]`` · ``check FILE ROOT…`` · ``contain FILE ROOT`` · ``start FILE``."""

import hashlib
import shlex
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("fstui", "hatchling", "packaging", "pex", "pip")
USAGE = "usage: python -m tests.release [build FILE | check FILE ROOT… | contain FILE ROOT | start FILE]"


def main(arguments: list[str]) -> int:
    """Build or test the file and return the exit status."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        install = f"{shlex.quote(sys.executable)} -m pip install '.[release]'"
        print(f"tests.release: not installed: {', '.join(missing)}. In the checkout: {install}", file=sys.stderr)
        return 2
    if arguments[:1] in ([], ["build"]) and len(arguments) < 3:
        return _build(Path(*arguments[1:]) if arguments[1:] else Path("dist/fstui.pyz"))
    from tests.release import selftest  # noqa: PLC0415  it needs pytest, and a build does not

    match arguments:
        case ["check", file, *roots] if roots:
            return selftest.in_roots(Path(file), [Path(root) for root in roots])
        case ["contain", file, root]:
            return selftest.contained(Path(file), Path(root))
        case ["start", file]:
            return selftest.start(Path(file))
    print(USAGE, file=sys.stderr)
    return 2


def _build(output: Path) -> int:
    from tests.release import build  # noqa: PLC0415  it needs the packages above

    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as workshop:
        try:
            missing = build.build(output.resolve(), Path(workshop))
        except build.NotBuilt as trouble:
            print(f"tests.release: {trouble}", file=sys.stderr)
            return 1
    print(*missing, sep="\n", end="\n" if missing else "")
    data = output.read_bytes()
    print(f"{output}: {len(data) / 1e6:.1f} MB, sha256 {hashlib.sha256(data).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
