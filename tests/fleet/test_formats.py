"""The reports of a fleet. Text from hosts is escaped in every format."""

import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fstui.fleet import results
from fstui.fleet.report import changes, comparison_report, report_of
from fstui.fleet.results import About, Fleet, Rate, results_of
from fstui.measure.kinds.documents import decode_run
from fstui.model.errors import Refused
from fstui.model.judgement import Speed, Verdict
from fstui.model.steps import TimelinePoint
from fstui.model.storage import Node, Reading
from fstui.report.formats import render_report, report_names
from fstui.report.formats.json import line
from tests.cli.test_watch import REPORT
from tests.factories import storage
from tests.factories.samples import RUN
from tests.fleet.conftest import HONEST
from tests.fleet.test_outliers import host, peers, two_steps
from tests.hostile import NAME, assert_safe, everywhere


def fleet(*hosts: object, **troubles: str) -> Fleet:
    named = tuple(dict.fromkeys(one.node for one in hosts))  # type: ignore[attr-defined]
    return Fleet(about=About(command="run", nodes=(*named, *troubles), troubles=troubles), results=hosts)  # type: ignore[arg-type]


def render(format_: str, shown: Fleet, width: int | None = None) -> str | bytes:
    return render_report(format_, report_of(shown), width)


@pytest.mark.parametrize("format_", report_names())
def test_text_from_hosts_is_escaped(format_: str) -> None:
    there = results_of("db1", "run", line(everywhere(RUN)))
    text = render(format_, fleet(*there, db2=f"{NAME}<script>"))
    shown = text.decode() if isinstance(text, bytes) else text
    assert_safe(shown)
    assert format_ in ("json", "csv", "plain") or "<script>" not in shown


def test_the_worst_host_comes_first() -> None:
    liar = host("db9", verdict="not-durable", sentence="Nothing is flushed.")
    text = render("plain", fleet(*peers(), liar, db10="no way to it", db11="no way to it"))
    assert isinstance(text, str)
    lines = text.splitlines()
    assert lines[0].startswith("7 of 9 hosts answered in 0.0 s: 1 not-durable, 6 consistent")
    assert lines[3].split()[:3] == ["✗", "db9", "not-durable"]
    assert "  db[10-11]: no way to it" in lines


def test_commits_are_those_of_the_first_step_that_syncs() -> None:
    rates = (Rate(step="write, no sync", per_s=6927.0, synced=False), Rate(step="fdatasync", per_s=211.0))
    text = render("plain", fleet(replace(host("db1"), rates=rates)))
    assert isinstance(text, str)
    row = text.splitlines()[3]
    assert "211" in row and "6\xa0927" not in row


def test_ratio_to_peers_is_that_of_the_commits_shown() -> None:
    hosts = [two_steps("db1", 400.0, 100.0), two_steps("db2", 400.0, 100.0), two_steps("db3", 160.0, 1000.0)]
    text = render("plain", fleet(*hosts))
    assert isinstance(text, str)
    row = next(line for line in text.splitlines() if "db3" in line)
    assert "160" in row and "0.40" in row


def test_a_check_is_a_row_for_each_filesystem() -> None:
    two = b"[" + HONEST.strip() + b"," + HONEST.strip() + b"]"
    for document in (two, b'{"schema":"fstui.check/1","runs":' + two + b"}"):  # of older versions, and of this one
        both = results_of("db1", "check", document)
        assert [one.verdict for one in both] == ["consistent", "consistent"]


def test_a_list_names_defects_worst_first_but_no_tmpfs() -> None:
    def defect(verdict: Verdict, title: str) -> dict[str, object]:
        finding = {"rule": "r", "verdict": verdict, "confidence": "high", "scope": "storage", "title": title}
        return {"findings": [finding]}

    bad = defect("not-durable", "barriers off")
    mounts = (
        ("/", "ext4", defect("suspicious", "an unsafe cache")), ("/srv", "ext4", bad), ("/dev/shm", "tmpfs", bad),
        ("/proc", "proc", {"pseudo": True}),
    )  # fmt: skip
    filesystems = [
        {"path": point, "mount_point": point, "fstype": fstype, "source": "", **more} for point, fstype, more in mounts
    ]
    listed = {"schema": "fstui.list/1", "host": {}, "process": {}, "filesystems": filesystems, "unused": []}
    (said,) = results_of("db1", "list", json.dumps(listed).encode())
    assert said.verdict == "not-durable"
    assert said.sentence == "3 filesystems; /srv: not-durable, barriers off; /: suspicious, an unsafe cache"


def test_a_list_with_a_filesystem_that_hangs_is_cannot_tell() -> None:
    hanging = {"path": "/mnt", "mount_point": "/mnt", "fstype": "nfs4", "source": "nas:/a", "silent_s": 9.0}
    listed = {"schema": "fstui.list/1", "host": {}, "process": {}, "filesystems": [hanging], "unused": []}
    (said,) = results_of("db1", "list", json.dumps(listed).encode())
    assert (said.verdict, said.sentence) == ("cannot-tell", "1 filesystem; /mnt does not answer")


def test_a_watch_is_a_row_for_each_host() -> None:
    slow = Speed(answer="slow", title="Writes are slow")
    watch = replace(REPORT, mount_point="/srv", sentence="Syncs wait for the disk.", speed=slow)
    hosts = [result for node in ("db1", "db2") for result in results_of(node, "watch", msgspec.json.encode(watch))]
    shown = fleet(*hosts)
    text = str(render("plain", replace(shown, about=replace(shown.about, command="watch"))))
    assert [row.split() for row in text.splitlines() if "Syncs wait" in row] == [
        [node, *["Syncs", "wait", "for", "the", "disk.", "Writes", "are", "slow"]] for node in ("db1", "db2")
    ]


@pytest.mark.parametrize("document", [b"", b"[" * 100_000, b'{"schema": 1}', b"\xff\xfe", b'{"schema":"fstui.run/2"}'])
@pytest.mark.parametrize("command", ["run", "check", "watch", "list"])
def test_a_broken_document_is_refused(command: str, document: bytes) -> None:
    with pytest.raises(Refused):
        results_of("db1", command, document)


@pytest.mark.parametrize("format_", report_names())
def test_two_fleets_are_compared(format_: str) -> None:
    before = [host("db1", 800.0, facts={"ext4 barrier": "barrier"}), host("db2")]
    after = [host("db1", 8000.0, verdict="not-durable", facts={"ext4 barrier": "nobarrier"}), host("db2")]
    (worst, same) = changes(fleet(*before), fleet(*after))
    assert worst.worse and worst.changed and not same.changed
    made = render_report(format_, comparison_report(fleet(*before), fleet(*after, db3="gone")))
    text = made.decode() if isinstance(made, bytes) else made
    assert "10.0" in text and "ext4 barrier barrier → nobarrier" in text
    assert format_ in ("json", "csv") or "db3: gone" in text


@pytest.mark.parametrize(
    ("before", "noise", "worse"),
    [
        ("consistent", "other-writers", False),
        ("consistent", "stood-still", True),
        ("suspicious", "other-writers", False),
    ],
)
def test_writes_of_others_do_not_make_a_verdict_worse(before: Verdict, noise: str, worse: bool) -> None:
    noisy = host("db1", verdict="cannot-tell", confidence="low", notes={noise: ""})
    (change,) = changes(fleet(host("db1", verdict=before)), fleet(noisy))
    assert change.worse == worse
    assert change.changed == (before == "suspicious" or worse)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        pytest.param([(800, 600, 1100)], [(1144, 700, 1200)], False, id="the parts overlap"),
        pytest.param([(800, 780, 820)], [(880, 860, 890)], False, id="by little"),
        pytest.param([(800, 780, 820), (400, 390, 410)], [(400, 390, 410), (800, 780, 820)], False, id="each way"),
        pytest.param([(800, 780, 820), (400, 390, 410)], [(400, 390, 410), (250, 240, 260)], True, id="all slower"),
        pytest.param([(800,)], [(1200,)], False, id="no interval"),
        pytest.param([(800,)], [(300,)], True, id="no interval, but far slower"),
    ],
)
def test_small_variations_are_no_change(
    before: list[tuple[int, ...]], after: list[tuple[int, ...]], moved: bool
) -> None:
    def measured(rates: list[tuple[int, ...]]) -> Fleet:
        steps = [Rate(step=f"{at}", per_s=per_s, parts=tuple(parts) * 2) for at, (per_s, *parts) in enumerate(rates)]
        return fleet(replace(host("db1"), rates=tuple(steps)))

    (change,) = changes(measured(before), measured(after))
    assert change.changed == moved


def test_the_parts_of_a_step_are_those_of_its_timeline() -> None:
    points = tuple(TimelinePoint(t_s=0.1 * at, ops=10 if at < 8 else 0) for at in range(10))
    run = decode_run(HONEST)
    step = replace(run.steps[0], status="finished", ops=80, elapsed_s=1.0, timeline=points)
    (found,) = results_of("db1", "run", line(replace(run, steps=(step,))))
    assert found.rates[0].parts == (100.0, 100.0, 100.0, 100.0)


def test_a_directory_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(Refused, match="not empty"):
        results.create_directory(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "fleet.json: No such file or directory. Name a directory that fstui fleet created"),
        ("{", "fleet.json: Input data was truncated"),
        ('{"command": "run", "schema": "fstui.fleet/9"}', "its schema is 'fstui.fleet/9', not 'fstui.fleet/1'"),
    ],
)
def test_a_directory_of_something_else_is_refused(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "fleet.json").write_text(content)
    with pytest.raises(Refused) as refused:
        results.read_fleet(tmp_path)
    assert reason in str(refused.value)


def test_documents_that_cannot_be_read_have_a_reason(tmp_path: Path) -> None:
    about = About(
        command="run", nodes=("db1", "gone", "huge", "broken", "../db1", "silent"), troubles={"silent": "why"}
    )
    results.save_about(tmp_path, about)
    results.save_document(tmp_path, "db1", HONEST)
    results.save_document(tmp_path, "broken", b"{")
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(results.MAX_BYTES + 1)
    found = results.read_fleet(tmp_path)
    assert [result.node for result in found.results] == ["db1"]
    assert found.about.troubles == {
        "silent": "why",
        "gone": "gone.json: No such file or directory",
        "huge": "its output is not a document: it is larger than any document",
        "broken": found.about.troubles["broken"],
    }
    assert found.about.troubles["broken"].startswith("its output is not a document: ")


@pytest.mark.parametrize(("fanout", "warned"), [(64, True), (1, False)])
def test_hosts_on_one_server_at_the_same_time_are_named(fanout: int, warned: bool) -> None:
    server = Node(id="remote:nas", layer="remote", kind="nfs server", name="nas", lowest=True)
    nfs = storage.target(storage.filesystem("nfs4", below=("remote:nas",)), server)
    run = replace(decode_run(HONEST), target=replace(nfs, source="nas:/export"))
    hosts = [one for node in ("db1", "db2") for one in results_of(node, "run", line(run))]
    shown = fleet(*hosts, host("db3"))
    text = str(render("plain", replace(shown, about=replace(shown.about, fanout=fanout))))
    assert ("db[1-2]: nas:/export. Their rates are not comparable" in " ".join(text.split())) is warned


def test_hosts_with_one_volume_of_an_array_share_it() -> None:
    def shared(link: str, transport: str = "") -> str:
        readings = (Reading(what="transport", value=transport, path=""),) if transport else ()
        disk = replace(storage.disk(), link=link, model="DS4", readings=readings)
        run = replace(decode_run(HONEST), target=replace(storage.on_disk(storage.filesystem(), disk), identity="a1b2"))
        (found,) = results_of("db1", "run", line(run))
        return found.shared

    assert shared("iscsi") == shared("nvme", "tcp") == "DS4, a1b2"
    assert shared("sata") == shared("nvme", "pcie") == ""
