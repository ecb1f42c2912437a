"""An SMB server that is this very box's Samba."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fstui.inventory.questions import commands
from fstui.inventory.survey import survey
from fstui.layers.samba import CHANGED, FILE, listening, strict_sync
from fstui.layers.sources.claims import Answer, Claims, line
from fstui.model.judgement import Judgement
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import look

BOOTED, TICKS = 1_700_000_000, 4242
STARTED = BOOTED + TICKS // os.sysconf("SC_CLK_TCK")
LISTENER = 'LISTEN 0 50 {}:{} 0.0.0.0:* users:(("{}",pid=802,fd=30))\n'
KERNELS_OWN = "LISTEN 0 64 1.2.3.4:1445 0.0.0.0:*\n"
SAID = "Load smb config files from /etc/samba/smb.conf\nLoaded services file OK.\n{}\n"


def serve(
    box: Box,
    *,
    address: str = "127.0.0.1",
    settings: str = "[global]\nstrict sync = no\n[data]\npath = /srv/data\n",
    command: str = "/usr/sbin/smbd --foreground",
    program: str = "/usr/sbin/smbd",
    namespace: str = "mnt:[4026531841]",
) -> None:
    box.mount(
        "//localhost/data", "/srv", "cifs", super_options=f"rw,vers=3.0,addr={address},port=1445" if address else "rw"
    )
    box.write(FILE, settings)
    box.write("/proc/stat", f"cpu 1 2 3\nbtime {BOOTED}")
    box.write("/proc/802/stat", f"802 (smbd) S 1 {'0 ' * 17}{TICKS} 0 0")
    box.write("/proc/802/cmdline", command.replace(" ", "\0") + "\0")
    box.link("/proc/802/exe", program)
    for number, where in (("self", "mnt:[4026531841]"), ("802", namespace)):
        box.link(f"/proc/{number}/ns/mnt", where)
        box.link(f"/proc/{number}/root", "/")


def told(strict: str = "No", *, program: str = "smbd", changed: int = STARTED - 60, more: str = "") -> Claims:
    """What ``ss``, ``testparm`` and ``stat`` answer."""
    lines = LISTENER.format("0.0.0.0", 1445, program) + LISTENER.format("[::]", 1445, program) + more
    return {
        line(listening("1445")): Answer(output=lines),
        line(strict_sync("data")): Answer(output=SAID.format(strict)),
        line(CHANGED): Answer(output=f"{changed}\n"),
    }


def judged(box: Box, claims: Claims) -> Judgement:
    return verdict(look(box, claims=claims))


def test_a_samba_of_this_box_that_flushes_nothing_is_told_by_its_own_settings(box: Box) -> None:
    serve(box)
    found = finding(judged(box, told()), "syncs-not-sent")
    assert found.title == "served strict sync = no: no flush is asked for"
    assert "this very box's own Samba" in found.sentence


def test_settings_that_were_put_there_with_an_older_date_are_new(tmp_path: Path) -> None:
    backup = tmp_path / "smb.conf"
    backup.touch()
    os.utime(backup, (0, 0))
    answered = subprocess.run([*CHANGED[:-1], backup], capture_output=True, check=True)
    assert int(answered.stdout) > STARTED


def test_root_asks_for_what_must_be_known_of_the_server(box: Box) -> None:
    serve(box)
    asked = {line(command) for command in commands(survey(box.root), root=True)}
    assert told().keys() <= asked
    assert not told().keys() & {line(command) for command in commands(survey(box.root), root=False)}


@pytest.mark.parametrize("claims", [
    {}, told("Yes"), told(program="proxy"), told(changed=STARTED + 1), told("Unknown section data"),
    told(more=LISTENER.format("1.2.3.4", 1445, "other")), told(more=KERNELS_OWN),
    {**told(), line(CHANGED): Answer(error="no such file")},
])  # fmt: skip
def test_what_cannot_be_read_for_certain_accuses_nobody(box: Box, claims: Claims) -> None:
    serve(box)
    assert "syncs-not-sent" not in rules(judged(box, claims))


@pytest.mark.parametrize("server", [
    {"address": "10.1.2.3"}, {"address": ""}, {"command": "/usr/sbin/smbd -s /etc/other.conf"},
    {"command": "/usr/sbin/smbd -Ds /etc/other.conf"},
    {"command": "/usr/sbin/smbd --configfile=/etc/other.conf"}, {"command": "/usr/sbin/smbd --option=strictsync=yes"},
    {"program": "/usr/local/samba/sbin/smbd"}, {"namespace": "mnt:[4026532999]"},
    {"settings": "[global]\n  include = registry\n"}, {"settings": "[global]\nconfig backend = registry\n"},
])  # fmt: skip
def test_a_server_that_may_read_other_settings_is_not_followed(box: Box, server: dict[str, str]) -> None:
    serve(box, **server)
    assert "syncs-not-sent" not in rules(judged(box, told()))


@pytest.mark.parametrize(("file", "content"), [
    ("/proc/802/stat", f"802 (smbd) S 1 {'0 ' * 17}odd 0 0"), ("/proc/802/stat", "802 (smbd) S"),
    ("/proc/stat", f"btime {'9' * 5000}"), ("/proc/stat", "btime soon"),
], ids=["no number", "cut off", "too many digits", "no time"])  # fmt: skip
def test_odd_times_are_none(box: Box, file: str, content: str) -> None:
    serve(box)
    box.write(file, content)
    assert "syncs-not-sent" not in rules(judged(box, told()))
