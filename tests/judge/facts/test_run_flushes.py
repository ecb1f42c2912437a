"""Missing and proven flushes of a run, at a loop device, its backing file and the disk below."""

import pytest
from msgspec.structs import replace

from fstui.judge import Case, words
from fstui.model.counters import Idle
from fstui.model.steps import CounterInterval, Step
from fstui.model.storage import Medium, Node
from tests.factories.evidence import evidence, finding, rules, verdict
from tests.factories.steps import counted, step
from tests.factories.storage import disk, filesystem, on_disk, on_loop, target
from tests.judge.facts.test_flushes import two_loops

PROTECTED = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
HONEST: dict[str, float | None] = {"loop0": 1.0, "sda": 1.3}


def test_backing_filesystem_without_barriers_sends_none() -> None:
    stack = on_loop(filesystem(name="/", barrier="nobarrier"), below=PROTECTED)
    judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 0}))
    assert finding(judgement, "barriers-off").verdict == "plausible"
    assert "flushes-missing" not in rules(judgement)


def test_switched_cache_may_explain_missing_flushes() -> None:
    """A drive's cache was switched off and on again, also during a step in which no change was noticed."""
    switched = step("fsync", changes={"changed": ("sda: write cache write back → write through",)})
    judgement = verdict(None, switched, step(flushes=0.45))
    assert judgement.verdict == "cannot-tell" and "flushes-missing" not in rules(judgement)
    assert "storage changed" in judgement.sentence
    assert verdict(None, step("fsync"), step(flushes=0.45)).verdict == "not-durable"
    assert "flushes-arrive" not in rules(verdict(None, switched, step("fdatasync"), step(flushes=0.45)))


def test_two_files_on_two_filesystems_share_the_flushes() -> None:
    stack = two_loops("raid0", filesystem(name="/", below=("sda",)), disk())
    elsewhere = filesystem(name="/b", below=("sdb",))
    nodes = [replace(node, below=("mount:/b",)) if node.id == "file:/y.img" else node for node in stack.stack]
    apart = target(*nodes, elsewhere, disk("sdb"))
    every = dict.fromkeys(("loop0", "loop1", "sda", "sdb"), 1.0)
    half = dict.fromkeys(every, 0.5)
    assert not rules(verdict(apart, step(flushes=every, share=half))) & {"flushes-missing", "bytes-missing"}


def test_noise_at_the_disk_leaves_the_loop_proven() -> None:
    judgement = verdict(on_loop(), step(flushes={"loop0": 1, "sda": 2.7}))
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "sent one flush to loop0" in judgement.sentence
    assert "Further down, at sda, other processes also wrote, so nothing is proven there." in judgement.sentence


def test_steps_whose_flushes_reached_the_disk_are_counted() -> None:
    quiet = step("fdatasync", flushes={"loop0": 1, "sda": 1})
    sentence = verdict(on_loop(), quiet, step("O_DSYNC", flushes={"loop0": 1, "sda": 2.7})).sentence
    assert "Further down, at sda, all flushes arrived in 1 of 2 steps; that is not proven for every" in sentence


def test_steps_not_counted_at_the_loop_count_at_the_disk() -> None:
    quiet = step("fdatasync", flushes={"loop0": 1, "sda": 1})
    unknown_bytes = step("O_DSYNC", flushes={"loop0": 1, "sda": 2.7}, share={"loop0": None, "sda": 1.0})
    assert "all flushes arrived in 1 of 2 steps" in verdict(on_loop(), quiet, unknown_bytes).sentence


def test_noise_while_idle_at_the_disk_leaves_the_loop_proven() -> None:
    idle = Idle(elapsed_s=2.0, counters=(counted("loop0", 0, 0), counted("sda", 800, 800)))
    judgement = verdict(on_loop(), step(flushes=HONEST), idle=idle)
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "other-writers" in rules(judgement)


def test_flush_dropped_below_the_loop_is_found() -> None:
    found = finding(verdict(on_loop(), step(flushes={"loop0": 1, "sda": 0.2})), "flushes-missing")
    assert "sda" in found.title
    assert found.next[0].startswith("Check how loop0 is set up")
    assert "1 to 2 expected" in found.title


def test_flush_dropped_above_the_loop_is_found_there() -> None:
    found = finding(verdict(on_loop(), step(flushes={"loop0": 0, "sda": 0})), "flushes-missing")
    assert "at loop0" in found.title
    assert "Seccomp" in found.next[0]


def test_bytes_in_the_page_cache_below_the_loop_are_found() -> None:
    found = finding(verdict(on_loop(), step(flushes=HONEST, share={"loop0": 1, "sda": 0.3})), "bytes-missing")
    assert "sda" in found.title
    assert found.next[0].startswith("Check how loop0 is set up")


def test_nothing_is_proven_below_an_unknown_filesystem() -> None:
    judgement = verdict(on_loop(filesystem("newfs", "/")), step(flushes={"loop0": 1, "sda": 0}))
    assert judgement.verdict == "cannot-tell"
    assert "does not know the layer newfs (/)" in judgement.sentence


def test_no_flush_is_expected_at_a_disk_without_a_cache() -> None:
    stack = on_loop(below=disk(write_cache="write through"))
    judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 0}))
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "no flush is expected" in judgement.sentence


def in_turns(done: Step, *flushes: int, ops: int = 100) -> Step:
    """Return the step with a turn of ``ops`` operations for each number of flushes."""
    written = {"sda": ops * 16384}
    turns = tuple(
        CounterInterval(elapsed_s=0.1, ops=ops, flushes={"sda": each}, written_bytes=written) for each in flushes
    )
    return replace(done, counter_intervals=turns)


@pytest.mark.parametrize(
    ("flushes", "lacks"),
    [((105, 105, 105), False), ((200, 99, 200), False), ((200, 98, 200), True), ((200, 3, 200), True)],
    ids=["complete", "one is missing", "two are missing", "interrupted"],
)
def test_short_interruption_shows_in_its_turn(flushes: tuple[int, ...], lacks: bool) -> None:
    """An fsync sends one flush or two, so the whole step has enough."""
    case = Case(evidence(None, in_turns(step("fsync", sync="fsync", flushes=1.3), *flushes)))
    assert bool(case.flushes.missing_flushes) is lacks
    assert (case.flushes.proof is None) is lacks


def test_worst_turn_is_reported() -> None:
    case = Case(evidence(None, in_turns(step("fsync", sync="fsync", flushes=1.3), 200, 60, 20, 90)))
    (worst,) = case.flushes.missing_flushes
    assert (worst.syncs, worst.per_sync, worst.step.name) == (100, 0.2, "fsync")


def test_short_turns_and_rare_syncs_show_nothing() -> None:
    few = in_turns(step("fsync", sync="fsync", flushes=1.3), 0, 0, ops=7)
    rare = in_turns(step("rare", sync="fsync", flushes=0.2, sync_every=10), 0, 0)
    for done in (few, rare):
        assert not Case(evidence(None, done)).flushes.missing_flushes


def test_whole_step_is_reported_if_it_lacks_flushes() -> None:
    whole = in_turns(step(flushes=0.5), 0, 100)
    (lacking,) = Case(evidence(None, whole)).flushes.missing_flushes
    assert lacking.step is whole


@pytest.mark.parametrize(
    ("turns", "temporary"),
    [((0, 100, 100), True), ((66, 66, 66), False), ((33, 67, 98), False), ((79, 79, 99), False), ((0, 0, 0), False)],
    ids=["one turn", "all turns alike", "no turn has all", "no turn has far fewer", "none at all"],
)
def test_flushes_missing_for_a_time_show_in_the_turns(turns: tuple[int, ...], temporary: bool) -> None:
    case = Case(evidence(None, in_turns(step(ops=300, flushes=sum(turns) / 300), *turns)))
    (lacking,) = case.flushes.missing_flushes
    assert case.flushes.is_temporary(lacking) is temporary
    turn_only = Case(evidence(None, in_turns(step("fsync", sync="fsync", flushes=1.3), 200, *turns)))
    assert all(map(turn_only.flushes.is_temporary, turn_only.flushes.missing_flushes))


@pytest.mark.parametrize(
    ("top", "flushes", "missing"),
    [
        (filesystem("btrfs"), 1.9, True),
        (filesystem("btrfs"), 1.997, False),
        (filesystem(data="journal"), 1.9, False),
    ],
    ids=["btrfs", "btrfs complete", "two or three"],
)
def test_five_percent_missing_are_found_if_the_minimum_is_known(top: Node, flushes: float, missing: bool) -> None:
    case = Case(evidence(on_disk(top), step(ops=1000, flushes=flushes)))
    assert bool(case.flushes.missing_flushes) is missing


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((step(flushes=0, rate=9120.0),), "9\xa0120 syncs a second, and no flush reached sda"),
        (
            (step(flushes=0.25), step("fsync", flushes=0, sync="fsync")),
            "2\xa0000 syncs a second, and no flush reached sda",
        ),
        ((step(flushes=2.7),), "2\xa0000 syncs a second"),  # another process's
        ((step(flushes=None),), "2\xa0000 syncs a second"),
        ((step(flushes=0, sync="none", open_flags=("direct", "dsync")),), ""),  # FUA writes
        ((step(sync="none"),), ""),
    ],
)
def test_rate_of_syncs_and_their_flushes(steps: tuple[Step, ...], expected: str) -> None:
    case = Case(evidence(on_disk(filesystem(barrier="nobarrier")), *steps))
    assert case.flushes.sync_rate == expected


def test_rate_of_a_step_without_duration_is_zero() -> None:
    assert words.syncs_a_second(20, step(changes={"elapsed_s": 5e-324})) == "0.00 syncs a second"
