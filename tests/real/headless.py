"""Run the installed ``fstui`` without a terminal, as a user would."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.model.run import Run
from fstui.model.steps import Step
from tests import prefork
from tests.factories import saved_runs
from tests.real.disks import Storage

FSTUI = str(Path(sys.executable).with_name("fstui"))
HEAD = """
name = "a-step"
title = "One step"
question = "Does it run?"

[settings.seconds]
value = 0.2
unit = "s"
help = "measured time per step"
"""
STEP = """
[[steps]]
name = "{name}"
probe = "sync_writes"
file_bytes = 1048576
{more}
"""
BAD_VERDICTS = {"not-durable", "suspicious"}


def call(
    *arguments: str | bytes | Path, within: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end. ``within``: a prefix of the command, for example to run it in a cgroup."""
    process = start(*arguments, within=within, environment=environment)
    out, stderr = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, stderr)


def set_options(*settings: str) -> list[str]:
    """Return the options that give a command these settings."""
    return [word for setting in settings for word in ("--set", setting)]


def measure(scenario: str | Path, storage: Storage, *arguments: str, **how: Any) -> Run:
    words = ("--set", "seconds=0.2", "--format", "json", *arguments)
    done = call("run", str(scenario), storage.directory, *words, **how)
    assert done.returncode == 0, done.stderr.decode()
    return decode_run(done.stdout)


def judge_again(run: Run) -> Run:
    loaded = saved_runs.load(run.id)
    return loaded.with_judgement(judge(loaded))


def step_named(run: Run, name: str) -> Step:
    (found,) = (step for step in run.steps if step.name == name)
    return found


def flushes_per_sync(run: Run, device: str, step: str = "fdatasync") -> float:
    """Return the flushes per sync that the device counted in that step."""
    measured = step_named(run, step)
    counted = measured.device(device)
    assert counted is not None, f"{device} is not in the document"
    assert counted.flushes is not None, f"{device} counts no flushes"
    return counted.flushes / measured.syncs


def own_flushes_per_sync(run: Run, device: str) -> float:
    """Return the flushes per sync that fstui requested. Syncs of other processes add flushes of their own."""
    step = step_named(run, "fdatasync")
    traced = next((trace.requested_by_us for trace in step.trace or () if trace.device == device), None)
    counted = flushes_per_sync(run, device)
    syncs = step.traced_part.syncs if step.traced_part else step.syncs
    return counted if traced is None else min(counted, traced / syncs)


def bytes_arrived(run: Run, device: str, step: str = "fdatasync") -> float:
    """Return the share of the written bytes that reached the device."""
    measured = step_named(run, step)
    counted = measured.device(device)
    assert counted is not None and counted.written_bytes is not None
    return counted.written_bytes / measured.bytes


def rules(run: Run, verdict: str) -> set[str]:
    return {finding.rule for finding in run.findings if finding.verdict == verdict}


def rules_against(run: Run) -> set[str]:
    """Return the rules that report the storage or the process as not durable or suspicious."""
    return {f.rule for f in run.findings if f.verdict in BAD_VERDICTS and f.scope != "step"}


def start(
    *arguments: str | bytes | Path,
    within: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    stdout: int | None = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """Start a command. The caller may read its output while it runs."""
    none, env = subprocess.DEVNULL, environment
    if within or "LD_PRELOAD" in (environment or ()):
        return subprocess.Popen([*within, FSTUI, *arguments], stdin=none, stdout=stdout, stderr=stderr, env=env)
    return prefork.Forked(arguments, stdin=none, stdout=stdout, stderr=stderr, env=env)


@contextmanager
def started_run(*arguments: str | Path, event: str = "StepStarted", step: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run and read up to that event of that step. Kill it at the end."""
    process = start("run", *arguments, "--format", "events")
    try:
        read_to(process, event, step)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def read_to(process: subprocess.Popen[bytes], event: str, step: int = 0) -> None:
    assert process.stdout and process.stderr
    for line in process.stdout:
        happened = json.loads(line)
        if happened["event"] == event and happened.get("index", step) == step:
            return
    raise AssertionError(process.stderr.read().decode())


def finish(process: subprocess.Popen[bytes]) -> tuple[int, Run, str]:
    """Read a run to its end. Return exit status, document of its last event, and stderr."""
    out, stderr = process.communicate(timeout=60)
    last = json.loads(out.splitlines()[-1])
    assert last["event"] == "RunFinished"
    return process.returncode, decode_run(json.dumps(last["run"])), stderr.decode()


def scenario_file(directory: Path, *names: str, more: str = "") -> Path:
    """Write a scenario whose steps overwrite and fdatasync, one per name; ``more``: further lines of each step."""
    file = directory / "a-step.toml"
    file.write_text(HEAD + "".join(STEP.format(name=name, more=more) for name in names or ("fdatasync",)))
    return file
