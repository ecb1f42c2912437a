"""What each part imports, and both ways of installing are complete."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from fstui.cli.commands import COMMANDS
from fstui.judge import rule_names
from fstui.report import formats
from fstui.runs import scenarios

CHECKOUT = Path(__file__).resolve().parents[1]


PACKAGES_OF_CHILDREN = ("measure/probes", "measure/helpers", "measure/wire", "trace/reader")
CHILDREN_ELSEWHERE = [
    "proc",
    "state.ring",
    *(f"powercut.{module}" for module in ("writer", "output", "readback", "records", "log", "server")),
]
CHILDREN = [
    *sorted(
        f"{package.replace('/', '.')}.{file.stem}"
        for package in PACKAGES_OF_CHILDREN
        for file in (CHECKOUT / "fstui" / package).glob("[a-z]*.py")
    ),
    *CHILDREN_ELSEWHERE,
]


@pytest.mark.parametrize("child", CHILDREN)
def test_child_programs_load_only_the_standard_library(child: str) -> None:
    ours_and_standard = {"fstui", "__main__", *sys.stdlib_module_names}
    program = f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\nimport fstui.{child}\nprint(*sys.modules)"
    call = [sys.executable, "-I", "-S", "-c", program]
    loaded = subprocess.run(call, capture_output=True, check=True, text=True).stdout.split()
    assert {name.partition(".")[0] for name in loaded} <= ours_and_standard
    ours = {name.removeprefix("fstui.") for name in loaded if name.startswith("fstui.")}
    allowed = {"measure", "trace", "state", "powercut", *CHILDREN}
    allowed |= {package.replace("/", ".") for package in PACKAGES_OF_CHILDREN}
    assert ours <= allowed


def installed(place: Path) -> Path:
    """Install fstui without the network into a fresh virtual environment that borrows all other packages."""
    venv.create(place, symlinks=True, with_pip=False)
    site = next(place.glob("lib/python3*/site-packages"))
    (site / "zz-borrowed.pth").write_text(sysconfig.get_path("purelib"))
    offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    done = subprocess.run([*pip, "install", *offline, str(CHECKOUT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.slow
def test_installed_fstui_has_its_scenarios_and_pages(tmp_path: Path) -> None:
    """All other tests run in an editable installation."""
    environment = installed(tmp_path / "environment")

    def run(*arguments: str) -> str:
        clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        return subprocess.run(arguments, cwd=tmp_path, env=clean, capture_output=True, check=True, text=True).stdout

    python, fstui = environment / "bin" / "python", environment / "bin" / "fstui"
    package = Path(run(str(python), "-c", "import fstui; print(fstui.__file__)").strip()).parent
    assert package.is_relative_to(environment)
    assert (package / "py.typed").is_file()
    listed = run(str(fstui), "scenarios")
    assert all(name in listed for name in scenarios.names())
    assert "odirect-truth" in run(str(fstui), "run", "odirect-truth", str(tmp_path), "--plan")
    assert run(str(fstui), "explain", "flushes-arrive").strip()
    assert run(str(fstui), "explain", "supported-storage").strip()
    explained, help_text = run(str(fstui), "explain"), run(str(fstui), "run", "--help")
    assert all(name in explained for name in rule_names()) and all(name in help_text for name in formats.names())
    assert all(command in run(str(fstui), "--help") for command in COMMANDS)
