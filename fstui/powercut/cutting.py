"""Run a campaign on the witness: cut the power of HOST repeatedly with the user's commands, and verify each cut."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fstui import proc, ssh
from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.errors import Refused, local_time
from fstui.model.quantities import count, seconds
from fstui.powercut.campaign import PATTERNS, CampaignCut, CampaignSettings, Outcome, Step, Store
from fstui.powercut.log import BadLog
from fstui.powercut.power_cuts import figures_of
from fstui.powercut.records import PREFIX
from fstui.powercut.shell import LOOK_S, CommandResult, ShellCommand
from fstui.powercut.witness import SILENT_S, LogNotWritten, Witness

CONNECT_S = 10
ANSWER_S = 60.0
VERIFY_S = 900.0
FIRST_S = 600.0
"""Limit for the first acknowledgement. Before it, HOST fills the files or makes a database."""
ALIVE_S = 15.0
"""How long HOST may go on after the off command has returned. Some power strips switch after they have answered."""
RETRY_S = 1.0
END_S = 2.0
"""How long a writer may take to end after its connection broke."""
MAX_LOG_BYTES = 200 << 20
MAX_IN_A_ROW = 3
"""After this many cuts in a row that did not happen, something is wrong with the commands."""
MAX_REASON, MAX_PRINTED = 500, 200
VERIFIED = (0, 1)
"""The exit statuses of ``powercut verify`` with a complete document; 1: HOST could not save it."""
KEPT_LOSSES = 3
"""HOST keeps the records of the first cuts with a loss, for at most this many cuts."""
NO_DEVICE = "does not exist"
"""Words of mount(8) if there is no such device. Then nothing is known about the data."""
_BOOT_ID = re.compile(rb"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.MULTILINE)
_READ_BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
_FOREVER_S = 1e9


class Stopped(Exception):  # noqa: N818  its message is printed
    """The campaign cannot go on. The message says why; everything stays as it is."""


class CutCampaign:
    """Continues a campaign until all its cuts are done."""

    def __init__(
        self,
        store: Store,
        show: Callable[[str], object],
        finished: Callable[[CampaignCut], object],
        *,
        mount_fails: bool = False,
    ) -> None:
        """``show`` is called with a phrase about the current step, ``finished`` with each cut that ends."""
        self.store = store
        self.cut = self._next()
        self._show = show
        self._finished = finished
        self._mount_fails = mount_fails
        self._stopping = False
        self._boot = ""
        """The boot id of HOST after the previous cut; empty if unknown."""
        self._off: ShellCommand | None = None
        self._off_returned: tuple[CommandResult, float] | None = None

    @property
    def settings(self) -> CampaignSettings:
        return self.store.settings

    def stop(self) -> None:
        """End after the current cut. Safe in a signal handler."""
        self._stopping = True

    def go(self) -> None:
        """Make all cuts. Raises Stopped, Refused, OSError."""
        while len(self.store.happened) < self.settings.cuts and not self._stopping:
            self.cut = self._next()
            self._continue(resumed=self.cut in self.store.cuts)
            newest = [cut for cut in self.store.cuts if cut.outcome != "refused"][-MAX_IN_A_ROW:]
            if len(newest) == MAX_IN_A_ROW and not any(cut.happened for cut in newest):
                raise Stopped(
                    f"{MAX_IN_A_ROW} cuts in a row did not happen. The last one: {newest[-1].reason}. Check the off "
                    "and the on command"
                )

    def _next(self) -> CampaignCut:
        return self.store.current(local_time().isoformat(timespec="seconds"))

    def _continue(self, *, resumed: bool) -> None:
        interrupted = resumed and self.cut.step in ("off", "on")
        if self.cut.step == "write":
            self._finish("no-cut", "the witness was stopped before the power was cut")
            self._boot = ""  # HOST may have restarted since
            return
        if self.cut.step == "off":
            self._save("off", spoiled="the witness was stopped while the off command ran")
        if self.cut.step == "start":
            self._start()
            if not self._write():
                return
        if self.cut.step in ("off", "wait", "on"):
            self._switch_on(interrupted=interrupted)
        if self.cut.step == "back":
            self._wait_for_host()
        self._verify()

    def _save(self, step: Step, **changes: Any) -> CampaignCut:
        self.cut = self.store.save(msgspec.structs.replace(self.cut, step=step, **changes))
        return self.cut

    def _finish(self, outcome: Outcome, reason: str = "", **changes: Any) -> None:
        if outcome == "no-cut" and self.cut.off_printed:
            reason += f". The off command printed: {self.cut.off_printed}"
        self._boot = self.cut.boot_after or self.cut.boot_before
        self._finished(self._save("done", outcome=outcome, reason=reason[:MAX_REASON], **changes))

    # on HOST

    def _on_host(self, script: str) -> list[str]:
        return [*ssh.command_line(self.settings.ssh, CONNECT_S), "--", self.settings.host, script]

    def _ask(self, script: str, timeout_s: float, stdin: Path | None = None) -> CommandResult:
        return ShellCommand(self._on_host(script), timeout_s, stdin).wait()

    def _fstui(self, *words: str) -> str:
        return f"{self.settings.installed} powercut {shlex.join(words)}"

    def _boot_id(self) -> tuple[str, str]:
        """Return the boot id of HOST, or an empty string and the reason why there is none."""
        answer = self._ask(_READ_BOOT_ID, ANSWER_S)
        boot_ids = [match[0] for match in _BOOT_ID.finditer(answer.out)]  # a login script may print more
        return (boot_ids[-1].decode(), "") if boot_ids else ("", _trouble(answer))

    def _start(self) -> None:
        settings = self.settings
        boot = self._answering("it does not answer")
        if boot == proc.boot_id():
            raise Stopped(f"{settings.host} is this machine, which would lose its power, too")
        if self._boot and boot != self._boot:
            raise Stopped(
                f"{settings.host} has restarted between two cuts. Another campaign or a person switches it, or the off "
                "command takes effect late"
            )
        if leftover := self._leftover():
            remove = f"rm -rf -- {shlex.quote(leftover)}"
            self._run_on_host(remove, "the records of the cut before could not be removed")
        if settings.remake and self.store.cuts and self.store.cuts[-1].outcome == "lost":
            self._show("making the filesystem anew")
            self._run_on_host(settings.remake, "the --remake command failed")
        if settings.mount:
            self._run_on_host(settings.mount, "the --mount command failed")
        self._save("start", boot_before=boot)

    def _answering(self, silent: str) -> str:
        """Wait until HOST answers, and return its boot id. Raises Stopped; ``silent``: the beginning of its message."""
        began = time.monotonic()
        while True:
            waited_s = time.monotonic() - began
            self._show(f"waiting for {self.settings.host}: {seconds(waited_s)}")
            boot, trouble = self._boot_id()
            if boot:
                return boot
            if waited_s > self.settings.back_s:
                raise Stopped(f"{self.settings.host}: {silent} within {seconds(waited_s)}: {trouble}")
            time.sleep(RETRY_S)

    def _run_on_host(self, script: str, failed: str) -> None:
        """Run a shell command on HOST. Raises Stopped with the words ``failed``."""
        answer = self._ask(script, self.settings.command_s)
        if answer.code != 0:
            raise Stopped(f"{self.settings.host}: {failed}: {_trouble(answer)}")

    def _leftover(self) -> str | None:
        """Return the directory with the records of the newest cut if it is to be removed (KEPT_LOSSES)."""
        newest = next((cut for cut in reversed(self.store.cuts) if cut.outcome != "refused"), None)
        if newest is None:
            return None
        losses = sum(cut.outcome == "lost" for cut in self.store.cuts)
        header = self.store.header(newest)
        if header is None or (newest.outcome == "lost" and losses <= KEPT_LOSSES):
            return None
        return f"{self.settings.directory.rstrip('/')}/{PREFIX}{header.run}"

    # the cut

    def _write(self) -> bool:
        """Start the writer and cut the power while it writes. Return whether the off command was started."""
        path = self.store.log(self.cut)
        path.unlink(missing_ok=True)
        words = ["write", self.settings.directory, "--yes"]
        words += ["--root-of", self.settings.root_of] if self.settings.root_of else []
        words += ["--trust-dir"] if self.settings.trust_dir else []
        words += [word for key, value in PATTERNS[self.cut.pattern].items() for word in ("--set", f"{key}={value}")]
        self._save("write")
        witness = Witness(path)
        writer = ShellCommand(self._on_host(self._fstui(*words)), _FOREVER_S, piped=True)
        self._off, self._off_returned = None, None
        spoiled = ""
        try:
            try:
                spoiled = self._cut_while_writing(witness, writer)
            except BadLog as bad:
                spoiled = f"the acknowledgements of {self.settings.host} cannot be read: {bad}"
            finally:
                ended = writer.kill(after_s=0.0 if self._off else END_S)
                witness.close()
        except LogNotWritten as error:
            raise Stopped(f"the acknowledgements cannot be saved: {error}") from None
        if self._off is None:
            self._not_cut(witness, ended, spoiled)
            return False
        while (returned := self._returned()) is None:  # the connection broke while the off command ran
            time.sleep(LOOK_S)
        off, returned_at = returned
        self._save(
            "wait",
            off_took_s=off.elapsed_s,
            off_printed=off.printed[-MAX_PRINTED:],
            silent_after_s=witness.acknowledged_at - returned_at,
            spoiled=spoiled,
        )
        return True

    def _cut_while_writing(self, witness: Witness, writer: ShellCommand) -> str:
        """Run the off command until HOST is silent. Returns why the cut proves nothing, or ''. Raises Stopped."""
        began, cut_at = time.monotonic(), 0.0
        for view in witness.listen(writer.stdout, LOOK_S):
            writer.poll()  # kills it if it prints too much
            if witness.path.stat().st_size > MAX_LOG_BYTES:
                return "HOST sent more than 200 MiB"
            now = time.monotonic()
            if not view.acknowledged:
                if now - began > FIRST_S:
                    return f"no acknowledgement within {seconds(FIRST_S)}"
                continue
            if not cut_at:
                if elsewhere := self._elsewhere(witness):
                    return elsewhere
                cut_at = now + self.cut.wait_s
            if now < cut_at:
                self._show(f"writing: {count(view.acknowledged)} acknowledged, power off in {seconds(cut_at - now)}")
                continue
            is_silent = view.since_line_s >= SILENT_S
            if self._off is None:
                if is_silent:
                    return f"HOST had been silent for {seconds(view.since_line_s)} when its power was to be cut"
                self._show("power off")
                self._save("off")
                self._off = self._command(self.settings.off)
            alive_s = now - returned[1] if (returned := self._returned()) else 0.0
            if returned and is_silent:
                break
            if returned and alive_s > ALIVE_S:
                return f"HOST was still writing {seconds(alive_s)} after the off command returned"
        return ""

    def _elsewhere(self, witness: Witness) -> str:
        """Return a clause if the records go to another filesystem than before, because DIR is not mounted."""
        assert witness.header is not None
        mount_point = witness.header.target.mount_point
        before = next((cut.mount_point for cut in self.store.happened), mount_point)
        return f"the records went to the filesystem of {mount_point}, not of {before}" if mount_point != before else ""

    def _returned(self) -> tuple[CommandResult, float] | None:
        """Return the result of the off command and when it ended; None while it runs. Raises Stopped if it failed."""
        if self._off_returned is None and self._off and (answer := self._off.poll()) is not None:
            self._check("off", answer)
            self._off_returned = answer, time.monotonic()
        return self._off_returned

    def _not_cut(self, witness: Witness, ended: CommandResult, spoiled: str) -> None:
        log = witness.log
        exited = ended.code in range(ssh.NO_CONNECTION)  # a smaller status is that of the writer, not of ssh
        if log is None and not spoiled and exited:
            self._finish("refused", _trouble(ended))
        elif log is not None and log.ended is not None:
            self._finish("no-cut", f"the writer ended by itself before the cut: {log.ended}")
        else:
            self._finish("no-cut", spoiled or f"the connection broke before the off command: {_trouble(ended)}")

    def _command(self, command: str) -> ShellCommand:
        return ShellCommand(["sh", "-c", command], self.settings.command_s)

    def _check(self, name: str, answer: CommandResult) -> None:
        """Raises Stopped if this command (off, on) failed."""
        if answer.code is None:
            raise Stopped(f"the {name} command did not end within {seconds(answer.elapsed_s)}: {answer.words}")
        if answer.code:
            raise Stopped(f"the {name} command failed (exit {answer.code}): {answer.words}")

    # after the cut

    def _switch_on(self, *, interrupted: bool) -> None:
        """Wait, then run the on command. ``interrupted``: HOST may be on already, because the witness was restarted."""
        if interrupted and self._boot_id()[0]:
            self._save("back")
            return
        if self.cut.step == "wait":
            self._show(f"power off for {seconds(self.settings.off_s)}")
            time.sleep(self.settings.off_s)
        self._show("power on")
        self._save("on")
        answer = self._command(self.settings.on).wait()
        if not interrupted or answer.code is None:  # the on command may fail if HOST is on already
            self._check("on", answer)
        self._save("back")

    def _wait_for_host(self) -> None:
        began = time.monotonic()
        silent = f"it has not come back after cut {self.cut.number}, and nothing was removed. It did not answer"
        boot = self._answering(silent)
        self._save("verify", boot_after=boot, back_after_s=time.monotonic() - began)

    def _verify(self) -> None:
        answer, mount_error = self._read_back()
        try:
            figures = figures_of(decode_run(answer.out))
        except Refused as refusal:
            raise self._cannot_verify(f"its answer is no run document: {refusal}") from None
        header = self.store.header(self.cut)
        if header is None or figures is None or figures.cut != header.run:
            raise self._cannot_verify("its answer is about another cut")
        if figures.read_only and not figures.any_lost:
            raise self._cannot_verify("its filesystem is mounted read-only, and may be damaged")
        self.store.save_run(self.cut, answer.out)
        changes: dict[str, Any] = {"figures": figures, "mount_point": header.target.mount_point}
        if figures.any_lost:
            self._finish("lost", mount_error, **changes)
        elif why := self._no_cut(figures):
            self._finish("no-cut", why, **changes)
        else:
            self._finish("intact", **changes)
        if figures.any_lost and figures.unmountable and not self.settings.remake:
            raise Stopped(
                f"the filesystem of {self.settings.directory} could not be mounted after cut {self.cut.number}. "
                "Make it anew before the same command continues, or let --remake do that"
            )

    def _no_cut(self, figures: PowerCutFigures) -> str:
        """Return why the cut proves nothing although no record is lost."""
        if self.cut.spoiled:
            return self.cut.spoiled
        if self.cut.boot_after == self.cut.boot_before:
            return f"the boot id of {self.settings.host} did not change"
        return "" if figures.survived else figures.ended or "no record had to be there"

    def _read_back(self) -> tuple[CommandResult, str]:
        """Return HOST's verification, and an empty string or the reason why DIR could not be mounted for it."""
        began = time.monotonic()
        while True:
            self._show("verifying")
            mounted = self._ask(self.settings.mount, self.settings.command_s) if self.settings.mount else None
            answer = self._read_records(mount_fails=self._mount_fails)
            if answer.out and answer.code in VERIFIED:
                self._mount_fails = False
                return answer, ""
            if time.monotonic() - began > self.settings.back_s:
                if mounted is None or mounted.code in (0, None, ssh.NO_CONNECTION):
                    raise self._cannot_verify(_trouble(answer))
                if NO_DEVICE in mounted.printed:
                    raise self._cannot_verify(f"its disk is missing or has another name: {mounted.printed}")
                return self._read_records(mount_fails=True), f"the filesystem did not mount: {mounted.words}"
            time.sleep(RETRY_S)

    def _read_records(self, *, mount_fails: bool) -> CommandResult:
        words = ["verify", self.settings.directory, "--format", "json", *(["--mount-fails"] if mount_fails else [])]
        words += ["--cut", self.settings.kind] if self.settings.kind != "power" else []
        return self._ask(self._fstui(*words), VERIFY_S, self.store.log(self.cut))

    def _cannot_verify(self, why: str) -> Stopped:
        return Stopped(
            f"cut {self.cut.number} cannot be verified: {why}. {self.settings.host} is up, and nothing was removed. "
            "Run the same command again when the filesystem is mounted read-write, or with --mount-fails if it cannot "
            "be mounted"
        )


def _trouble(answer: CommandResult) -> str:
    """Return in a few words why a command on HOST failed."""
    if answer.code is None:
        return f"no answer within {seconds(answer.elapsed_s)}"
    return ssh.message(answer.err) or answer.words.rpartition("fstui: ")[2]
