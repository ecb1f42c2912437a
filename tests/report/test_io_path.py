from msgspec.structs import replace

from fstui.model.counters import DeviceCounters, Idle
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Reading
from fstui.report import io_path
from fstui.report.figures import Counts
from tests.factories import databases, screens
from tests.factories.steps import step, traced
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, target


def drawn(evidence: Evidence) -> list[tuple[str, str]]:
    return [(line.text, line.style) for line in io_path.lines(evidence, evidence.steps[-1])]


def test_on_durable_storage_all_flushes_arrive() -> None:
    evidence = Evidence(target=on_disk(), steps=(step(),), idle=screens.IDLE)
    lines = drawn(evidence)
    assert lines[0][0].startswith("fstui requested ") and "syncs" in lines[0][0]
    assert any("expects 1 per sync" in text for text, _ in lines)
    (arrived,) = (text for text, state in lines if state == "arrived")
    assert arrived.startswith("│ ") and "(1.00 per sync)" in arrived and arrived.endswith("✓ all arrived")
    assert not any(state == "dropped" for _, state in lines)


def test_traced_flushes_of_fstui_and_of_others_are_apart() -> None:
    trace = (traced(us=2000, kernel=714, others=78),)
    evidence = Evidence(target=on_disk(), steps=(step(flushes=1.4, share=2, changes={"trace": trace}),))
    (arrived,) = (text for text, state in drawn(evidence) if state == "arrived")
    assert arrived == "│ ✓ 2\xa0000 of 2\xa0000 flushes arrived; other programs sent 78 and kernel threads sent 714"


def test_counters_with_other_writers_are_not_related_to_syncs() -> None:
    lines = drawn(Evidence(target=on_disk(), steps=(step(flushes=3, share=2),)))
    (unknown,) = (text for text, state in lines if state == "unknown")
    assert unknown.endswith(" flushes, ? other processes also wrote")
    assert "a sync)" not in unknown and "(2.00)" not in unknown


def test_bytes_that_others_may_have_written_have_no_ratio() -> None:
    """The tables show no write amplification either."""
    others = DeviceCounters(device="sda", writes=90, written_bytes=9 << 20, flushes=0, flush_ms=0)
    evidence = Evidence(target=on_disk(), steps=(step(share=1.02),), idle=Idle(elapsed_s=1.0, counters=(others,)))
    (arrived,) = (text for text, _ in drawn(evidence) if "all arrived" in text)
    assert " MiB of all processes, " in arrived
    assert Counts(evidence).bytes_ratio(evidence.steps[0]) is None


def test_syncs_that_a_library_answers_end_above_the_filesystem() -> None:
    library = Reading(what="preload", value="/usr/lib/libeatmydata.so", path="/proc/self/maps")
    evidence = Evidence(target=on_disk(), steps=(step(flushes=0, share=0),), process=Process(preloads=(library,)))
    assert drawn(evidence)[1] == ("╳ ✗ syncs intercepted by libeatmydata.so", "dropped")
    assert not any("expects" in text or "dropped" in text for text, _ in drawn(evidence))
    arrived = replace(evidence, steps=(step(),))
    assert any(text.endswith("✓ all arrived") for text, _ in drawn(arrived))


def test_dropped_flushes_are_counted_at_their_edge() -> None:
    evidence = Evidence(target=on_disk(), steps=(step(flushes=0),))
    (dropped,) = (text for text, state in drawn(evidence) if state == "dropped")
    asked = evidence.steps[0].syncs
    assert dropped.startswith("╳ ") and f"✗ {asked:,} dropped".replace(",", "\xa0") in dropped


def test_the_layer_that_stops_flushes_has_a_reason() -> None:
    top = replace(filesystem(), sync="stops", reason="nobarrier")
    evidence = Evidence(target=target(top, *on_disk().stack[1:]), steps=(step(flushes=0),))
    lines = drawn(evidence)
    (stopping,) = (text for text, state in lines if state == "dropped" and "passes no" in text)
    assert stopping.endswith("✗ passes no flushes on: nobarrier")
    assert any(text.startswith("╳") for text, _ in lines)


def test_bytes_may_stay_in_the_cache_below_an_unflushed_loop() -> None:
    stack = on_loop(device=loop(dio="0")).stack
    top = replace(filesystem(below=("loop0",), barrier="nobarrier"), sync="stops", reason="nobarrier")
    measured = step(flushes={"loop0": 0, "sda": 0.5}, share={"loop0": 1.0, "sda": 0.01})
    lines = drawn(Evidence(target=target(top, *stack[1:]), steps=(measured,)))
    assert not any("missing" in text for text, _ in lines)
    assert ("╳ the data may still be in the page cache", "") in lines


def test_each_mirror_member_is_drawn_once() -> None:
    legs = (disk("sda"), disk("sdb"))
    mirror = replace(block("md0", "md", "sda"), below=("sda", "sdb"))
    lines = drawn(Evidence(target=target(filesystem(below=("md0",)), mirror, *legs), steps=(step(),)))
    names = [text.strip() for text, _ in lines]
    assert sum(name.startswith("sda") for name in names) == 1
    assert sum(name.startswith("sdb") for name in names) == 1


def test_a_run_without_storage_or_steps_has_no_drawing() -> None:
    assert io_path.section(replace(screens.RUN, target=None)).empty
    assert io_path.section(replace(screens.RUN, steps=())).empty


def test_only_the_transactions_of_a_database_were_requested() -> None:
    database = databases.STEPS[1]
    lines = drawn(Evidence(target=on_disk(), steps=(database,)))
    assert lines[0][0] == "fstui requested 31 transactions"
