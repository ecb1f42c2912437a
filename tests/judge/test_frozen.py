"""Runs that an earlier judge has judged: the same findings, but for differences that are named here with their reason.

``frozen`` holds documents of the first version (``fstui.run/1``) as they were saved, only the names of a box taken out:
of every machine of the laboratory (``machine-…``), of disks made here (``storage-…``), and of made-up boxes for what
neither of them shows (``made-up-…``). Each was judged by commit 78a28f7.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from textwrap import wrap
from typing import Any

import msgspec
import pytest

from fstui.judge import judge, rule_names
from fstui.judge.words import CUT_THE_POWER
from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode
from tests.judge.sentences import FROZEN, WRITTEN, sentences

NAMES = sorted(path.name.removesuffix(".json.gz") for path in FROZEN.glob("*.json.gz"))

ONE_WORDING = {
    "Cut the power in the middle of acknowledged writes, with a witness on another box.",
    "To prove it: cut the power in the middle of acknowledged writes, with a witness on another box.",
    CUT_THE_POWER,
}
"""What to do next where only a power cut tells more stood there in three wordings."""

RENAMED = {"in-its-shoes": "another-cgroup"}
"""A name that says what it is about."""

KNOWN = 39
"""Rules of that judge. A later one may add a note to what was said, and no verdict."""

COMPOSED = "what arrived is composed of what each layer hands to those below it, and the devices are named by that"
UNSEEN = "a drive that forgets a flush counts it: where its own part is not seen, the confidence is low on metal, too"
VOUCHED = (
    "above low, each lowest device was seen at work or is known to lose nothing, and none is in a guest or behind a "
    "controller: those that were not are named"
)
ANSWERED = "a flat flush may mean a protected cache or a host that ignores it: where the user said which, nobody asks"
UNHEARD = "a disk whose host offers no flush may be as fast on a protected drive"
SINGULAR = "one stall is no stalls"
ITS_COMMAND = "what to run next stands there as a command that can be run"
NOTHING = "a flush that takes no longer adds nothing, rather than 0 ns"
REPEATED = "device-mapper has one device flushed once more for a commit, which is nobody else's"
OF_A_LAYER = "what nobody wrote while fstui was idle may be a layer's own, and is not said to be others'"
TOGETHER = "several writers who got too few flushes for one of them are named, too"

WHERE = "of a client it is said to run fstui where the data is stored"

ALLOWED: dict[str, dict[str, dict[str, str]]] = {
    WHERE: {"made-up-remote-filesystem-cannot-tell-2": {"remote-filesystem": "next"}},
    TOGETHER: {
        "storage-a-filter-that-shows-no-other-sign-is-found-by-what-does-not-arrive": {
            "flushes-missing": "because steps"
        }
    },
    OF_A_LAYER: {
        "machine-bcache-ignores-flush": {"other-writers": "title"},
        "machine-bcache-writeback": {"other-writers": "title"},
        "machine-btrfs-ignores-flush": {"other-writers": "title"},
        "machine-btrfs-sata": {"other-writers": "title"},
        "machine-btrfs-virtio": {"other-writers": "title"},
    },
    NOTHING: {"machine-virtio-write-through": {"flush-flat": "title"}},
    COMPOSED: {
        "machine-bcache-ignores-flush": {"flushes-arrive": "because next title", "other-writers": "because"},
        "machine-bcache-writeback": {"flushes-arrive": "because next title", "other-writers": "because"},
        "machine-bcache-writethrough": {
            "flushes-arrive": "because next steps title",
            "other-writers": "because steps title",
        },
        "machine-dm-cache": {"flushes-arrive": "because title", "other-writers": "because steps"},
        "machine-dm-cache-ignores-flush": {"flushes-arrive": "because steps title", "other-writers": "because steps"},
        "machine-md-raid10": {"flushes-arrive": "because"},
        "machine-md-raid10-ignores-flush": {"flushes-arrive": "because"},
        "machine-zfs-slog-ignores-flush": {"flushes-arrive": "because steps"},
        "machine-zfs-slog-throughput": {"flushes-arrive": "because title"},
        "made-up-link-exceeded-suspicious-2": {"flushes-arrive": "because title"},
    },
    UNSEEN: {
        "made-up-commits-without-flushes-not-durable-1": {"flushes-arrive": "confidence"},
        "made-up-commits-without-flushes-not-durable-2": {"flushes-arrive": "confidence"},
        "made-up-consumer-nand-too-fast-suspicious-1": {"flushes-arrive": "confidence"},
        "made-up-consumer-nand-too-fast-suspicious-2": {"flushes-arrive": "confidence"},
        "made-up-disturbed-note-2": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-ephemeral-note-2": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-etcd-fit-note-1": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-etcd-fit-note-2": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-link-exceeded-note-2": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-link-exceeded-suspicious-1": {"flushes-arrive": "confidence"},
        "made-up-link-exceeded-suspicious-2": {"flushes-arrive": "confidence"},
        "made-up-rate-changed-note-1": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-rate-changed-note-2": {"": "confidence", "flushes-arrive": "confidence"},
        "made-up-stack-state-note-1": {"": "confidence", "flushes-arrive": "confidence"},
    },
    VOUCHED: {
        "machine-btrfs-sata": {"": "confidence order", "flush-flat": "confidence"},
        "machine-btrfs-virtio": {"": "confidence order", "flush-flat": "confidence"},
        "machine-dm-cache": {"": "confidence order", "flush-flat": "confidence"},
        "machine-ext4-virtio": {"": "confidence order", "flush-flat": "confidence"},
        "machine-hdd-7200": {"": "confidence order", "flush-flat": "confidence"},
        "machine-luks-lvm": {"": "confidence order"},
        "machine-md-raid1": {"": "confidence order", "flush-flat": "confidence"},
        "machine-md-raid10": {"": "confidence order", "flush-flat": "confidence"},
        "machine-nvme-ignores-fua": {"": "order", "flush-flat": "confidence"},
        "machine-overlay": {"": "confidence order", "flush-flat": "confidence"},
        "machine-raid-controller": {"": "confidence"},
        "machine-scsi-fua": {"": "confidence order", "flush-flat": "confidence"},
        "machine-ssd": {"": "confidence order", "flush-flat": "confidence"},
        "machine-usb-disk": {"": "confidence order", "flush-flat": "confidence"},
        "machine-xfs-scsi": {"": "confidence order", "flush-flat": "confidence"},
        "machine-xfs-virtio": {"": "confidence order", "flush-flat": "confidence"},
        "machine-zfs-standard": {"": "confidence order", "flush-flat": "confidence"},
        "made-up-barriers-off-plausible-2": {"barriers-off": "confidence"},
        "made-up-raid-cache-plausible-1": {
            "": "confidence",
            "flushes-arrive": "confidence",
            "raid-cache": "confidence",
        },
        "made-up-raid-cache-plausible-2": {
            "": "confidence",
            "flushes-arrive": "confidence",
            "raid-cache": "confidence",
        },
    },
    ANSWERED: {"machine-raid-controller": {"": "order rules"}},
    REPEATED: {
        "machine-luks-lvm": {"": "order rules"},
        "machine-luks-lvm-ignores-flush": {"": "order rules"},
    },
    UNHEARD: {"made-up-virtio-no-flush-suspicious-1": {"": "confidence", "virtio-no-flush": "confidence"}},
    SINGULAR: {
        "machine-dm-cache": {"stalls": "because title"},
        "machine-dm-cache-ignores-flush": {"stalls": "because"},
        "machine-zfs-slog-throughput": {"stalls": "because title"},
        "machine-zfs-standard": {"stalls": "because title"},
        "storage-a-device-that-goes-away-fails-the-step-and-ends-the-run-ext4": {"stalls": "because title"},
        "storage-a-filter-that-swallows-every-sync-is-found-in-the-process": {"stalls": "because title"},
        "storage-a-slow-honest-disk-is-slow-and-nothing-worse": {"stalls": "because"},
        "storage-an-ordinary-user-measures-in-a-directory-of-their-own": {"stalls": "because title"},
        "storage-beside-a-neighbour-an-honest-disk-is-neither-accused-nor-believed": {"stalls": "because title"},
        "storage-syncs-arrive-and-nobody-is-accused-btrfs": {"stalls": "because title"},
        "storage-syncs-arrive-and-nobody-is-accused-ext3": {"stalls": "because"},
        "storage-the-configuration-gives-it-away-overlay-volatile": {"stalls": "because title"},
    },
    ITS_COMMAND: {
        "machine-overlay-volatile": {"overlay-volatile": "next"},
        "storage-the-configuration-gives-it-away-overlay-volatile": {"overlay-volatile": "next"},
    },
}
"""By reason and document: the fields in which findings of a rule differ; "" stands for the run's own."""

MOST_LINES, WIDTH = 4, 76
"""Of a sentence, on a screen of 80 columns."""

FIELDS = ("verdict", "confidence", "scope", "title", "steps", "because", "next")
"""Not the sentence: those of today are held apart (``sentences``)."""


@cache
def document(name: str) -> bytes:
    return gzip.decompress((FROZEN / f"{name}.json.gz").read_bytes())


@cache
def spoke() -> frozenset[str]:
    """The rules that have a finding in any of the documents, by today's names."""
    found = (finding["rule"] for name in NAMES for finding in msgspec.json.decode(document(name))["findings"])
    return frozenset(RENAMED.get(rule, rule) for rule in found)


def differences(name: str) -> Iterator[tuple[str, str]]:
    """(rule, field) wherever today's judge says something else than stands in the document."""
    frozen = msgspec.json.decode(document(name))
    again = msgspec.json.decode(encode(judge(decode_run(document(name)))))
    was, now = (list(map(_alike, judged["findings"])) for judged in (frozen, again))
    now = [finding for finding in now if finding["verdict"] or finding["rule"] in spoke()]
    yield from (("", field) for field in ("verdict", "confidence") if frozen[field] != again[field])
    orders = [[finding["rule"] for finding in findings] for findings in (was, now)]
    if orders[0] != orders[1]:
        yield "", "order"
    if sorted(orders[0]) != sorted(orders[1]):
        yield "", "rules"
        return
    by_name = (sorted(findings, key=itemgetter("rule")) for findings in (was, now))
    for old, new in zip(*by_name, strict=True):
        yield from ((old["rule"], field) for field in FIELDS if old[field] != new[field])


def _alike(finding: dict[str, Any]) -> dict[str, Any]:
    """Without what may differ in every document."""
    rest = [CUT_THE_POWER if line in ONE_WORDING else line for line in finding["next"]]
    finding = {**finding, "title": _expected(finding["title"]), "because": list(map(_expected, finding["because"]))}
    return {**finding, "rule": RENAMED.get(finding["rule"], finding["rule"]), "next": rest}


def _expected(text: str) -> str:
    """Flushes that were once "owed" are expected."""
    return re.sub(r"\bowed\b", "expected", text)


def allowed(name: str) -> Iterator[tuple[str, str]]:
    for documents in ALLOWED.values():
        yield from ((rule, field) for rule, fields in documents.get(name, {}).items() for field in fields.split())


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_judged_as_it_was(name: str) -> None:
    assert set(differences(name)) == set(allowed(name))


def test_no_verdict_and_no_rule_differs_and_what_is_allowed_is_there() -> None:
    assert {name for documents in ALLOWED.values() for name in documents} <= set(NAMES)
    fewer = {*ALLOWED[ANSWERED], *ALLOWED[REPEATED]}
    fields = {field for name in NAMES if name not in fewer for _, field in allowed(name)}
    assert not fields & {"verdict", "scope", "rules"}
    assert not {field for name in fewer for _, field in allowed(name)} & {"verdict", "scope"}


def test_what_is_said_of_each_is_held_word_for_word() -> None:
    assert {name: sentences(document(name)) for name in NAMES} == msgspec.json.decode(WRITTEN.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_is_short_and_what_accuses_carries_its_number(name: str) -> None:
    for finding in judge(decode_run(document(name))).findings:
        assert len(wrap(finding.sentence, WIDTH)) <= MOST_LINES, finding.sentence
        if finding.verdict in {"not-durable", "suspicious"}:
            assert re.search(r"(?<![\w/.-])\d", finding.sentence), finding.sentence


def test_there_is_something_to_compare() -> None:
    kinds = Counter(name.partition("-")[0] for name in NAMES)
    assert kinds == {"machine": 52, "storage": 41, "made": 42}
    assert sum(path.stat().st_size for path in FROZEN.iterdir()) < 1_500_000


def test_every_rule_that_there_was_spoke() -> None:
    assert len(spoke()) == KNOWN
    assert spoke() <= set(rule_names())
