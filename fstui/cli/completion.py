"""``fstui completion``, and functions that complete each kind of argument.

Every Tab starts a process, so modules are imported as late as possible.
"""

import os
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete, add_completion_class

from fstui.cli.execution import COMPLETION_VARIABLE
from fstui.cli.output import say, write_stdout
from fstui.model.errors import Refused

Result = TypeVar("Result")

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
    """Click's script with two changes: no space after ``KEY=``, and it also works on the second Tab.

    zsh autoloads the script on the first Tab and then calls it as a function. Click's test of zsh_eval_context
    (zshmisc(1)) does not recognise that.
    """

    source_template: ClassVar[str] = _ZSH


class Bash(BashComplete):
    """Offer directories together with other words, add no space after ``KEY=``, and complete the setting's value.

    Bash splits a line at ``=``, so ``KEY=VALUE`` arrives as three words.
    """

    source_template: ClassVar[str] = _BASH

    @staticmethod
    def _check_version() -> None:
        """Skip click's check, which starts bash: mapfile and compopt exist since version 4.0 (2009)."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        if incomplete == "=" and args:
            return args[:-1], f"{args[-1]}="
        if len(args) > 1 and args[-1] == "=":
            return args[:-2], f"{args[-2]}={incomplete}"
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        _, incomplete = self.get_completion_args()
        key_length = len(incomplete.rpartition("=")[0]) + 1 if "=" in incomplete else 0
        return f"{item.type},{item.value[key_length:]}"


_SHELLS = {"bash": Bash, "zsh": Zsh, "fish": FishComplete}


def prepare() -> None:
    add_completion_class(Bash)
    add_completion_class(Zsh)


@click.command("completion")
@click.argument("shell", metavar="[SHELL]", type=click.Choice(tuple(_SHELLS)), required=False)
@click.option("--install", is_flag=True, help="Write the script to the directory where the shell looks for it.")
def completion(shell: str | None, install: bool) -> None:
    """Print a script that completes commands, options, scenarios, settings, rules, runs and directories.

    SHELL is bash, zsh or fish. Without SHELL, fstui uses the shell that $SHELL names.

    Example: fstui completion --install
    """
    shell_name = shell or Path(os.environ.get("SHELL", "")).name
    if shell_name not in _SHELLS:
        raise Refused(f"there is no completion for '{shell_name}'. Name one of {', '.join(_SHELLS)}")
    script = _SHELLS[shell_name](click.Group("fstui"), {}, "fstui", COMPLETION_VARIABLE).source()
    if install:
        _install(shell_name, script)
    else:
        write_stdout(script)


def _install(shell: str, script: str) -> None:
    from fstui.cli.delivery import deliver  # noqa: PLC0415

    path = _script_path(shell)
    if path.exists() and COMPLETION_VARIABLE not in path.read_text(errors="replace"):
        raise Refused(
            f"{path} was not written by fstui, and will not be overwritten. Remove it first, or use the output of "
            f"'fstui completion {shell}'"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    _run(deliver(path, script))
    say(f"fstui: wrote {path}")
    if shell == "zsh":
        say(f"fstui: add this line to ~/.zshrc, above compinit: fpath=({path.parent} $fpath)")
    say(f"fstui: it takes effect in a new {shell}")


def _script_path(shell: str) -> Path:
    """Return the path where the shell looks for a user's completions. Raises Refused without a home directory."""
    if not Path(home := os.environ.get("HOME", "")).is_absolute():
        raise Refused("there is no home directory to install into. Set HOME")
    data = _xdg_directory("XDG_DATA_HOME", f"{home}/.local/share")
    config = _xdg_directory("XDG_CONFIG_HOME", f"{home}/.config")
    return {
        "bash": data / "bash-completion/completions/fstui",
        "zsh": data / "zsh/site-functions/_fstui",
        "fish": config / "fish/completions/fstui.fish",
    }[shell]


def _xdg_directory(variable: str, default: str) -> Path:
    """Return the directory in the variable. A relative path is ignored, as the XDG specification requires."""
    directory = Path(os.environ.get(variable, ""))
    return directory if directory.is_absolute() else Path(default)


def scenarios(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from fstui.runs import scenarios as scenario_files  # noqa: PLC0415

    own, _ = _run(scenario_files.load_own())
    return _items(incomplete, ((name, scenario.title) for name, scenario in (*scenario_files.load_shipped(), *own)))


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the key of a setting of the scenario on the command line, and after ``KEY=`` the value."""
    from fstui.runs import scenarios as scenario_files  # noqa: PLC0415

    # after a --set without a value, click has not assigned the arguments to parameters yet
    scenario = ctx.params.get("scenario") or next(iter(ctx.args), "")
    try:
        form = _run(scenario_files.find(scenario)).settings
    except Refused:
        return []
    key, equals, _ = incomplete.partition("=")
    if not equals:
        return _items(incomplete, ((f"{name}=", setting.help) for name, setting in form.items()))
    choices = form[key].choices if key in form else ()
    return _items(incomplete, ((f"{key}={choice}", "") for choice in choices or ()))


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the id of a saved run, newest first. Return nothing if the saved runs cannot be read."""
    from fstui.runs import history  # noqa: PLC0415

    try:
        runs = [run for run in _run(history.summaries()) if run.id]
    except (OSError, Refused):
        return []
    descriptions = [(run.id, f"{run.verdict}, {run.scenario} on {run.target}") for run in runs]
    return _items(incomplete, [*descriptions, ("last", "the run that was saved last")])


def pages_and_words(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from fstui.report import explanation, glossary  # noqa: PLC0415
    from fstui.runs import rules  # noqa: PLC0415

    names = (*rules.rule_names(), *explanation.documentation(), *glossary.entries())
    return _items(incomplete, ((name, "") for name in names))


def directories(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


def _items(incomplete: str, candidates: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    return [CompletionItem(name, help=help_ or None) for name, help_ in candidates if name.startswith(incomplete)]


def _run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    import asyncio  # noqa: PLC0415  help needs no asyncio

    return asyncio.run(coroutine)
