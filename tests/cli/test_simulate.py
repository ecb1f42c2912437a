from pathlib import Path

import pytest

from tests.cli.conftest import Fstui
from tests.printing import csv_rows


def test_a_simulated_disk_is_checked_and_called_simulated(fstui: Fstui) -> None:
    done = fstui("check", "--simulate", "hdd-7200-lying", "--fail-on", "suspicious")
    assert done.returncode == 3, done.stderr
    assert "SIMULATED: hdd-7200-lying. No real storage was measured." in done.stdout.decode()
    assert b"fstui show" not in done.stdout


@pytest.mark.parametrize("words", ["list", "check"])
def test_next_steps_are_not_for_disks_of_this_host(fstui: Fstui, words: str) -> None:
    shown = fstui(words, "--simulate", "hdd-7200-nobarrier").stdout.decode()
    steps = shown.partition("  next  ")[2]
    assert "On a real disk, turn barriers on: 'mount -o remount,barrier=1 DIR'." in " ".join(steps.split())


def test_only_devices_that_flushes_reached_are_named(fstui: Fstui) -> None:
    shown = " ".join(fstui("run", "fsync-rate", "--simulate", "usb-hdd-dmcache").stdout.decode().split())
    assert "sent one flush to nvme0n1, and all" in shown and "Nothing reached sda in these steps." in shown
    assert "0 flushes (0.00 per sync) sda" in shown


def test_a_log_device_adds_no_parity(fstui: Fstui) -> None:
    shown = " ".join(fstui("run", "fsync-rate", "--simulate", "usb-hdd-slog").stdout.decode().split())
    assert "divided by 2 for the extra writes of this stack" in shown


def test_teachers_page_is_printed_without_markup(fstui: Fstui) -> None:
    done = fstui("lessons", "--teacher")
    told = done.stdout.decode()
    assert done.returncode == 0 and "45-minute lecture" in told and "0:31" in told
    assert not any(line.startswith(("#", "|")) for line in told.splitlines()) and "`" not in told


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("watch", "--pid", "1"), "Process 1 is not on the simulated host"),
        (("watch", "--mount", "/"), "not on the simulated disk"),
        (("watch", "--at-risk"), "nothing is at risk there. Omit --simulate"),
        (("run", "sysbench-oltp"), "needs a database server, which a simulated disk does not have"),
        (("history",), "--simulate works with the app and with"),
        (("lessons", "--disks", "--truth"), "--truth needs a disk"),
    ],
)
def test_commands_without_simulation_refuse(fstui: Fstui, words: tuple[str, ...], reason: str) -> None:
    done = fstui(*(() if words[0] == "lessons" else ("--simulate", "hdd-7200")), *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert reason in done.stderr.decode()


@pytest.mark.parametrize(
    ("at_s", "status", "reason"),
    [
        ("30", 2, "--pull-plug 30.0 s is too late: the run ends after about"),
        ("3.5", 1, "the run ended without the power cut that --pull-plug requested"),
    ],
)
def test_a_plug_pulled_after_the_steps_is_an_error(fstui: Fstui, at_s: str, status: int, reason: str) -> None:
    done = fstui("--simulate", "hdd-7200", "run", "check", "--pull-plug", at_s)
    assert done.returncode == status
    assert reason in done.stderr.decode()


def test_a_power_cut_has_no_row_of_dashes(fstui: Fstui) -> None:
    done = fstui("run", "--simulate", "hdd-7200", "check", "--pull-plug", "0.5")
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("power cut")]
    assert len(lines) == 1 and lines[0].startswith("power cut: ") and b"I/O path: fdatasync" in done.stdout


@pytest.mark.parametrize(
    "words", [("check", "--simulate", ""), ("--simulate", "", "check"), ("list", "--simulate", "")]
)
def test_an_empty_disk_name_measures_no_real_storage(fstui: Fstui, words: tuple[str, ...]) -> None:
    done = fstui(*words)
    assert done.returncode == 2 and b"no simulated disk ''" in done.stderr


@pytest.mark.parametrize("name", ["/dev/zero", "nested.toml", "long.toml"])
def test_a_file_that_is_no_disk_is_refused(fstui: Fstui, name: str, tmp_path: Path) -> None:
    (tmp_path / "nested.toml").write_text("a = " + "[" * 100_000)
    (tmp_path / "long.toml").write_text("a = " + "9" * 10_000)
    done = fstui("list", "--simulate", str(tmp_path / name))
    assert done.returncode == 2 and str(tmp_path / name) in done.stderr.decode()


@pytest.mark.parametrize(
    "change", ["rpm=0", "rpm=-1", "rpm=nan", "seek_ms=1e308", "tracks=0", "track_bytes=-1", "mirrors=99999999999999"]
)  # fmt: skip
def test_an_impossible_parameter_is_refused(fstui: Fstui, change: str) -> None:
    done = fstui("list", "--simulate", f"hdd-7200,disk.platter.{change}")
    assert done.returncode == 2 and b"cannot set disk.platter." in done.stderr


def test_a_watch_of_a_simulated_disk_is_marked(fstui: Fstui) -> None:
    done = fstui("watch", "--simulate", "hdd-7200", "--seconds", "1.2")
    assert done.returncode == 0, done.stderr
    assert b"SIMULATED: hdd-7200. No real storage was measured." in done.stderr
    told = done.stdout.decode()
    assert told.startswith("SIMULATED hdd-7200: watched all programs for ")
    assert "The program waits for the disk: sda itself takes " in told


def test_each_round_has_reproducible_random_numbers(fstui: Fstui) -> None:
    words = ("run", "fit", "--simulate", "ssd-plp", "--set", "seconds=0.3", "--format", "csv", "--rounds", "2")
    first, again = fstui(*words), fstui(*words)
    assert first.returncode == again.returncode == 0, first.stderr
    columns = ("step", "lowest_rate_per_s", "highest_rate_per_s")
    rates = [[tuple(row[name] for name in columns) for row in csv_rows(done.stdout)] for done in (first, again)]
    assert rates[0] == rates[1]
    assert any(lowest != highest for _, lowest, highest in rates[0])
