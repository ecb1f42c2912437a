"""Judge the saved runs of the first version again: verdicts and figures stay, apart from the differences listed here.

``frozen`` holds documents of the format ``fstui.run/1``, judged by commit 78a28f7. Only host names were removed.
``machine-…`` are the laboratory's virtual machines, ``storage-…`` are disks that tests made, and ``made-up-…`` cover
what neither of them shows. Words may change: ``sentences.json`` records today's.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from textwrap import wrap
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from fstui.judge import judge, rule_names
from fstui.judge.facts import Case
from fstui.judge.rules import RENAMED, all_rules
from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode
from fstui.model.judgement import Judgement
from tests.judge.sentences import FROZEN, WRITTEN, sentences

NAMES = sorted(path.name.removesuffix(".json.gz") for path in FROZEN.glob("*.json.gz"))
KNOWN = 33
"""Rules of that version. A later rule may add a note, but no verdict."""
GONE = frozenset({
    "etcd-fit", "mounted-sync", "odsync-cheaper", "slower-than-class", "stalls", "two-clocks",
})  # fmt: skip
"""Rules of that version: now a row in the table of products that the storage is fast enough for, a part of the answer
about speed, a part of ``unknown-layer``, found by ``flushes-missing``, or notes about two steps."""
COMPOSED = "the expected flushes are composed along the stack, and the devices are named accordingly"
UNOBSERVED = "without evidence that each lowest device did work, confidence is low on real hardware too"
CONFIRMED = "confidence is above low only if each lowest device was observed to work or is known to be safe"
DECLARED = "a declared medium explains a flat flush, so it is not reported"
UNHEARD = "if the host offers no flush, its drive may be protected, so a high rate proves nothing"
UNSENT = "a disk to which the kernel sends no flush has no note about the cost of a flush"
REPEATED = "device-mapper repeats the flush of a commit, so the additional flush is not another process's"
UNTIMED = "the time of libc's fdatasync is no longer a sign of a stub: the four other signs are enough"
SEVERAL = "if a step with one writer lacks flushes, steps with several writers are listed, too"
WITHOUT_EFFECT = "barriers that are off change nothing above a device to which the kernel sends no flush"
FLAT = "a flush that costs nothing in a guest is a note: a protected disk of the host looks the same"
UNSUPPORTED = "a filesystem that syncs every write is not judged"
STATED = "a controller's statement is plausible whatever the rate is, so the rate is not named"

RAID_CACHE = "made-up-raid-cache-plausible-1 made-up-raid-cache-plausible-2"
IGNORED_IN_A_GUEST = (
    "machine-dm-writecache-ignores-flush machine-hdd-7200-ignores-flush "
    "machine-md-raid1-ignores-flush machine-md-raid10-ignores-flush machine-nvme-write-through "
    "machine-ssd-ignores-flush machine-virtio-ignores-flush "
    "machine-xfs-ignores-flush storage-with-the-medium-alone-the-o-direct-step-came-back-before-the-platter "
    "storage-without-a-declaration-speed-proves-nothing-against-it"
)


class Allowed(NamedTuple):
    """Differences in some documents: of the run itself, or of the findings of one rule."""

    reason: str
    rule: str | None
    fields: str
    documents: str


ALLOWED = (
    Allowed(
        COMPOSED,
        "flushes-arrive",
        "figures steps",
        "machine-bcache-writethrough machine-dm-cache-ignores-flush machine-zfs-slog-ignores-flush",
    ),
    Allowed(COMPOSED, "flushes-arrive", "figures", "machine-zfs-slog-throughput made-up-link-exceeded-suspicious-2"),
    Allowed(
        COMPOSED,
        "other-writers",
        "figures steps",
        "machine-bcache-writethrough machine-dm-cache machine-dm-cache-ignores-flush",
    ),
    Allowed(
        UNOBSERVED,
        "flushes-arrive",
        "confidence",
        "made-up-commits-without-flushes-not-durable-1 made-up-commits-without-flushes-not-durable-2 "
        "made-up-consumer-nand-too-fast-suspicious-1 made-up-consumer-nand-too-fast-suspicious-2 "
        "made-up-disturbed-note-2 made-up-ephemeral-note-2 made-up-etcd-fit-note-1 "
        "made-up-etcd-fit-note-2 made-up-link-exceeded-note-2 made-up-link-exceeded-suspicious-1 "
        "made-up-link-exceeded-suspicious-2 made-up-rate-changed-note-1 made-up-rate-changed-note-2 "
        "made-up-stack-state-note-1",
    ),
    Allowed(
        UNOBSERVED,
        None,
        "confidence",
        "made-up-disturbed-note-2 made-up-ephemeral-note-2 made-up-etcd-fit-note-1 "
        "made-up-etcd-fit-note-2 made-up-link-exceeded-note-2 made-up-rate-changed-note-1 "
        "made-up-rate-changed-note-2 made-up-stack-state-note-1",
    ),
    Allowed(
        CONFIRMED,
        None,
        "confidence order",
        "machine-btrfs-sata machine-btrfs-virtio machine-dm-cache machine-ext4-virtio machine-hdd-7200 "
        "machine-luks-lvm machine-md-raid1 machine-md-raid10 machine-overlay machine-scsi-fua machine-ssd "
        "machine-usb-disk machine-xfs-scsi machine-xfs-virtio machine-zfs-standard",
    ),
    Allowed(CONFIRMED, None, "order", "machine-nvme-ignores-fua"),
    Allowed(CONFIRMED, None, "confidence", f"machine-raid-controller {RAID_CACHE}"),
    Allowed(
        CONFIRMED,
        "flush-cost",
        "confidence",
        "machine-btrfs-sata machine-btrfs-virtio machine-dm-cache machine-ext4-virtio machine-hdd-7200 "
        "machine-md-raid1 machine-md-raid10 machine-nvme-ignores-fua machine-overlay machine-scsi-fua "
        "machine-ssd machine-usb-disk machine-xfs-scsi machine-xfs-virtio machine-zfs-standard",
    ),
    Allowed(WITHOUT_EFFECT, "barriers-off", "verdict confidence", "made-up-barriers-off-plausible-2"),
    Allowed(CONFIRMED, "flushes-arrive", "confidence", RAID_CACHE),
    Allowed(STATED, "stated-durable", "confidence figures", RAID_CACHE),
    Allowed(
        FLAT,
        None,
        "verdict",
        "machine-dm-writecache-ignores-flush machine-luks-lvm-ignores-flush machine-md-raid1-ignores-flush "
        "machine-md-raid10-ignores-flush machine-nvme-write-through machine-ssd-ignores-flush "
        "machine-virtio-ignores-flush machine-xfs-ignores-flush "
        "storage-without-a-declaration-speed-proves-nothing-against-it",
    ),
    Allowed(FLAT, None, "order", IGNORED_IN_A_GUEST),
    Allowed(FLAT, "flush-cost", "verdict", IGNORED_IN_A_GUEST),
    Allowed(DECLARED, None, "order rules", "machine-raid-controller"),
    Allowed(UNHEARD, None, "confidence", "made-up-virtio-no-flush-suspicious-1"),
    Allowed(UNHEARD, "virtio-no-flush", "confidence", "made-up-virtio-no-flush-suspicious-1"),
    Allowed(
        UNSENT,
        None,
        "order rules",
        "machine-hdd-7200-hidden-cache machine-virtio-no-flush machine-virtio-write-through",
    ),
    Allowed(
        UNTIMED, "sync-stubbed", "figures", "storage-libeatmydata-is-found-in-the-process-and-the-disk-is-not-judged"
    ),
    Allowed(REPEATED, None, "rules", "machine-luks-lvm"),
    Allowed(REPEATED, None, "order rules", "machine-luks-lvm-ignores-flush"),
    Allowed(
        UNSUPPORTED,
        None,
        "verdict confidence order rules",
        "storage-syncs-arrive-and-nobody-is-accused-ext4-mounted-sync",
    ),
    Allowed(
        SEVERAL,
        "flushes-missing",
        "figures steps",
        "storage-a-filter-that-shows-no-other-sign-is-found-by-what-does-not-arrive",
    ),
)
MAX_LINES, WIDTH = 4, 76
"""Of a sentence, on a screen of 80 columns."""
FIELDS = ("verdict", "confidence", "scope", "steps", "figures")


@cache
def document(name: str) -> bytes:
    return gzip.decompress((FROZEN / f"{name}.json.gz").read_bytes())


@cache
def again(name: str) -> Judgement:
    return judge(decode_run(document(name)))


@cache
def known_rules() -> frozenset[str]:
    """Return the rules that have a finding in any of the documents, by today's names."""
    found = (finding["rule"] for name in NAMES for finding in msgspec.json.decode(document(name))["findings"])
    return frozenset(RENAMED.get(rule, rule) for rule in found if rule not in GONE)


def differences(name: str) -> Iterator[tuple[str | None, str]]:
    """Yield (rule, field) wherever today's judgement differs from the document's."""
    frozen = msgspec.json.decode(document(name))
    today = msgspec.json.decode(encode(again(name)))
    kept = [finding for finding in frozen["findings"] if finding["rule"] not in GONE]
    was, now = (list(map(_compared, findings)) for findings in (kept, today["findings"]))
    now = [finding for finding in now if finding["verdict"] or finding["rule"] in known_rules()]
    yield from ((None, field) for field in ("verdict", "confidence") if frozen[field] != today[field])
    orders = [[finding["rule"] for finding in findings] for findings in (was, now)]
    if orders[0] != orders[1]:
        yield None, "order"
    if sorted(orders[0]) != sorted(orders[1]):
        yield None, "rules"
        return
    by_name = (sorted(findings, key=itemgetter("rule")) for findings in (was, now))
    for old, new in zip(*by_name, strict=True):
        yield from ((old["rule"], field) for field in FIELDS if old[field] != new[field])


def _compared(finding: dict[str, Any]) -> dict[str, Any]:
    """Reduce the words of a finding to their figures."""
    words = " ".join([finding["title"], *finding["because"]]).replace("\xa0", " ")  # older runs have breaking spaces
    figures = sorted(re.findall(r"(?<![\w.])\d[\d.]*(?: \d{3})*(?:\.\d+)?", words))
    return {**finding, "rule": RENAMED.get(finding["rule"], finding["rule"]), "figures": figures}


def allowed(name: str) -> set[tuple[str | None, str]]:
    return {(each.rule, field) for each in ALLOWED if name in each.documents.split() for field in each.fields.split()}


@pytest.mark.parametrize("name", NAMES)
def test_saved_run_is_judged_as_before(name: str) -> None:
    assert set(differences(name)) == allowed(name)


def test_no_verdict_differs_but_those_with_a_reason() -> None:
    assert {name for each in ALLOWED for name in each.documents.split()} <= set(NAMES)
    changes: dict[str, set[tuple[str, str]]] = {FLAT: set(), UNSUPPORTED: set(), WITHOUT_EFFECT: set()}
    for each in ALLOWED:
        fields = each.fields.split()
        assert "scope" not in fields and ("verdict" not in fields or each.reason in changes)
        if each.rule is None and "verdict" in fields:
            was = (msgspec.json.decode(document(name))["verdict"] for name in each.documents.split())
            now = (f"{again(name).verdict} {again(name).confidence}" for name in each.documents.split())
            changes[each.reason].update(zip(was, now, strict=True))
    assert changes == {
        FLAT: {("cannot-tell", "consistent low")},
        UNSUPPORTED: {("consistent", "cannot-tell medium")},
        WITHOUT_EFFECT: set(),
    }


def test_sentences_are_those_recorded() -> None:
    assert {name: sentences(document(name)) for name in NAMES} == msgspec.json.decode(WRITTEN.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_sentence_is_short_and_bad_verdict_has_a_number(name: str) -> None:
    for finding in again(name).findings:
        assert len(wrap(finding.sentence, WIDTH)) <= MAX_LINES, finding.sentence
        if finding.verdict in {"not-durable", "suspicious"}:
            assert re.search(r"(?<![\w/.-])\d", finding.sentence), finding.sentence


def test_frozen_documents_are_all_there() -> None:
    kinds = Counter(name.partition("-")[0] for name in NAMES)
    assert kinds == {"machine": 52, "storage": 41, "made": 42}
    assert sum(path.stat().st_size for path in FROZEN.iterdir()) < 1_500_000


def test_every_rule_of_that_version_has_a_finding() -> None:
    assert len(known_rules()) == KNOWN
    assert known_rules() <= set(rule_names())


@pytest.mark.parametrize("name", NAMES)
def test_without_steps_no_rule_about_steps_judges(name: str) -> None:
    case = Case(replace(decode_run(document(name)), steps=()))
    left_out = set(all_rules()) - set(all_rules(with_steps=False))
    assert len(left_out) > 8 and not [found for rule in left_out for found in rule(case)]


@pytest.mark.parametrize("name", NAMES)
def test_no_rule_reads_the_source_of_a_mount(name: str) -> None:
    """Filesystems that differ only in their source share a judgement."""
    run = decode_run(document(name))
    renamed = run.target and replace(run.target, source="elsewhere")
    assert judge(replace(run, target=renamed)) == again(name)
