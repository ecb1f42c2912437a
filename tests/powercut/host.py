"""A made-up host for campaigns: an ssh that runs commands here, a power plug, and an fstui that writes nothing."""

from pathlib import Path

import msgspec

from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode
from fstui.powercut.campaign import CampaignCut, CampaignSettings, CampaignStore
from fstui.powercut.cutting import CutCampaign
from fstui.powercut.header import PowerCutHeader
from tests.powercut.headers import HEADER

SAVED = Path(__file__).parent / "saved"
RUN = msgspec.json.decode(HEADER, type=PowerCutHeader).run
RESET = "1970-01-01T00:00:00+00:00"
_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
cd {home}
[ -e unresolved ] && { echo 'ssh: Could not resolve hostname db1: Name or service not known' >&2; exit 255; }
[ -e down ] && { echo 'ssh: connect to host db1 port 22: Connection refused' >&2; exit 255; }
exec sh -c "$(printf '%s' "$3" | sed 's,/proc/sys/kernel/random/boot_id,boot,')"
"""
_FSTUI = """#!/bin/sh
cd {home}
case $2 in
    write)
        [ -e refuses ] && { echo 'fstui: open: Invalid argument' >&2; exit 2; }
        echo $$ >writer
        printf '%s\\n' "$*" >>written
        cat header; echo
        [ -e ssh-dies ] && { echo 'ack 0 0 0'; echo 'Connection reset by peer' >&2; exit 255; }
        [ -e goes-silent ] && { echo 'ack 0 0 0'; exec sleep 60; }
        n=0; while :; do echo "ack 0 $n $n"; echo "alive $n"; n=$((n + 1)); sleep 0.01; done ;;
    verify)
        cat >log; echo "$*" >>verified
        [ -e verify-dies ] && { rm verify-dies; head -c 99 answer.json; exit 255; }
        case $* in *--mount-fails*) cat unmountable.json ;; *) cat answer.json ;; esac ;;
esac
"""
_OFF = """cd {home}; echo off >>plug
[ -e broken ] && {{ echo 'no such outlet [3]'; exit 7; }}; [ -e hangs ] && sleep 20
[ -e wrong-plug ] && {{ echo 'no session' >&2; exit 0; }}; {{ touch down; kill -9 $(cat writer); }}"""
_ON = """cd {home}; echo on >>plug
[ -e on-broken ] && {{ echo 'no such outlet [3]'; exit 7; }}; [ -e on-hangs ] && sleep 20
[ -e dead ] && exit; rm -f down
[ -e same-boot ] || cat /proc/sys/kernel/random/uuid >boot"""


class MadeUpHost:
    """The files of the host are in ``home``. Files with certain names, such as ``dead``, change its behaviour."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir()
        for name, text in (("ssh", _SSH), ("fstui", _FSTUI)):
            (home / name).write_text(text.replace("{home}", str(home)))
            (home / name).chmod(0o755)
        (home / "header").write_bytes(HEADER)
        self.set("boot", Path("/proc/sys/kernel/random/uuid").read_text())
        self.answers("kept")
        self.answers("kept", "unmountable.json", unmountable=True, checked=0, present=0)
        self.shown: list[str] = []
        self.finished: list[CampaignCut] = []

    def set(self, name: str, text: str = "") -> None:
        (self.home / name).write_text(text)

    def unset(self, name: str) -> None:
        (self.home / name).unlink()

    def answers(self, saved: str, name: str = "answer.json", **changes: object) -> None:
        """Let ``verify`` print a saved document with changed figures. The cut has reset the clock of the host."""
        run = decode_run((SAVED / f"{saved}.json").read_bytes())
        figures = msgspec.structs.replace(run.steps[0].figures, cut=RUN, rebooted=True, **changes)  # type: ignore[type-var]
        steps = (msgspec.structs.replace(run.steps[0], figures=figures),)
        (self.home / name).write_bytes(encode(msgspec.structs.replace(run, steps=steps, started_at=RESET)))

    def settings(self, **changes: object) -> CampaignSettings:
        made = CampaignSettings(
            host="db1",
            directory="/srv",
            off=_OFF.format(home=self.home),
            on=_ON.format(home=self.home),
            cuts=2,
            wait_s=(0.0, 0.1),
            kind="power",
            seed=7,
            ssh=str(self.home / "ssh"),
            installed=str(self.home / "fstui"),
            mount="",
            remake="",
            root_of="",
            trust_dir=False,
            off_s=0.0,
            back_s=0.2,
            command_s=5.0,
            started_at="2026-11-26T15:00:00+00:00",
        )
        return msgspec.structs.replace(made, **changes)

    def campaign(self, into: Path, settings: CampaignSettings | None = None, **how: bool) -> CutCampaign:
        store = CampaignStore.open(into, settings)
        return CutCampaign(store, self.shown.append, self.finished.append, **how)
