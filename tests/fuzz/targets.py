"""Parsers of untrusted bytes, each as a function of bytes that raises only for a defect."""

import json
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fstui.measure.helpers import sysbench_program
from fstui.measure.probes.sysbench import WAIT_COLUMNS
from fstui.measure.wire.frames import BadFrame, Decoder, Samples
from fstui.measure.wire.frames import encode as encode_frame
from fstui.model.counters import Counters
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.powercut.records import Stream, unpack
from fstui.powercut.verification import read_log
from fstui.runs import scenarios
from fstui.runs.recorder import ReportedFigures, StepRecorder
from fstui.runs.stepping import content_of
from fstui.state import ledger, paths, user_data
from fstui.storage import mounts
from fstui.storage.tree import udev_properties
from fstui.trace.reader import events
from fstui.trace.reader.tracefs import TracefsError
from tests.databases.test_sysbench_program import PRINTED
from tests.factories.runs import planned, target
from tests.factories.samples import FAILED_RUN
from tests.fuzz import boxes, documents
from tests.fuzz.inputs import Choices
from tests.powercut.headers import HEADER
from tests.trace.reader import made


class Target(NamedTuple):
    """A parser."""

    attempt: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def mountinfo(data: bytes) -> None:
    """/proc/self/mountinfo."""
    every = mounts.read_mounts(boxes.OneFile(data))
    shown = mounts.visible_mounts(every)
    by_point = {mount.mount_point: mount for mount in shown}
    assert len(by_point) == len(shown)
    for mount in shown:
        assert mounts.mount_of_path(mount.mount_point, by_point) is mount


def udev(data: bytes) -> None:
    """A file of udev's database."""
    for name, value in udev_properties(boxes.OneFile(data), "8:0").items():
        assert "\n" not in name + value


def acks_log(data: bytes) -> None:
    """The log of a power cut's witness."""
    with suppress(Refused):
        read_log(data)


def acks_lines(data: bytes) -> None:
    """The lines of such a log after a valid header."""
    acks_log(HEADER + b"\n" + data)


def record(data: bytes) -> None:
    """A block that was read back after a power cut."""
    choices = Choices(data)
    stream = Stream.make(0, "fsync", "overwrite", 4096, 1 << 20)
    block = bytearray(stream.pack("00112233445566ff", 300))
    assert unpack(bytes(block)).kind == "intact"
    for _ in range(1 + choices.number() % 4):
        block[choices.number(2) % len(block)] ^= choices.number() or 1
    found = unpack(bytes(block) if choices.number() % 2 else choices.rest() or bytes(block))
    assert found.kind in ("torn", "empty", "intact")


def scenario_file(data: bytes) -> None:
    """A scenario of the user's own."""
    path = boxes.home() / "fuzzed.toml"
    path.write_bytes(data)
    with suppress(Refused):
        scenarios.expand(scenarios.load(str(path)), {})


def set_options(data: bytes) -> None:
    """``--set key=value``."""
    choices = Choices(data)
    form = choices.one_of(_SCENARIOS)
    chosen = {}
    for _ in range(1 + choices.number() % 3):
        key = choices.one_of((*form.settings, "x"))
        chosen[key] = choices.piece().decode(errors="surrogateescape")
    try:
        ref, steps = scenarios.expand(form, chosen)
    except Refused as refusal:
        assert str(refusal)
        return
    encode(ref)
    encode(steps)


def frames(data: bytes) -> None:
    """The output of a probe, from its bytes to a step."""
    stack = target().stack
    recorder = StepRecorder(0, planned("fdatasync", sync="fdatasync"), stack)
    recorder.begin(Counters(monotonic_ns=1000, devices=()))
    decoder = Decoder()
    try:
        for at in range(0, len(data), 700):
            for frame in decoder.feed(data[at : at + 700]):
                if isinstance(frame, Samples):
                    recorder.add_samples(frame)
                    continue
                content = content_of(frame)
                if frame.kind == "figures":
                    recorder.reported_figures.merge(content)
                elif frame.kind == "done":
                    recorder.end(content)
                elif frame.kind == "inflight":
                    recorder.record_in_flight(content)
    except BadFrame as bad:
        assert str(bad)
        return
    encode(recorder.snapshot(2000))
    encode(recorder.step("finished", 0.0))


def frames_of_sysbench(data: bytes) -> None:
    """The output of the probe that drives sysbench."""
    reported = ReportedFigures("sysbench")
    decoder = Decoder()
    try:
        for frame in decoder.feed(struct.pack("IB3x", len(data), 5) + data):
            assert not isinstance(frame, Samples)
            reported.merge(content_of(frame))
    except BadFrame:
        return
    if reported.figures:
        reported.figures.latency(reported.histogram)


def trace_page(data: bytes) -> None:
    """A page of the kernel's ring buffer."""
    with suppress(events.GarbledPage):
        events.decode(data, made.LAYOUT, _READERS)


def trace_format(data: bytes) -> None:
    """The kernel's description of its events, and a page in that format."""
    text = data.decode(errors="surrogateescape")
    with suppress(TracefsError):
        events.parse_page_layout(text)
    with suppress(TracefsError, events.GarbledPage):
        known = events.parse_format("event", text)
        reader = known.reader(*sorted(known.fields, key=lambda name: known.fields[name].offset)[:3])
        events.decode(_PAGES[0], made.LAYOUT, {known.id: reader})


def sysbench_output(data: bytes) -> None:
    """The output of sysbench, including text from a server."""
    text = data.decode(errors="replace").split("\n")
    reported = ReportedFigures("sysbench")
    intervals = [found for line in text if (found := sysbench_program.parse_interval(line))]
    with suppress(BadFrame):
        reported.merge({"intervals": intervals})
        reported.merge({"histogram": sysbench_program.parse_histogram(text)})
        if totals := sysbench_program.parse_totals(text):
            reported.merge(totals)
        waits = sysbench_program.parse_counters([tuple(line.split("\t")) for line in text], len(WAIT_COLUMNS))
        reported.merge(
            {"waits": [{"file": name, **dict(zip(WAIT_COLUMNS, found, strict=True))} for name, found in waits.items()]}
        )
    assert isinstance(sysbench_program.find_error(text), str)
    if reported.figures:
        reported.figures.latency(reported.histogram)
        encode(reported.figures)


def ledger_entry(data: bytes) -> None:
    """A file in the ledger."""
    directory = paths.ledger_dir()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "run-directory-00000000.json"
    path.write_bytes(data)
    path.chmod(0o600)
    for entry in ledger.stale_entries():
        assert entry.what


def small_files(data: bytes) -> None:
    """Saved declarations, and the keys of the app."""
    for directory, name in ((paths.state_dir(), "declarations.json"), (paths.config_dir(), "keys.toml")):
        directory.mkdir(parents=True, exist_ok=True)
        Path(directory, name).write_bytes(data)
    for read in (user_data.declarations, user_data.keys):
        with suppress(Refused):
            read()


def _frame_seeds() -> list[bytes]:
    said = (
        encode_frame("ready"),
        encode_frame("preparing", done=1, total=2),
        encode_frame("inflight", writer=0, since_ns=1000, call="fdatasync"),
        encode_frame("error", call="pwrite", errno=5, message="Input/output error", writer=0),
        encode_frame("figures", ops=3),
        encode_frame("done", start_ns=1000, end_ns=2000, delayed_ns=0),
        struct.pack("IB3xIBB2xnnn", 32, 4, 0, 2, 0, 1000, 1200, 1500),
        struct.pack("IB3xIBB2xnnnn", 40, 4, 0, 1, 1, 1000, 1200, 1500, 1600),
    )
    return [*said, b"".join(said)]


def _json_seeds() -> list[bytes]:
    figures = {
        "intervals": [{"t_s": 1, "tps": 2, "qps": 3, "p95_ms": 4}],
        "histogram": [[1.5, 3]],
        "transactions": 3,
        "cpu_share": 0.5,
    }
    return [json.dumps(figures).encode()]


def _entry() -> list[bytes]:
    found = {"run": "run", "kind": "directory", "what": "/srv/.fstui-run", "pid": 1, "started": 1, "boot": "b",
             "host": "h", "pid_namespace": "p"}  # fmt: skip
    return [json.dumps(found).encode()]


def _shipped() -> list[bytes]:
    return [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))]


_SCENARIOS = [scenarios.load(name) for name in scenarios.shipped_names()]
_KERNEL = made.KERNELS[-1]
_BIO = made.format_of(_KERNEL, "block/block_bio_queue")
_READERS = {_BIO.id: _BIO.reader("common_pid", "dev", "nr_sector", "rwbs", "comm")}
_PAGES = [page for of_cpu in made.pages_of(_KERNEL).values() for page in of_cpu][:4]
_TEXTS = [file.read_bytes() for file in sorted((made.RECORDED / _KERNEL).glob("*.*")) if file.suffix != ".txt"]
_SMALL = [b'{"id": {"medium": "hdd-7200", "write_cache": "none"}}', b'"storage.filter" = "f"\n']

TARGETS = {
    "mountinfo": Target(mountinfo, lambda: [(boxes.pristine()[0] / "proc/self/mountinfo").read_bytes()]),
    "mounts-survey": Target(boxes.survey_mounts, lambda: [b"90 31 8:0 / /x rw,noatime shared:1 - ext4 /dev/sda rw\n"]),
    "sysfs": Target(boxes.survey_damaged, boxes.seeds_of_files),
    "udev": Target(udev, lambda: [b"S:disk/by-id/x\nE:ID_MODEL=x\nE:ID_ATA_ROTATION_RATE_RPM=7200\n"]),
    "tools": Target(boxes.survey_answers, boxes.seeds_of_answers),
    "documents": Target(documents.changed, documents.seeds),
    "documents-bytes": Target(documents.check_bytes, lambda: [encode(FAILED_RUN)]),
    "acks": Target(acks_log, lambda: [HEADER + b"\nalive 0\nack 0 0 10\nend 900 stopped\n"]),
    "acks-lines": Target(acks_lines, lambda: [b"alive 0\nack 0 0 10\nack 0 1 11\nend 900 stopped\n"]),
    "records": Target(record, lambda: [b"\0", b"\1\2\3\4\5\6"]),
    "scenarios": Target(scenario_file, _shipped),
    "set": Target(set_options, lambda: [b"\0\0\0\0024K", b"\1\1\2\0031,2"]),
    "frames": Target(frames, _frame_seeds),
    "frames-sysbench": Target(frames_of_sysbench, _json_seeds),
    "trace-pages": Target(trace_page, lambda: _PAGES),
    "trace-formats": Target(trace_format, lambda: _TEXTS),
    "sysbench": Target(sysbench_output, lambda: ["\n".join(PRINTED).encode()]),
    "ledger": Target(ledger_entry, _entry),
    "small-files": Target(small_files, lambda: _SMALL),
}
