"""``fstui powercut campaign``: cut the power many times by commands, and verify each cut."""

import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from fstui.cli.delivery import print_last_report
from fstui.cli.execution import FAILED, REFUSED, UNACCEPTABLE, exit_status
from fstui.cli.interruption import SIGNALS
from fstui.cli.options import Duration, fail_on_option, is_failure, report_options, ssh_option, trust_option
from fstui.cli.output import can_redraw, clear_status, draw_status, say
from fstui.model.errors import Refused, local_time
from fstui.model.forms import seconds_of
from fstui.powercut.campaign import CUT_KINDS, CampaignCut, CampaignSettings, CampaignStore
from fstui.powercut.cutting import CutCampaign

REDRAW_S = 0.25
MAX_DURATION_S = 86400  # a day
_UNSAFE = re.compile(r"[^\w.-]")
_REQUIRED = ("host", "directory", "off", "on", "cuts")
_Command = Callable[..., Any]


def _seconds_range(context: click.Context, param: click.Parameter, text: str) -> tuple[float, float]:
    """Return both ends of a range such as ``2s..30s`` in seconds. Raises BadParameter."""
    low, dots, high = text.partition("..")
    with suppress(ValueError):
        range_s = float(seconds_of(low)), float(seconds_of(high if dots else low))
        if 0 <= range_s[0] <= range_s[1] <= MAX_DURATION_S:
            return range_s
    raise click.BadParameter(f"{text!r} is not a range of times such as 2s..30s.", context, param)


def _duration(option: str, name: str, default: float, help_: str) -> Callable[[_Command], _Command]:
    return click.option(option, name, type=Duration(0, MAX_DURATION_S), default=default, help=help_)


root_of_option = click.option(
    "--root-of", metavar="HOSTNAME", help="Confirm writing to the root filesystem of the host HOSTNAME."
)


def cut_option(help_: str) -> Callable[[_Command], _Command]:
    return click.option("--cut", "kind", type=click.Choice(CUT_KINDS), default="power", show_default=True, help=help_)


@click.command("campaign")
@click.option(
    "--host",
    "--box",
    metavar="HOST",
    help="The host under test, by the name that ssh uses. Required for a new campaign. --box is the old name of this "
    "option.",
)
@click.option(
    "--dir",
    "directory",
    metavar="DIR",
    help="The directory on HOST for the records. Required for a new campaign.",
)
@click.option(
    "--off",
    metavar="COMMAND",
    help="Command that cuts the power of HOST. It runs on this machine, with sh -c. Required for a new campaign.",
)
@click.option(
    "--on",
    metavar="COMMAND",
    help="Command that switches HOST on again. It runs on this machine, with sh -c. Required for a new campaign.",
)
@click.option(
    "--cuts",
    metavar="N",
    type=click.IntRange(1, 99999),
    help="The number of cuts. Required for a new campaign.",
)
@cut_option(
    "What the commands do: cut the power, force a virtual machine to stop, or reset HOST. The verdict depends on this."
)
@click.option(
    "--wait",
    "wait_s",
    callback=_seconds_range,
    default="2s..30s",
    show_default=True,
    metavar="FROM..TO",
    help="Random time, in this range, from the first acknowledgement to the cut.",
)
@_duration("--stay-off", "off_s", 5.0, "How long HOST stays without power. Default: 5s.")
@_duration("--back", "back_s", 600.0, "Time limit for HOST to boot, and then to mount DIR. Default: 10m.")
@_duration("--command-timeout", "command_s", 60.0, "Time limit for each of your commands. Default: 60s.")
@click.option(
    "--mount",
    metavar="COMMAND",
    help="Command that runs on HOST, and mounts DIR unless it is mounted. Use it if HOST does not mount DIR at boot.",
)
@click.option(
    "--remake", metavar="COMMAND", help="Command that runs on HOST after a loss, and makes a new filesystem for DIR."
)
@click.option("--mount-fails", is_flag=True, help="Declare that you could not mount the filesystem after the last cut.")
@root_of_option
@click.option(
    "--installed", metavar="COMMAND", default="fstui", help="Command that starts fstui on HOST. Default: fstui."
)
@ssh_option
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, 2**31),
    help="Seed of the random times. Default: a random seed, which is saved.",
)
@click.option(
    "--into", type=Path, metavar="DIRECTORY", help="Directory that stores the campaign. Default: fstui-campaign-HOST."
)
@trust_option
@report_options()
@fail_on_option(with_speed=False)
def campaign(
    *, into: Path | None, mount_fails: bool, format_: str, output: Path | None, fail_on: Sequence[str], **options: Any
) -> int:
    """Cut the power of HOST many times, and verify each cut.

    Run this command on the witness, which keeps its power. For each cut, fstui starts the writer on HOST through ssh,
    and saves the acknowledgements. After a random time, fstui runs the --off command, and then the --on command. When
    HOST is back, fstui compares the records with the acknowledgements. The write pattern changes from cut to cut.

    To continue a campaign after Ctrl-C, or after a restart of the witness, run the same command again. After Ctrl-C,
    fstui finishes the current cut. A second Ctrl-C ends fstui at once. 'fstui show DIRECTORY' prints the report at any
    time, even while the campaign runs.

    Exit status: 0 all cuts are done; 1 the campaign stopped, and everything is left for inspection; 2 refused before
    the first cut; 3 see --fail-on; 129, 130, 143 ended by a signal.

    \b
    Example:
      fstui powercut campaign --host db1 --dir /srv --cuts 100 \\
        --off 'ipmitool -H db1-bmc -U admin -f pw chassis power off' \\
        --on 'ipmitool -H db1-bmc -U admin -f pw chassis power on'
    """
    settings = _settings(options)
    if settings is None and into is None:
        raise Refused("a new campaign needs --host, --dir, --off, --on and --cuts; one that exists needs --into")
    host = settings.host if settings else ""
    directory = into or Path(f"fstui-campaign-{_UNSAFE.sub('-', host)}")
    return _CampaignSession(CampaignStore.open(directory, settings), mount_fails).run(format_, output, fail_on)


def _settings(options: dict[str, Any]) -> CampaignSettings | None:
    present = [name for name in _REQUIRED if options[name] is not None]
    if not present:
        return None
    if len(present) < len(_REQUIRED):
        missing = [name.replace("directory", "dir") for name in _REQUIRED if name not in present]
        raise Refused(f"a new campaign also needs --{', --'.join(missing)}")
    if options["host"].startswith("-") or not options["host"].strip():
        raise Refused(f"--host {options['host']} is not the name of a host")
    texts = {name: options[name] or "" for name in ("mount", "remake", "root_of")}
    seed = secrets.randbelow(2**31) if options["seed"] is None else options["seed"]
    values = {**options, **texts, "seed": seed, "started_at": local_time().isoformat(timespec="seconds")}
    return msgspec.convert(values, CampaignSettings, strict=False)


class _CampaignSession:
    """The campaign on the terminal: a line of progress that is redrawn, and a line for each cut that has ended."""

    def __init__(self, store: CampaignStore, mount_fails: bool) -> None:
        from fstui.report import campaign as report  # noqa: PLC0415  'powercut write' needs no reports

        self._report = report
        self._store = store
        self._campaign = CutCampaign(store, self._show_progress, self._cut_ended, mount_fails=mount_fails)
        self._redraws = can_redraw()
        self._drawn_at = 0.0
        self._signal = 0

    def run(self, format_: str, output: Path | None, fail_on: Sequence[str]) -> int:
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in handlers.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._handle_signal)
        stop_reason, settings = "", self._store.settings
        if finished := len(self._store.conclusive_cuts):
            say(f"{finished} of {settings.cuts} cuts are done; continuing with the next one")
        try:
            self._campaign.run()
        except Refused as reason:
            stop_reason = str(reason)
        except OSError as error:
            stop_reason = f"{error.filename or self._store.directory}: {error.strerror}"
        clear_status()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if stop_reason or self._signal:
            stop_reason = stop_reason or f"stopped by {signal.Signals(self._signal).name}"
            with suppress(OSError):
                self._store.stop(stop_reason)
            say(f"fstui: {stop_reason}. {self._state_sentences()}")
        if stop_reason and not self._store.cuts and not self._signal:
            return REFUSED
        document = self._report.document(self._store, stop_reason)
        print_last_report(self._report.campaign_report(document), format_, output)
        return exit_status(
            128 + self._signal if self._signal else 0,
            UNACCEPTABLE if is_failure(document.verdict, None, fail_on) else 0,
            FAILED if stop_reason else 0,
        )

    def _state_sentences(self) -> str:
        directory = self._store.directory
        power = f"The power of {self._store.settings.host} is {self._campaign.cut.power_state}."
        if not CampaignStore.exists_in(directory):
            return f"{power} {directory} was removed: the campaign cannot be continued"
        return f"{power} The campaign is saved in {directory}: the same command continues it"

    def _handle_signal(self, number: int, _: object) -> None:
        if self._signal:
            say(f"fstui: ended at once. {self._state_sentences()}")
            os._exit(128 + number)
        self._signal = number
        self._campaign.stop()
        when = "before the next cut" if self._campaign.cut.step == "start" else "after the current cut"
        say(f"fstui: stopping {when}. A second signal ends fstui at once. {self._state_sentences()}")

    def _show_progress(self, state: str) -> None:
        now = time.monotonic()
        if self._redraws and now - self._drawn_at >= REDRAW_S:
            self._drawn_at = now
            draw_status(f"{self._report.verdict_so_far(self._store)} · {state} · {self._campaign.cut.pattern}")

    def _cut_ended(self, cut: CampaignCut) -> None:
        line = self._report.line(cut, self._store.settings.kind)
        say(line if self._redraws else f"{line}. So far: {self._report.verdict_so_far(self._store)}")
