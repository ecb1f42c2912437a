"""The two answers with which a watch ends: is it honest, and is it slow? From what others did, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fstui.judge import judge
from fstui.judge.references import class_of
from fstui.judge.speed.stalls import CPU_EXPLAINS, STALL_NS
from fstui.judge.speed.yardsticks import FAR
from fstui.model.counters import DeviceTimes
from fstui.model.host import Inventory
from fstui.model.judgement import Speed
from fstui.model.quantities import duration_ns
from fstui.model.run import Evidence
from fstui.model.storage import MediumClass, Target
from fstui.model.watch import Waiting, Watched

_LYING = ("not-durable", "suspicious")
FEWEST = 20
"""Flushes of a device, before their typical time is one."""


class Answers(NamedTuple):
    """Neither has a part in the other."""

    honest: str
    speed: Speed


def answers(whole: Watched, inventory: Inventory, watched: Sequence[Target]) -> Answers:
    """``watched``: the filesystems that were looked at, of those that are here."""
    waited_on = {row.device for row in whole.waits}
    concerned = [target for target in watched if waited_on & {node.id for node in target.stack}]
    return Answers(_honest(inventory, concerned or (watched if len(watched) == 1 else [])), _speed(whole, concerned))


def _honest(inventory: Inventory, concerned: Sequence[Target]) -> str:
    """What the configuration alone says: a watch counts no syncs of its own."""
    for target in concerned:
        found = judge(Evidence(host=inventory.host, process=inventory.process, target=target))
        if found.verdict in _LYING:
            return f"Is it honest? {target.mount_point}: {found.verdict}, {found.confidence}. {found.sentence}"
    return "Is it honest? The configuration does not say otherwise; a watch writes nothing, so ask fstui check."


def _speed(whole: Watched, concerned: Sequence[Target]) -> Speed:
    longest = max((row for row in whole.waits if not row.kernel), key=_longest_ns, default=None)
    if longest is not None and _longest_ns(longest) >= STALL_NS:
        return _stalled(longest)
    found = [(name, times, media) for name, times, media in _flushed(whole, concerned) if media]
    if not found:
        return Speed(title="nothing to hold it against", sentence="No device of a known class was seen to flush often.")
    return _of_class(*max(found, key=lambda one: one[1].p50))


def _stalled(row: Waiting) -> Speed:
    took = duration_ns(_longest_ns(row))
    if row.latency_ns is not None and row.cpu_ns >= CPU_EXPLAINS * row.latency_ns.max:
        words = f"{row.who} waited up to {took}, and may have waited for a CPU as long: the storage is not to be told."
        return Speed(title="the box was short of CPU", sentence=words)
    device = f" The device's own part of one is {duration_ns(row.device_ns)}." if row.device_ns is not None else ""
    return Speed(
        answer="stalls",
        yardstick="a sound device's longest pause",
        title=f"{row.who} waited {took}",
        sentence=f"{row.who} waited up to {took} for one sync of {row.where}.{device}",
        because=(f"{row.who}: {took} at worst",),
    )


def _of_class(name: str, times: DeviceTimes, media: frozenset[MediumClass]) -> Speed:
    known = class_of(media)
    if known is None:
        return Speed(title="nothing to hold it against", sentence="Too few have published of its class.")
    typical, worst = duration_ns(times.p50), duration_ns(1e9 / known.slowest_per_s)
    slow = times.p50 > FAR * 1e9 / known.slowest_per_s
    return Speed(
        answer="slow" if slow else "normal",
        yardstick=known.name,
        title=f"a flush of {name} takes {typical}, beside {known.name}",
        sentence=f"{name} answers a flush in {typical}; the slowest of {known.name} needs {worst} for a durable write.",
        because=(f"{name}: p50 {typical}, at worst {duration_ns(times.max)}",),
    )


def _flushed(whole: Watched, concerned: Sequence[Target]) -> list[tuple[str, DeviceTimes, frozenset[MediumClass]]]:
    media = {node.id: node.medium.class_ for target in concerned for node in target.stack if node.medium}
    known = {name: frozenset[MediumClass]({class_}) for name, class_ in media.items() if class_ != "unknown"}
    return [
        (device.device, device.flush_ns, known.get(device.device, frozenset()))
        for device in whole.devices
        if device.flush_ns is not None and (device.flushes or 0) >= FEWEST
    ]


def _longest_ns(row: Waiting) -> int:
    return max(row.latency_ns.max if row.latency_ns else 0, row.in_flight_ns or 0)
