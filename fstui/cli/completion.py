"""``fstui completion [SHELL] [--install]``"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import ClassVar

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete, add_completion_class

from fstui.cli.output import put, say
from fstui.cli.output_file import deliver
from fstui.model.errors import Refused

_ASKED_BY = "_FSTUI_COMPLETE"

_BASH = """\
%(complete_func)s() {
    local kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$value"); compopt -o filenames ;;
            file) compopt -o default ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -F %(complete_func)s %(prog_name)s
"""


_ZSH = (
    ZshComplete.source_template.replace(
        'completions_with_descriptions+=("$key":"$descr")',
        '[[ "$key" == *= ]] && { settings+=("$key"); shown+=("$key  -- $descr"); continue; }\n'
        '                completions_with_descriptions+=("$key":"$descr")',
    )
    .replace("local -a response", "local -a response settings shown")
    .replace(
        '    if [ -n "$completions" ]; then',
        """    [ -n "$settings" ] && compadd -U -S '' -V unsorted -d shown -a settings

    if [ -n "$completions" ]; then""",
    )
    .replace("== loadautofunc", "== *func")
)


class Zsh(ZshComplete):
    """Click's own, but with no space after ``KEY=``, and with an answer to the second Tab as to the first: the file is
    then a function that was loaded (zshmisc(1), zsh_eval_context), and not what is being loaded.
    """

    source_template: ClassVar[str] = _ZSH


class Bash(BashComplete):
    """With directories beside words, no space after ``KEY=``, and values behind it: bash takes ``=`` for a word."""

    source_template: ClassVar[str] = _BASH

    @staticmethod
    def _check_version() -> None:
        """mapfile and compopt are in every bash since 4.0 (2009)."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        if incomplete == "=" and args:
            return args[:-1], f"{args[-1]}="
        if len(args) > 1 and args[-1] == "=":
            return args[:-2], f"{args[-2]}={incomplete}"
        return args, incomplete

    def format_completion(self, item: click.shell_completion.CompletionItem) -> str:
        _, incomplete = self.get_completion_args()
        given = len(incomplete.rpartition("=")[0]) + 1 if "=" in incomplete else 0
        return f"{item.type},{item.value[given:]}"


_SHELLS = {"bash": Bash, "zsh": Zsh, "fish": FishComplete}


def prepare() -> None:
    """Answer bash and zsh in our own way."""
    add_completion_class(Bash)
    add_completion_class(Zsh)


@click.command("completion")
@click.argument("shell", type=click.Choice(tuple(_SHELLS)), required=False)
@click.option("--install", is_flag=True, help="Put it where that shell looks for it, for this user.")
def command(shell: str | None, install: bool) -> None:
    """Print what makes a shell complete commands, scenarios, rules, runs, settings and directories.

    SHELL is bash, zsh or fish; without it, yours.
    """
    named = shell or Path(os.environ.get("SHELL", "")).name
    if named not in _SHELLS:
        raise Refused(f"completion is there for {', '.join(_SHELLS)}, not for '{named}': name one of them")
    script = _SHELLS[named](click.Group("fstui"), {}, "fstui", _ASKED_BY).source()
    if install:
        asyncio.run(_install(named, script))
    else:
        put(script)


async def _install(shell: str, script: str) -> None:
    path = _place(shell)
    if path.exists() and _ASKED_BY not in path.read_text(errors="replace"):
        raise Refused(f"{path} is not ours: remove it first, or use 'fstui completion {shell}' yourself")
    path.parent.mkdir(parents=True, exist_ok=True)
    await deliver(path, script)
    say(f"fstui: {path}")
    if shell == "zsh":
        say(f"fstui: in ~/.zshrc, before compinit: fpath=({path.parent} $fpath)")
    say(f"fstui: a new {shell} completes it")


def _place(shell: str) -> Path:
    """Where that shell looks for a user's completions. Raises Refused without a home."""
    if not (home := os.environ.get("HOME")):
        raise Refused("there is no home directory to install into: set HOME")
    data = Path(os.environ.get("XDG_DATA_HOME") or f"{home}/.local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config")
    return {
        "bash": data / "bash-completion/completions/fstui",
        "zsh": data / "zsh/site-functions/_fstui",
        "fish": config / "fish/completions/fstui.fish",
    }[shell]
