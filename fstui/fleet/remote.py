"""A request to hosts, their names, and the shell scripts that run on them.

The scripts are POSIX shell, passed to ssh as its command. Each line of their output starts with a random mark, because
login scripts also write to stdout. When the stdin of a script closes, the connection is lost, so the script ends the
command that it started.

fstui.pyz (*the file* below) is copied to a directory that no other user can replace: each directory above it belongs to
root or this user, and is writable by others only if its sticky bit is set. The script uses the user's cache directory
if it is safe in this way, otherwise a new directory from mktemp(1).
"""

import base64
import re
import shlex
import sys
from collections.abc import Iterable

from fstui.model.base import Base
from fstui.model.errors import Refused

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*")
"""A host's name becomes a word of a command line and a file name, so it has no slash, no space, no leading dash."""
NO_CLUSTERSHELL = (
    "fstui fleet needs ClusterShell, which is not installed. Install it: "
    f"{shlex.quote(sys.executable)} -m pip install 'ClusterShell>=1.9.3'"
)
TEMPORARY = "/fstui-fleet."
"""Part of the path of a directory from mktemp(1). Such a directory is always removed, because no later request finds
it."""

_PRELUDE = """umask 077; LC_ALL=C.UTF-8; export LC_ALL; unset CDPATH
say() { printf '\\n%s %s\\n' "$mark" "$*"; }
"""

_PATH_FUNCTIONS = """uid=$(id -u)
is_trusted() { set -- $(ls -ldn -- "$1"); [ "$3" = 0 ] || [ "$3" = "$uid" ]; }  # $1 belongs to root or this user
entries_are_safe() {  # no other user can rename or replace entries of "."
  is_trusted . || return 1
  case $(ls -ldn .) in d????-??-*|d????????[tT]*) return 0 ;; *) return 1 ;; esac
}
path_is_safe() ( while entries_are_safe; do [ "$(pwd -P)" != / ] || exit 0; cd .. || exit 1; done; exit 1 )
is_own() {  # "." belongs to this user, and no other user can write to it or replace it
  case $(ls -ldn .) in d????-??-*) [ -O . ] && path_is_safe ;; *) return 1 ;; esac
}
can_hold_programs() {  # "." is this user's own, and a program can be written and executed in it
  is_own || return 1
  { printf '#!/bin/sh\\n' >".tried-$$" && chmod 700 ".tried-$$" && [ -x ".tried-$$" ]; } 2>/dev/null
  set -- $?; rm -f ".tried-$$"; return $1
}
enter() {  # change to the directory $1, never through an entry of another user; create missing directories
  case $1 in /*) ;; *) set -- "$PWD/$1" ;; esac
  cd / || return 1
  set -f; IFS=/; set -- $1; unset IFS; set +f
  for entry; do
    [ -n "$entry" ] || continue
    entries_are_safe || return 1
    if [ -e "$entry" ] || [ -L "$entry" ]; then is_trusted "$entry"; else mkdir -- "$entry" 2>/dev/null; fi || return 1
    cd -P -- "$entry" 2>/dev/null || return 1
  done
}
cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
[ -n "$wanted" ] && has_option=yes || { has_option=; wanted=${cache:+$cache/fstui-fleet}; }
is_in_use() {  # a running command uses the file
  for marker in "$place"/.using-*; do kill -0 "${marker##*-}" 2>/dev/null && return; done
  return 1
}
"""

_FIND_PLACE = f"""{_PATH_FUNCTIONS}place=$([ -n "$wanted" ] && enter "$wanted" && can_hold_programs && pwd -P)
"""

_CREATE_PLACE = """make_in() {  # create a directory in $1 and print its path
  cd -P "$1" 2>/dev/null && path_is_safe && made=$(mktemp -d ./fstui-fleet.XXXXXXXXXX 2>/dev/null) || return 1
  cd -P "$made" && { can_hold_programs && pwd -P || { rmdir "../${made#./}"; return 1; }; }
}
# if the user named a directory with --place, no other directory is used
[ -n "$place" ] || [ -n "$has_option" ] || place=$(make_in /var/tmp) || place=$(make_in /tmp)
"""

_REQUIRE_PLACE = """[ -n "$place" ] || { say "trouble no directory there can hold a program \
(${wanted:-no HOME}: not writable, full, noexec or writable for another user). Name one with --place"; exit 0; }
"""

_SET_FILE = """file=$place/fstui-$(echo "$digest" | cut -c 1-16).pyz
"""

_REQUIRE_PYTHON = """python=
for name in python3 python3.14 python3.13 python3.12 python3.11; do
  if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$name; break; fi
done
[ -n "$python" ] || { say "trouble there is no Python 3.11 or newer"; exit 0; }
"""

_FILE_IS_CURRENT = """[ "$(sha256sum 2>/dev/null <"$file")" = "$digest  -" ]"""

_RECEIVE_FILE = f"""find "$place" -name 'fstui-*.pyz.*' -mmin +60 -exec rm -f {{}} +
cat >"$file.$$" && mv "$file.$$" "$file" && {_FILE_IS_CURRENT} && {{ say "ready $place"; exit 0; }}
say "trouble fstui.pyz could not be written to $place: $(df -P "$place" | tail -n 1)"; rm -f "$file.$$"
case $place in *{TEMPORARY}*) rm -f "$file"; rmdir "$place" ;; esac
"""

_RUN_COMMAND = """trap '' PIPE
exec 3<&0
say begin
{command} </dev/null 3<&- & run=$!
( cat <&3; kill -TERM $run ) >/dev/null 2>&1 & watcher=$!
exec 3<&-
wait $run; code=$?
kill $watcher 2>/dev/null
say "end $code"
"""

_MARK_IN_USE = f"""FSTUI_UNPACK=$place/unpacked; export FSTUI_UNPACK
using=$place/.using-$$; : >"$using"
{_FILE_IS_CURRENT} || {{ say "trouble fstui.pyz was replaced after it was copied to $place"; rm -f "$using"; exit 0; }}
"""
_UNMARK_AND_REPORT_SIZE = """rm -f "$using"
say "stays $(du -sk "$place" | cut -f 1)"
"""
_WRITE_SCENARIO = """own=$(mktemp) && printf '%s' {text} | base64 -d >"$own" && exec 4<"$own" ||
  {{ say "trouble the scenario could not be written to ${{own:-/tmp}}"; rm -f "$own"; exit 0; }}
rm -f "$own"
"""
"""The scenario file is unlinked at once, so none is left if the connection breaks. A descriptor keeps it readable."""
_SCENARIO_PATH = "/proc/$$/fd/4"
_REMOVE_FILE = """is_in_use && exit 0
rm -rf "$place/unpacked" "$file" "$place"/.using-*; rmdir "$place" 2>/dev/null
"""
"""This script removes nothing while another command uses the file."""

_CLEAN = f"""state=${{XDG_STATE_HOME:-${{HOME:+$HOME/.local/state}}}}
for id in $ids; do rm -f "${{state:-/nonexistent}}/fstui/runs"/*-"$id".json; done
say begin
{_PATH_FUNCTIONS}[ -d "$wanted" ] || {{ say "end 0"; exit 0; }}
place=$(enter "$wanted" && is_own && pwd -P) || {{ say "trouble $wanted is not a directory of fstui fleet"; exit 0; }}
if is_in_use; then say "trouble another 'fstui fleet' command is using $place"; exit 0; fi
rm -rf "$place/unpacked" "$place"/fstui-*.pyz "$place"/.using-* ||
  {{ say "trouble the files in $place could not be removed"; exit 0; }}
rmdir "$place" 2>/dev/null
say "end 0"
"""
"""This script does not call ``can_hold_programs``, which writes to the directory: its filesystem may be full."""


class Request(Base, frozen=True, kw_only=True):
    command: str
    """run | check | watch | list"""
    arguments: tuple[str, ...] = ()
    become: str = ""
    """sudo | doas: become root with this command, without a password."""
    installed: str = ""
    """The command that starts fstui on the hosts; empty: copy the file to them."""
    place: str = ""
    """The directory for the file; empty: the user's cache directory, or a temporary one."""
    remove: bool = False
    """Remove the file when the command has ended."""
    scenario: str = ""
    """The text of a scenario that the hosts do not have. The path of its file replaces the first argument."""
    ssh: str = "ssh"
    """The ssh command line, with the user's own options."""
    fanout: int = 64
    connect_s: int = 10
    timeout_s: float = 120.0
    """Seconds for one host, from the connection to its document."""


def nodes_of(text: str) -> tuple[str, ...]:
    """Return the names in a node set such as ``db[1-40],@storage``. Raises Refused."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException  # noqa: PLC0415  an optional dependency
    except ImportError:
        raise Refused(NO_CLUSTERSHELL) from None
    try:
        nodes = tuple(NodeSet(text))
    except NodeSetException as error:
        raise Refused(f"--nodes {text}: {error}") from None
    for name in nodes:
        if _NAME.fullmatch(name) is None:
            raise Refused(
                f"--nodes {text}: {name!r} is not a host name. Use letters, digits, dots and dashes, and user@"
            )
    if not nodes:
        raise Refused(f"--nodes {text}: it names no host")
    return nodes


def fold(names: Iterable[str]) -> str:
    """Return ``db[1-40]``, or the names separated by commas if they cannot be folded."""
    nodes = list(names)
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException  # noqa: PLC0415
    except ImportError:
        return ",".join(nodes)
    try:
        return str(NodeSet.fromlist(nodes))
    except NodeSetException:
        return ",".join(nodes)


def find_script(request: Request, mark: str, digest: str) -> str:
    """Return the script that prints ``ready PLACE``, or ``copy`` if the file is missing or damaged."""
    reply = f'[ -n "$place" ] && {_FILE_IS_CURRENT} && say "ready $place" || say copy'
    return _ssh_argument(request, mark, digest, request.place, f"{_REQUIRE_PYTHON}{_FIND_PLACE}{_SET_FILE}{reply}")


def receive_script(request: Request, mark: str, digest: str) -> str:
    """Return the script that writes its stdin to the file, completely or not at all, and prints ``ready PLACE``."""
    script = _FIND_PLACE + _CREATE_PLACE + _REQUIRE_PLACE + _SET_FILE + _RECEIVE_FILE
    return _ssh_argument(request, mark, digest, request.place, script)


def run_script(request: Request, mark: str, digest: str, place: str) -> str:
    """Return the script that runs the command. It prints ``begin``, the document, and ``end`` with the exit status."""
    words = [request.command, *map(shlex.quote, request.arguments)]
    write_scenario = ""
    if request.scenario:
        text = base64.b64encode(request.scenario.encode()).decode()
        write_scenario, words[1] = _WRITE_SCENARIO.format(text=text), _SCENARIO_PATH
    if request.installed:
        command_script = _RUN_COMMAND.format(command=f"{request.installed} {' '.join(words)}")
        return _ssh_argument(request, mark, digest, "", write_scenario + command_script)
    is_removed = request.remove or TEMPORARY in place
    command_script = _MARK_IN_USE + write_scenario + _RUN_COMMAND.format(command=f'sh "$file" {" ".join(words)}')
    cleanup = f'rm -f "$using"\n{_REMOVE_FILE}' if is_removed else _UNMARK_AND_REPORT_SIZE
    script = _FIND_PLACE + _REQUIRE_PLACE + _SET_FILE + command_script + cleanup
    return _ssh_argument(request, mark, digest, place, script)


def clean_script(request: Request, mark: str, runs: Iterable[str]) -> str:
    """Return the script that removes the saved runs with these ids, the file and what it unpacked."""
    return _ssh_argument(request, mark, "", request.place, f"ids={shlex.quote(' '.join(runs))}\n{_CLEAN}")


def _ssh_argument(request: Request, mark: str, digest: str, place: str, script: str) -> str:
    """Return the command for ssh. It replaces the login shell with sh, because csh cannot run the script."""
    variables = {"mark": mark, "digest": digest, "wanted": place}
    assignments = "".join(f"{name}={shlex.quote(value)}\n" for name, value in variables.items())
    as_root = {"": "", "sudo": "sudo -n -- ", "doas": "doas -n "}[request.become]
    return f"exec {as_root}sh -c {shlex.quote(assignments + _PRELUDE + script)}"
