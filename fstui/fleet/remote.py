"""What runs on a box: a shell script of POSIX's words, handed to ssh as its command.

It says each thing in a line of its own behind a mark that only this fleet knows, as login scripts write to stdout too.
The script ends what it has started when its stdin closes: that is how a box notices that nobody waits for it any more.
"""

from __future__ import annotations

import shlex

from fstui.fleet.asked import Asked

_SAYS = """umask 077; LC_ALL=C.UTF-8; export LC_ALL
say() { printf '\\n%s %s\\n' "$mark" "$*"; }
"""

_PLACE = """place=
[ -z "$wanted" ] && set -- "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/fstui-fleet" \
"/var/tmp/fstui-fleet-$(id -u)" "/tmp/fstui-fleet-$(id -u)" || set -- "$wanted"
for one; do
  mkdir -p "$one" 2>/dev/null && [ -O "$one" ] && [ ! -L "$one" ] && chmod 700 "$one" || continue
  tried=$one/.tried-$$
  printf '#!/bin/sh\\n' 2>/dev/null >"$tried" && chmod 700 "$tried" && [ -x "$tried" ] && place=$one
  rm -f "$tried"
  [ -z "$place" ] || break
done
[ -n "$place" ] || { say "trouble no directory there takes a program ($*: not writable, full, noexec or another \
user's): --place names one"; exit 0; }
file=$place/fstui-$(echo "$digest" | cut -c 1-16).pyz
FSTUI_UNPACK=$place/unpacked; export FSTUI_UNPACK
"""

_PYTHON = """python=
for one in python3 python3.14 python3.13 python3.12 python3.11; do
  if "$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$one; break; fi
done
[ -n "$python" ] || { say "trouble there is no Python 3.11 or newer"; exit 0; }
"""

_CURRENT = """[ "$(sha256sum 2>/dev/null <"$file")" = "$digest  -" ]"""

_SHARES = """stands=$("$python" -c "$patient" "$looking" "$directory") || {
  say "trouble $directory gives no answer for 5 s: its disk or server hangs"; exit 0; }
echo "$stands" | while read -r one; do [ -z "$one" ] || say "stands $one"; done
"""

_ABANDONED = """
import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]], stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
try:
    print(child.communicate(timeout=5)[0])
except subprocess.TimeoutExpired:
    child.kill()
    sys.exit(1)
"""
"""Who looks at a directory that hangs cannot be ended: it is left behind with a pipe that nobody reads."""

_LOOKING = """
import os, sys
found = os.stat(sys.argv[1]).st_dev
device = f'{os.major(found)}:{os.minor(found)}'
def word(path):
    try:
        with open(path) as file:
            return ' '.join(file.read().split())
    except OSError:
        return ''
def below(path):
    try:
        names = sorted(os.listdir(f'{path}/slaves'))
    except OSError:
        names = []
    if names:
        for name in names:
            below(f'{path}/slaves/{name}')
        return
    whole = os.path.dirname(os.path.realpath(path)) if os.path.exists(f'{path}/partition') else path
    serials = (word(f'{whole}/{name}') for name in ('wwid', 'device/wwid', 'serial', 'device/serial'))
    serial = next(filter(None, serials), '')
    if serial:
        print('serial', serial)
if os.path.isdir(f'/sys/dev/block/{device}'):
    below(os.path.realpath(f'/sys/dev/block/{device}'))
else:
    for line in open('/proc/self/mountinfo', errors='replace'):
        fields, _, kind = line.partition(' - ')
        if fields.split()[2] == device and ':' in kind.split()[1]:
            print('volume', kind.split()[1])
            break
"""

_RUN = """trap '' PIPE
exec 3<&0
say begin
{command} </dev/null 3<&- & run=$!
( cat <&3; kill -TERM $run ) >/dev/null 2>&1 & watch=$!
exec 3<&-
wait $run; code=$?
kill $watch 2>/dev/null
say "end $code"
"""

_USING = """using=$place/.using-$$; : >"$using"
"""
_USED = """rm -f "$using"
"""
_REMOVE = """for one in "$place"/.using-*; do kill -0 "${one##*-}" 2>/dev/null && exit 0; done
rm -rf "$place/unpacked" "$file" "$place"/.using-*; rmdir "$place" 2>/dev/null
"""
"""Not while another fleet runs it."""


def look(asked: Asked, mark: str, digest: str) -> str:
    """Is the file there, and what does the directory stand on? Says ``stands …``, ``copy`` or ``ready``."""
    shares = _SHARES if asked.directory else ""
    ready = "say ready" if asked.installed else f"{_CURRENT} && say ready || say copy"
    place = "" if asked.installed else _PLACE
    return _whole(asked, mark, digest, f"{place}{_PYTHON}{shares}{ready}")


def receive(asked: Asked, mark: str, digest: str) -> str:
    """Take the file from stdin, whole or not at all. Says ``ready``, or what went wrong."""
    script = f"""{_PLACE}find "$place" -name 'fstui-*.pyz.*' -mmin +60 -exec rm -f {{}} +
cat >"$file.$$" && mv "$file.$$" "$file" && {_CURRENT} && say ready && exit 0
rm -f "$file.$$"; say "trouble the file could not be written to $place: $(df -P "$place" | tail -n 1)"
"""
    return _whole(asked, mark, digest, script)


def run(asked: Asked, mark: str, digest: str) -> str:
    """The command itself, between ``begin`` and ``end`` with its exit status."""
    words = " ".join(map(shlex.quote, (asked.command, *asked.arguments)))
    if asked.installed:
        return _whole(asked, mark, digest, _RUN.format(command=f"{asked.installed} {words}"))
    remove = _REMOVE if asked.remove else ""
    return _whole(asked, mark, digest, _PLACE + _USING + _RUN.format(command=f'sh "$file" {words}') + _USED + remove)


def _whole(asked: Asked, mark: str, digest: str, script: str) -> str:
    """As a login shell of any kind takes it: one word for ``sh -c``."""
    known = {"mark": mark, "digest": digest, "wanted": asked.place, "directory": asked.directory, "looking": _LOOKING}
    known["patient"] = _ABANDONED
    head = "".join(f"{name}={shlex.quote(value)}\n" for name, value in known.items())
    as_root = {"": "", "sudo": "sudo -n -- ", "doas": "doas -n "}[asked.become]
    return f"exec {as_root}sh -c {shlex.quote(head + _SAYS + script)}"
