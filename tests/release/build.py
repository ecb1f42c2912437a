"""Build the file: wheels for every platform, then pex, then the first lines of its shell part."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.release.platforms import Platform, every

CHECKOUT = Path(__file__).resolve().parents[2]
BOOT = Path(__file__).with_name("boot.sh")
SHEBANG = b"#!/bin/sh\n"
UNPACKED = re.compile(rb'INSTALLED_PEX="\$\{PEX_ROOT\}/(venvs/\d+/[0-9a-f]+)/[0-9a-f]+"')
MAX_SHELL_BYTES = 1 << 16
MAIN = "__main__.py"
HAND_OVER = b"""import os, sys
if sys.version_info < (3, 11) and "PEX_ROOT" not in os.environ:
    os.execv("/bin/sh", ["sh", os.path.abspath(sys.argv[0])] + sys.argv[1:])
"""
"""Insert this before MAIN, for a start with ``python FILE``: boot.sh finds a newer Python, or says that none exists."""
COMMITTED_AT = ("git", "log", "-1", "--format=%ct")
WITHOUT_GIT = "315619200"
"""2 January 1980: a zip cannot contain an earlier time."""


class NotBuilt(Exception):  # noqa: N818  its message is printed
    """A tool failed. The message is the end of its output."""


def build(output: Path, workshop: Path) -> list[str]:
    """Build the file. Return a sentence for each wheel that is missing for a platform. Raises NotBuilt."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or _committed_at()
    wheels, described = workshop / "wheels", workshop / "platforms"
    wheels.mkdir()
    described.mkdir()
    pinned = pins()
    _run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"),
        *(wheels, CHECKOUT),
        SOURCE_DATE_EPOCH=epoch,
    )
    platforms, missing = [], []
    for platform in every():
        lacks = _download(platform, pinned, wheels)
        missing += lacks
        if not lacks:
            platforms.append(described / f"{platform.name}.json")
            platforms[-1].write_text(json.dumps(platform.complete))
    _pex(output, wheels, platforms, ["fstui", *pinned], epoch)
    prepend(output)
    return missing


def _committed_at() -> str:
    try:
        return _run(*COMMITTED_AT).strip()
    except (NotBuilt, OSError):  # the checkout is a copy without its repository, or git is missing
        return WITHOUT_GIT


def pins() -> list[str]:
    """Return fstui's direct and indirect dependencies at the tested versions, those of this environment."""
    found: dict[str, str] = {}
    wanted, seen = [Requirement("fstui")], set[str]()
    while wanted:
        one = wanted.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        found[one.name] = distribution(one.name).version
        needed = map(Requirement, distribution(one.name).requires or [])
        wanted += [each for each in needed if _holds(each, one.extras)]
    del found["fstui"]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def _holds(needed: Requirement, extras: set[str]) -> bool:
    return needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras or {""})


def _download(platform: Platform, pinned: list[str], wheels: Path) -> list[str]:
    """Download the wheels of a platform. Return the distributions without a wheel."""
    version = ".".join(map(str, platform.python))
    tags = [tag for one in platform.tags if (tag := one.rpartition("-")[2]) != "any"]
    asked = [word for tag in dict.fromkeys(tags) for word in ("--platform", tag)]
    call = (
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
        *("--disable-pip-version-check", "--dest", str(wheels), "--find-links", str(wheels)),
        *("--python-version", version, "--implementation", "cp", *asked),
    )
    try:
        _run(*call, *pinned)
    except NotBuilt:
        return [f"{one}: no wheel for {platform.name}" for one in pinned if not _has(call, one)]
    return []


def _has(call: tuple[str, ...], one: str) -> bool:
    try:
        _run(*call, one)
    except NotBuilt:
        return False
    return True


def _pex(output: Path, wheels: Path, platforms: list[Path], what: list[str], epoch: str) -> None:
    described = [word for file in platforms for word in ("--complete-platform", str(file))]
    _run(
        *(sys.executable, "-m", "pex", *what, "--intransitive", "--no-index", "--find-links", str(wheels), *described),
        *("--console-script", "fstui", "--venv", "--sh-boot", "--no-compile", "--output-file", str(output)),
        SOURCE_DATE_EPOCH=epoch,
    )


def prepend(output: Path) -> None:
    """Insert boot.sh before the lines of pex, and HAND_OVER before those of MAIN.

    A zip may begin with anything (APPNOTE.TXT, 4.1.9).
    """
    built = output.read_bytes()
    found = UNPACKED.search(built[:MAX_SHELL_BYTES])
    if not built.startswith(SHEBANG) or found is None:
        raise NotBuilt(f"{output} does not begin as a shell script: has pex changed what --sh-boot makes?")
    ours = BOOT.read_bytes().replace(b"@VENVS@", found[1])
    with zipfile.ZipFile(io.BytesIO(built)) as pex, output.open("w+b") as file:
        pex_lines = built[len(SHEBANG) : min(entry.header_offset for entry in pex.infolist())]
        file.write(SHEBANG + ours + pex_lines)
        with zipfile.ZipFile(file, "a") as zipped:
            for entry in pex.infolist():
                zipped.writestr(entry, (HAND_OVER if entry.filename == MAIN else b"") + pex.read(entry.filename))


def _run(*call: str | Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, call)),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-12:])
        raise NotBuilt(f"{' '.join(map(str, call))[:160]} failed ({done.returncode}):\n{said}")
    return done.stdout
