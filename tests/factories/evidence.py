"""The evidence of a durable, quiet host, and its judgement."""

from typing import Any

from fstui.judge import judge
from fstui.judge.verdict import UNDECIDED
from fstui.model.counters import Idle
from fstui.model.host import Host, OtherWriter, Process
from fstui.model.judgement import Finding, Judgement
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.steps import counted
from tests.factories.storage import on_disk

HONEST_PROCESS = Process(pipe_fsync_fails=True, dsync_flag_kept=True)
GUEST = Host(virtualization="kvm")
METAL = Host()


def quiet(*devices: str) -> Idle:
    return Idle(elapsed_s=2.0, counters=tuple(counted(device, 0, 0) for device in devices or ("sda", "sdb", "loop0")))


def busy(device: str, flushes_per_s: int, *names: str) -> Idle:
    return Idle(
        elapsed_s=2.0,
        counters=(counted(device, flushes_per_s * 2, flushes_per_s * 8192),),
        writers=tuple(OtherWriter(pid=700 + i, name=name, written_bytes=4096) for i, name in enumerate(names)),
    )


def evidence(where: Target | None = None, *steps: Step, **fields: Any) -> Evidence:
    given = {"target": where or on_disk(), "process": HONEST_PROCESS, "host": METAL, "idle": quiet(), **fields}
    return Evidence(steps=steps, **given)


def verdict(where: Target | None = None, *steps: Step, **fields: Any) -> Judgement:
    return judge(evidence(where, *steps, **fields))


def finding(judgement: Judgement, rule: str) -> Finding:
    """Return the only finding of that rule. Fail if there is none, or more than one."""
    (found,) = (finding for finding in judgement.findings if finding.rule == rule)
    return found


def rules(judgement: Judgement) -> set[str]:
    """Return the rules that have a finding. The note of an undecided run belongs to no rule."""
    return {finding.rule for finding in judgement.findings} - {UNDECIDED}
