"""Run a campaign on the witness: cut the power of HOST repeatedly with the user's commands, and verify each cut."""

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
from fstui.model.errors import Refused
from fstui.model.quantities import count, seconds
from fstui.powercut.campaign import PATTERNS, CampaignCut, CampaignSettings, CampaignStore, Outcome, Step
from fstui.powercut.log import BadLog
from fstui.powercut.power_cuts import figures_of
from fstui.powercut.records import directory_of
from fstui.powercut.shell import POLL_INTERVAL_S, CommandResult, ShellCommand
from fstui.powercut.witness import SILENCE_TIMEOUT_S, LogNotWritten, Witness

CONNECT_TIMEOUT_S = 10
BOOT_ID_TIMEOUT_S = 60.0
VERIFY_TIMEOUT_S = 900.0
FIRST_ACK_TIMEOUT_S = 600.0
"""Time until the first acknowledgement. Before it, HOST fills the files or creates a database."""
MAX_ALIVE_S = 15.0
"""How long HOST may continue after the off command has returned. Some power strips report success too early."""
RETRY_INTERVAL_S = 1.0
WRITER_END_TIMEOUT_S = 2.0
"""How long a writer may take to end after its connection broke."""
MAX_LOG_BYTES = 200 << 20
MAX_INCONCLUSIVE_CUTS = 3
"""After this many cuts in a row that prove nothing, the campaign stops: the commands seem to be wrong."""
MAX_REASON_CHARS, MAX_PRINTED_CHARS = 500, 200
VERIFIED_STATUSES = (0, 1)
"""The exit statuses of ``powercut verify`` with a complete document; 1 if HOST could not save the document."""
MAX_KEPT_LOSSES = 3
"""HOST keeps only the records of the first cuts that lost data, at most this many."""
NO_DEVICE_TEXT = "does not exist"
"""Text that mount(8) prints if there is no such device. Then it is not known whether data is lost."""
_BOOT_ID = re.compile(rb"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.MULTILINE)
_READ_BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
_NO_TIMEOUT_S = 1e9


class CutCampaign:
    def __init__(
        self,
        store: CampaignStore,
        show: Callable[[str], object],
        show_cut: Callable[[CampaignCut], object],
        *,
        mount_fails: bool = False,
    ) -> None:
        """``show`` receives a phrase about each step, ``show_cut`` each cut that has ended."""
        self.store = store
        self.cut = store.current_cut()
        self._show = show
        self._show_cut = show_cut
        self._mount_fails = mount_fails
        self._is_stopping = False
        self._last_boot_id = ""
        """The boot id of HOST after the previous cut; empty if unknown."""
        self._off_command: ShellCommand | None = None

    @property
    def settings(self) -> CampaignSettings:
        return self.store.settings

    def stop(self) -> None:
        """End after the current cut, or while HOST does not answer before it. Safe in a signal handler."""
        self._is_stopping = True

    def run(self) -> None:
        """Run all cuts. Raises Refused, OSError."""
        while len(self.store.conclusive_cuts) < self.settings.cuts and not self._is_stopping:
            self.cut = self.store.current_cut()
            self._run_cut()
            newest = [cut for cut in self.store.cuts if cut.outcome != "refused"][-MAX_INCONCLUSIVE_CUTS:]
            if len(newest) == MAX_INCONCLUSIVE_CUTS and not any(cut.is_conclusive for cut in newest):
                raise Refused(
                    f"{MAX_INCONCLUSIVE_CUTS} attempts in a row proved nothing. The last one: {newest[-1].reason}. "
                    "Check the off and the on command"
                )

    def _run_cut(self) -> None:
        """Run a new cut, which is in the step ``start``, or continue one that was interrupted."""
        is_interrupted = self.cut.step in ("off", "on")
        if self.cut.step == "write":
            self._finish("no-cut", "the witness was stopped before the power was cut")
            self._last_boot_id = ""  # HOST may have restarted
            return
        if self.cut.step == "off":
            self._save("off", spoiled="the witness was stopped while the off command ran")
        if self.cut.step == "start":
            self._prepare_host()
            if not self._write_and_cut():
                return
        if self.cut.step in ("off", "wait", "on"):
            self._switch_on(is_interrupted=is_interrupted)
        if self.cut.step == "back":
            self._wait_for_host()
        self._verify()

    def _save(self, step: Step, **changes: Any) -> CampaignCut:
        self.cut = self.store.save(msgspec.structs.replace(self.cut, step=step, **changes))
        return self.cut

    def _finish(self, outcome: Outcome, reason: str = "", **changes: Any) -> None:
        if outcome == "no-cut" and self.cut.off_printed:
            reason += f". The off command printed: {self.cut.off_printed}"
        self._last_boot_id = self.cut.boot_after or self.cut.boot_before
        self._show_cut(self._save("done", outcome=outcome, reason=reason[:MAX_REASON_CHARS], **changes))

    def _ssh_command(self, script: str) -> list[str]:
        return [*ssh.command_line(self.settings.ssh, CONNECT_TIMEOUT_S), "--", self.settings.host, script]

    def _run_ssh(self, script: str, timeout_s: float, stdin: Path | None = None) -> CommandResult:
        return ShellCommand(self._ssh_command(script), timeout_s, stdin).wait()

    def _fstui_command(self, *arguments: str) -> str:
        return f"{self.settings.installed} powercut {shlex.join(arguments)}"

    def _boot_id(self) -> tuple[str, str]:
        """Return the boot id of HOST, or an empty string and the reason why there is none."""
        result = self._run_ssh(_READ_BOOT_ID, BOOT_ID_TIMEOUT_S)
        boot_ids = [match[0] for match in _BOOT_ID.finditer(result.out)]  # a login script may print more
        return (boot_ids[-1].decode(), "") if boot_ids else ("", _failure(result))

    def _prepare_host(self) -> None:
        settings = self.settings
        boot_id = self._wait_until_reachable("it does not answer")
        if boot_id == proc.boot_id():
            raise Refused(f"{settings.host} is this machine, which would lose its power, too")
        if self._last_boot_id and boot_id != self._last_boot_id:
            raise Refused(
                f"{settings.host} has restarted between two cuts. Another campaign or a person switches its power, or "
                "the off command takes effect late"
            )
        if directory := self._directory_to_remove():
            script = f"rm -rf -- {shlex.quote(directory)}"
            self._run_on_host(script, "the records of the previous cut could not be removed")
        if settings.remake and self.store.cuts and self.store.cuts[-1].outcome == "lost":
            self._show("creating the filesystem again")
            self._run_on_host(settings.remake, "the --remake command failed")
        if settings.mount:
            self._run_on_host(settings.mount, "the --mount command failed")
        self._save("start", boot_before=boot_id)

    def _wait_until_reachable(self, failure: str) -> str:
        """Wait until HOST can be reached. Return its boot id. ``failure``: a clause for the error message."""
        began_s = time.monotonic()
        while True:
            waited_s = time.monotonic() - began_s
            self._show(f"waiting for {self.settings.host}: {seconds(waited_s)}")
            boot_id, reason = self._boot_id()
            if boot_id:
                return boot_id
            if self.cut.step == "start" and (self._is_stopping or (not self.store.cuts and reason == ssh.UNRESOLVED)):
                raise Refused(f"{self.settings.host}: {reason}")
            if waited_s > self.settings.back_s:
                raise Refused(f"{self.settings.host}: {failure} within {seconds(waited_s)}: {reason}")
            time.sleep(RETRY_INTERVAL_S)

    def _run_on_host(self, script: str, failure: str) -> None:
        """Run a shell command on HOST. ``failure``: a clause for the error message."""
        result = self._run_ssh(script, self.settings.command_s)
        if result.code != 0:
            raise Refused(f"{self.settings.host}: {failure}: {_failure(result)}")

    def _directory_to_remove(self) -> str | None:
        """Return the directory with the records of the newest cut, unless it must be kept (MAX_KEPT_LOSSES)."""
        newest = next((cut for cut in reversed(self.store.cuts) if cut.outcome != "refused"), None)
        if newest is None:
            return None
        losses = sum(cut.outcome == "lost" for cut in self.store.cuts)
        header = self.store.header(newest)
        if header is None or (newest.outcome == "lost" and losses <= MAX_KEPT_LOSSES):
            return None
        return directory_of(self.settings.directory, header.run)

    def _write_and_cut(self) -> bool:
        """Start the writer and cut the power while it writes. Return whether the off command was started."""
        path = self.store.log_path(self.cut)
        path.unlink(missing_ok=True)
        arguments = ["write", self.settings.directory, "--yes"]
        arguments += ["--root-of", self.settings.root_of] if self.settings.root_of else []
        arguments += ["--trust-dir"] if self.settings.trust_dir else []
        arguments += [item for key, value in PATTERNS[self.cut.pattern].items() for item in ("--set", f"{key}={value}")]
        self._save("write")
        witness = Witness(path)
        writer = ShellCommand(self._ssh_command(self._fstui_command(*arguments)), _NO_TIMEOUT_S, is_piped=True)
        self._off_command = None
        spoiled = ""
        try:
            try:
                spoiled = self._cut_while_writing(witness, writer)
            except BadLog as bad:
                spoiled = f"the acknowledgements of {self.settings.host} cannot be read: {bad}"
            finally:
                writer_end = writer.kill(after_s=0.0 if self._off_command else WRITER_END_TIMEOUT_S)
                witness.close()
        except LogNotWritten as error:
            raise Refused(f"the acknowledgements cannot be saved: {error}") from None
        if self._off_command is None:
            self._finish_without_cut(witness, writer_end, spoiled)
            return False
        result = self._off_command.wait()  # it still runs if the connection broke early
        self._check_result("off", result)
        self._save(
            "wait",
            off_took_s=result.elapsed_s,
            off_printed=result.printed[-MAX_PRINTED_CHARS:],
            silent_after_s=witness.acknowledged_at - result.ended_at_s,
            spoiled=spoiled,
        )
        return True

    def _cut_while_writing(self, witness: Witness, writer: ShellCommand) -> str:
        """Run the off command until HOST is silent. Return why the cut proves nothing, or ''. Raises Refused."""
        began_s, cut_at_s = time.monotonic(), 0.0
        for state in witness.listen(writer.stdout, POLL_INTERVAL_S):
            writer.poll()  # kills the writer if it prints too much
            if witness.path.stat().st_size > MAX_LOG_BYTES:
                return "HOST sent more than 200 MiB"
            now_s = time.monotonic()
            if not state.ack_count:
                if now_s - began_s > FIRST_ACK_TIMEOUT_S:
                    return f"no acknowledgement within {seconds(FIRST_ACK_TIMEOUT_S)}"
                continue
            if not cut_at_s:
                if reason := self._wrong_filesystem(witness):
                    return reason
                cut_at_s = now_s + self.cut.wait_s
            if now_s < cut_at_s:
                remaining = seconds(cut_at_s - now_s)
                self._show(f"writing: {count(state.ack_count)} acknowledged, power off in {remaining}")
                continue
            is_silent = state.since_line_s >= SILENCE_TIMEOUT_S
            if self._off_command is None:
                if is_silent:
                    return f"HOST had been silent for {seconds(state.since_line_s)} when its power was to be cut"
                self._show("power off")
                self._save("off")
                self._off_command = self._start_command(self.settings.off)
            if off_result := self._off_command.poll():
                self._check_result("off", off_result)
                if is_silent:
                    break
                alive_s = now_s - off_result.ended_at_s
                if alive_s > MAX_ALIVE_S:
                    return f"HOST was still writing {seconds(alive_s)} after the off command returned"
        return ""

    def _wrong_filesystem(self, witness: Witness) -> str:
        """Return a clause if the records go to another filesystem than in earlier cuts, because DIR is not mounted."""
        assert witness.header is not None
        mount_point = witness.header.target.mount_point
        expected = next((cut.mount_point for cut in self.store.conclusive_cuts), mount_point)
        if mount_point == expected:
            return ""
        return f"the records went to the filesystem of {mount_point}, not of {expected}"

    def _finish_without_cut(self, witness: Witness, writer_end: CommandResult, spoiled: str) -> None:
        log = witness.log
        has_exited = writer_end.code in range(ssh.NO_CONNECTION)  # 255 is from ssh itself
        if log is None and not spoiled and has_exited:
            self._finish("refused", _failure(writer_end))
        elif log is not None and log.end_reason is not None:
            self._finish("no-cut", f"the writer ended by itself before the cut: {log.end_reason}")
        else:
            self._finish("no-cut", spoiled or f"the connection broke before the off command: {_failure(writer_end)}")

    def _start_command(self, command: str) -> ShellCommand:
        return ShellCommand(["sh", "-c", command], self.settings.command_s)

    def _check_result(self, name: str, result: CommandResult) -> None:
        """Raise Refused if this command (off, on) failed."""
        if result.code is None:
            raise Refused(f"the {name} command did not end within {seconds(result.elapsed_s)}: {result.message}")
        if result.code:
            raise Refused(f"the {name} command failed (exit {result.code}): {result.message}")

    def _switch_on(self, *, is_interrupted: bool) -> None:
        """Wait, then run the on command. ``is_interrupted``: the witness was restarted, so HOST may already be on."""
        if is_interrupted and self._boot_id()[0]:
            self._save("back")
            return
        if self.cut.step == "wait":
            self._show(f"power off for {seconds(self.settings.off_s)}")
            time.sleep(self.settings.off_s)
        self._show("power on")
        self._save("on")
        result = self._start_command(self.settings.on).wait()
        if not is_interrupted or result.code is None:  # the on command may fail if HOST is on already
            self._check_result("on", result)
        self._save("back")

    def _wait_for_host(self) -> None:
        began = time.monotonic()
        failure = f"it has not come back after cut {self.cut.number}, and nothing was removed. It did not answer"
        boot_id = self._wait_until_reachable(failure)
        self._save("verify", boot_after=boot_id, back_after_s=time.monotonic() - began)

    def _verify(self) -> None:
        result, mount_error = self._read_back()
        try:
            figures = figures_of(decode_run(result.out))
        except Refused as refusal:
            raise self._cannot_verify(f"{self.settings.host} printed no run document: {refusal}") from None
        header = self.store.header(self.cut)
        if header is None or figures is None or figures.cut != header.run:
            raise self._cannot_verify(f"{self.settings.host} printed the document of another cut")
        if figures.read_only and not figures.any_lost:
            raise self._cannot_verify(f"the filesystem on {self.settings.host} is read-only and may be damaged")
        self.store.save_run(self.cut, result.out)
        changes: dict[str, Any] = {"figures": figures, "mount_point": header.target.mount_point}
        if figures.any_lost:
            self._finish("lost", mount_error, **changes)
        elif reason := self._why_inconclusive(figures):
            self._finish("no-cut", reason, **changes)
        else:
            self._finish("intact", **changes)
        if figures.any_lost and figures.unmountable and not self.settings.remake:
            raise Refused(
                f"the filesystem of {self.settings.directory} could not be mounted after cut {self.cut.number}. "
                "Create it again before you run the same command, or use --remake"
            )

    def _why_inconclusive(self, figures: PowerCutFigures) -> str:
        """Return why the cut proves nothing although no record is lost."""
        if self.cut.spoiled:
            return self.cut.spoiled
        if self.cut.boot_after == self.cut.boot_before:
            return f"the boot id of {self.settings.host} did not change"
        if figures.survived:
            return ""
        return figures.ended or "no record was acknowledged before the cut"

    def _read_back(self) -> tuple[CommandResult, str]:
        """Return HOST's verification, and an empty string or the reason why DIR could not be mounted for it."""
        began = time.monotonic()
        while True:
            self._show("verifying")
            mount = self._run_ssh(self.settings.mount, self.settings.command_s) if self.settings.mount else None
            result = self._read_records(mount_fails=self._mount_fails)
            if result.out and result.code in VERIFIED_STATUSES:
                self._mount_fails = False
                return result, ""
            if time.monotonic() - began > self.settings.back_s:
                if mount is None or mount.code in (0, None, ssh.NO_CONNECTION):
                    raise self._cannot_verify(_failure(result))
                if NO_DEVICE_TEXT in mount.printed:
                    raise self._cannot_verify(f"the disk is missing or has another name: {mount.printed}")
                return self._read_records(mount_fails=True), f"the filesystem did not mount: {mount.message}"
            time.sleep(RETRY_INTERVAL_S)

    def _read_records(self, *, mount_fails: bool) -> CommandResult:
        arguments = ["verify", self.settings.directory, "--format", "json", *(["--mount-fails"] if mount_fails else [])]
        arguments += ["--cut", self.settings.kind] if self.settings.kind != "power" else []
        return self._run_ssh(self._fstui_command(*arguments), VERIFY_TIMEOUT_S, self.store.log_path(self.cut))

    def _cannot_verify(self, reason: str) -> Refused:
        return Refused(
            f"cut {self.cut.number} cannot be verified: {reason}. {self.settings.host} is up, and nothing was removed. "
            "Run the same command again when the filesystem is mounted read-write, or with --mount-fails if it cannot "
            "be mounted"
        )


def _failure(result: CommandResult) -> str:
    """Return why a command on HOST failed, in a few words."""
    if result.code is None:
        return f"no answer within {seconds(result.elapsed_s)}"
    return ssh.message(result.err) or result.message.rpartition("fstui: ")[2]
