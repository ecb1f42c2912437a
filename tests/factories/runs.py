"""A saved run from the real recorder. Only its samples and counters are made up."""

import random
from itertools import accumulate
from typing import Any

import msgspec

from fstui.judge import judge
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.wire.frames import Samples
from fstui.model.counters import Counters, DeviceCounters, Idle
from fstui.model.plan import Plan, PlannedStep
from fstui.model.run import Run, ScenarioRef
from fstui.model.steps import Failure, Step
from fstui.model.storage import Medium, Space, Target
from fstui.runs.recorder import ProbeTimes, StepRecorder
from tests.factories.evidence import HONEST_PROCESS
from tests.factories.storage import disk, on_disk

HDD = Medium(class_="hdd-7200", rpm=7200, write_cache="none", declared=True, reason="declared by you: medium hdd-7200")
START_NS = 5_000_000_000_000
GIB = 1 << 30


def target(medium: Medium | None = None, free_bytes: int = 100 * GIB) -> Target:
    plain = on_disk(None, disk(medium=medium or Medium()))
    return msgspec.structs.replace(plain, path="/srv/data", space=Space(total_bytes=100 * GIB, free_bytes=free_bytes))


def planned(name: str, **settings: Any) -> PlannedStep:
    asked = SyncWrites(**{"block_bytes": 16384, "file_bytes": 1 << 20, "seconds": 1.0, **settings})
    return PlannedStep(name=name, settings=asked)


def counted(ops: int, flushes: int | None) -> DeviceCounters:
    return DeviceCounters(device="sda", writes=ops, written_bytes=ops * 16384, flushes=flushes)


def recorded(plan: PlannedStep, ops: int, op_ns: int, flushes: int, error: Failure | None = None) -> Step:
    """Return a step with ``ops`` operations of about ``op_ns``, and ``flushes`` flushes at the disk."""
    recorder = StepRecorder(0, plan, target().stack)
    recorder.begin(Counters(monotonic_ns=START_NS, devices=(counted(0, 0),)))
    chance = random.Random(plan.name)
    ends = list(accumulate((int(op_ns * chance.uniform(0.8, 1.6)) for _ in range(ops)), initial=START_NS))[1:]
    parts = 1 if plan.settings.as_dict()["sync"] == "none" else 2
    marks = ends if parts == 1 else [mark for end in ends for mark in (end - op_ns // 2, end)]
    recorder.add_samples(Samples.from_part_ends(0, parts, START_NS, marks))
    end_ns = ends[-1] if ends else START_NS
    recorder.add_counters(Counters(monotonic_ns=end_ns, devices=(counted(ops, flushes),)))
    recorder.end(ProbeTimes(start_ns=START_NS, end_ns=end_ns, delayed_ns=0))
    recorder.error = error
    return recorder.step("failed" if error else "finished", prepare_s=0.1)


FDATASYNC = planned("fdatasync", sync="fdatasync")
DIRECT = planned("O_DIRECT", sync="none", open_flags=("direct",))
SAME_BLOCK = planned("same block, fdatasync", sync="fdatasync", offsets="same")
STEPS = (
    recorded(DIRECT, ops=1500, op_ns=600_000, flushes=0),
    recorded(FDATASYNC, ops=900, op_ns=1_000_000, flushes=900),
    recorded(SAME_BLOCK, ops=800, op_ns=1_100_000, flushes=800),
)


def saved(*steps: Step, medium: Medium | None = None) -> Run:
    run = Run(
        id="k3f9a1",
        started_at="2026-11-20T03:12:44+01:00",
        target=target(medium),
        scenario=ScenarioRef(name="odirect-truth", title="Acknowledged too early?"),
        process=HONEST_PROCESS,
        idle=Idle(elapsed_s=1.5, counters=(counted(0, 0),)),
        steps=steps or STEPS,
    )
    judgement = judge(run)
    return msgspec.structs.replace(
        run, findings=judgement.findings, verdict=judgement.verdict, sentence=judgement.sentence
    )


def plan_of(run: Run) -> Plan:
    assert run.scenario
    steps = tuple(PlannedStep(name=step.name, settings=step.settings) for step in run.steps)
    return Plan(
        scenario=run.scenario,
        question="",
        help="",
        steps=steps,
        seconds=3.0,
        max_bytes=0,
        peak_bytes=0,
        command="fstui run odirect-truth /srv/data",
    )
