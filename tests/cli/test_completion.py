import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fstui.cli import documentation
from fstui.cli.commands import COMMANDS, group
from tests.cli.conftest import Fstui
from tests.factories import saved_runs
from tests.factories.samples import RUN
from tests.terminal.tmux import Tmux

TRY = """
. "$HOME/.local/share/bash-completion/completions/fstui"
at_tab() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fstui_completion fstui 2>/dev/null; echo "${COMPREPLY[*]}"; }
at_tab fstui hist
at_tab fstui run fsync-r
at_tab fstui run fsync-rate "$HOME/data"
at_tab fstui run fsync-rate --set sec
at_tab fstui run sysbench-oltp --set server = postg
at_tab fstui show k3
at_tab fstui explain flush-c
"""

RC = """
path=({programs} $path)
fpath=({functions} $fpath)
autoload -Uz compinit
compinit -u
PS1='ready%% '
"""


def test_bash_completes_everything(fstui: Fstui, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_runs.save(RUN)
    (own_home / "database").mkdir()
    assert fstui("completion", "bash", "--install").returncode == 0
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    done = subprocess.run(["bash", "-c", TRY], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "history", "fsync-rate", str(own_home / "database"), "seconds=", "postgresql", "k3f9a1", "flush-cost",
    ]  # fmt: skip


@pytest.mark.skipif(not Tmux.here() or not shutil.which("zsh"), reason="tmux or zsh is not installed")
def test_zsh_adds_no_space_after_a_setting(fstui: Fstui, own_home: Path) -> None:
    functions = own_home / "functions"
    functions.mkdir()
    (functions / "_fstui").write_bytes(fstui("completion", "zsh").stdout)
    (own_home / ".zshrc").write_text(RC.format(programs=Path(sys.executable).parent, functions=functions))
    with Tmux({"HOME": str(own_home), "ZDOTDIR": str(own_home)}) as tmux:
        tmux.run("zsh")
        tmux.wait_for("ready%")
        tmux.type("fstui run fsync-rate /tmp --set sec")
        tmux.press("Tab")
        tmux.wait_for("--set seconds=")
        tmux.type("3")
        tmux.wait_for("--set seconds=3")
        tmux.press("C-u")
        tmux.type("fstui explain flush-c")
        tmux.press("Tab")
        tmux.wait_for("fstui explain flush-cost")


def test_a_foreign_completion_file_is_not_replaced(fstui: Fstui, own_home: Path) -> None:
    mine = own_home / ".config/fish/completions/fstui.fish"
    mine.parent.mkdir(parents=True)
    mine.write_text("# mine")
    done = fstui("completion", "fish", "--install")
    assert done.returncode == 2 and b"was not written by fstui" in done.stderr and mine.read_text() == "# mine"


def test_a_relative_xdg_directory_is_ignored(fstui: Fstui, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.chdir(own_home)
    assert fstui("completion", "fish", "--install").returncode == 0
    assert (own_home / ".config/fish/completions/fstui.fish").exists() and not (own_home / "relative").exists()


def test_the_man_page_has_every_command() -> None:
    lines = list(documentation._page(click.Context(group, info_name="fstui")))
    sections = [line for line in lines if line.startswith(".SS fstui ")]
    assert {line.split()[2].replace("\\", "") for line in sections} == set(COMMANDS)
    requests = {line.split()[0] for line in lines if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi", ".ad", ".nh"}
    assert not any("\b" in line for line in lines)
