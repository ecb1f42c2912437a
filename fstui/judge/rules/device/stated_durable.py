"""*plausible, low confidence*

## What it means
The device, its controller or its provider states that acknowledged data survives a power cut, and nothing contradicts
this claim. Flush counts cannot confirm it: the kernel sends no flush, or a protected cache needs none.

## How it was measured
fstui counted the bytes that reached the devices. For each device that a sync waits for, one of these applies:

- The drive reports that it has no volatile write cache (SCSI mode page 8, `hdparm -W`, NVMe's `vwc`), or its model has
  power-loss protection.
- According to its model or driver, the device belongs to a RAID controller or array.
- The model and the DMI data name the same provider or hypervisor, which documents how it stores writes. Or the device
  is the provider's instance store.
- The device is a Ceph RBD.

## What it proves, and what it does not
The storage is durable if the statement is true, but fstui cannot confirm it. Whoever runs a hypervisor can also choose
the disk's model and the DMI data.

## What to do next
Check what was stated: the battery, the capacitor, the provider's settings. For stronger evidence, run a power-cut test
(`fstui powercut`). A forced stop of a cloud instance is no power cut.

## Details
The rule does not apply if something contradicts the statement:

- Another source reports that the cache is on, or flushes or bytes are missing.
- There are more syncs per second than a platter allows, more than 10 000 (cloud network volume, consumer NAND), or
  more than 100 000 (any device).
"""

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.costs import CACHE_PER_S, NAND_PER_S
from fstui.model.host import Host
from fstui.model.storage import Node
from fstui.storage.layers.devices import media, models, platforms
from fstui.storage.layers.devices.caches import (
    cache_off_reports,
    has_controller_cache,
    is_behind_raid_controller,
    is_cache_on,
    is_optane,
    is_safe_drive,
)
from fstui.storage.layers.devices.disk import is_attached_directly, is_over_own_network, is_passed_through
from fstui.storage.layers.devices.media import DMI
from fstui.storage.layers.devices.nvme import device_file

_CHECK_DRIVES = "Check with the controller's own tool that the write caches of its drives are off, or protected."
_CHECK_STORE = "Only the provider can confirm it, and the data is lost in any case when the instance ends."
_DOCUMENTED, _NO_CACHE = "its documentation is right", "there is no volatile cache"


class Statement(NamedTuple):
    """The reason to expect that acknowledged writes are durable, although no flush could be counted."""

    device_kind: str
    """``a volume of a RAID controller``"""
    condition: str
    """A sentence without its full stop: what was stated, or what durability depends on."""
    condition_in_title: str
    """As in ``durable if the controller's cache is protected``."""
    evidence: tuple[str, ...]
    next: tuple[str, ...]


@rule(order=15)
def stated_durable(case: Case) -> Iterator[Conclusion]:
    devices, accounts = case.stack.commit_devices, _lowest_accounts(case)
    if not devices or not accounts or all(map(_is_judged_by_flushes, devices)) or _is_contradicted(case):
        return
    statements = [statement for node in devices if (statement := _statement(node, case.host))]
    if len(statements) < len(devices):
        return
    nodes_by_description: dict[str, list[Node]] = {}
    for node, statement in zip(devices, statements, strict=True):
        description = f"{statement.device_kind}. {statement.condition}."
        nodes_by_description.setdefault(description, []).append(node)
    described = " ".join(
        f"{'Each of ' if len(nodes) > 1 else ''}{words.devices(nodes)} is {description}"
        for description, nodes in nodes_by_description.items()
    )
    conditions_in_title = words.join_words(dict.fromkeys(statement.condition_in_title for statement in statements))
    yield Conclusion(
        title=f"{words.devices(devices)}: durable if {conditions_in_title}",
        sentence=f"{described} Nothing in {words.time_measured(account.step for account in accounts)} contradicts "
        f"that, and nothing here can confirm it.{case.lowest_devices.doubt(excluded=devices)}",
        verdict="plausible",
        confidence="low",
        steps=(account.step for account in accounts),
        evidence=dict.fromkeys(
            (
                *(line for statement in statements for line in statement.evidence),
                *map(words.write_cache, devices),
                *(account.byte_line for account in accounts),
            )
        ),
        next=dict.fromkeys(line for statement in statements for line in statement.next),
    )


def _is_judged_by_flushes(node: Node) -> bool:
    return bool(is_cache_on(node)) and not has_controller_cache(node)


def _lowest_accounts(case: Case) -> tuple[FlushAccount, ...]:
    """Return what the lowest level received in each synced step; nothing if another rule already reports a fault."""
    if case.flushes.missing_bytes or case.flushes.missing_flushes or case.configuration.has_verdict:
        return ()
    return tuple(levels[-1] for levels in case.flushes.synced_accounts if levels[-1].counted_bytes is not None)


def _is_contradicted(case: Case) -> bool:
    """Return whether the syncs are faster than the stated device can be."""
    fastest = case.costs.fastest_synced
    per_s = fastest.rate_per_s if fastest is not None else 0.0
    is_consumer = any(node.value("grade") == "consumer" and not is_optane(node) for node in case.stack.commit_devices)
    is_network = any(map(media.is_cloud_volume, case.stack.commit_devices))
    too_fast = (is_consumer and per_s > NAND_PER_S) or (is_network and case.costs.is_faster_than_network)
    return per_s > CACHE_PER_S or too_fast or bool(case.rotation.too_fast_paces)


def _statement(node: Node, host: Host) -> Statement | None:
    model, documented = media.cloud_model(node) or models.find(node.model), media.documented_model(node, host)
    service = platforms.service(node.kind, node.name, node.model)
    if documented is not None:
        names = (f"the host: {host.cloud or host.virtualization} ({DMI})", media.identification(node))
        evidence = (*names, f"documented: {documented.source}")
        condition, advice = documented.documented_durability or "", documented.how_to_check or words.FORCE_STOP
        return Statement(documented.description, condition, _DOCUMENTED, evidence, (advice,))
    if service is not None and service.documented_durability:
        condition, source = service.documented_durability, f"documented: {service.source}"
        return Statement(service.title, condition, _DOCUMENTED, (source,), (service.how_to_check,))
    if model is not None and model.cloud and model.cloud != host.cloud:
        return None  # the disk has the name of another cloud
    if is_behind_raid_controller(node) or (model is not None and model.grade == "array"):
        return _statement_of_volume(node, model)
    return _statement_of_drive(node, model)


def _statement_of_volume(node: Node, model: models.Model | None) -> Statement:
    checks, evidence = (words.check_health(node),), (words.medium(node),)
    if model is not None and model.grade == "array":
        condition = "It is durable if that cache is protected as its vendor states"
        return Statement(model.description, condition, "the array's cache is protected", (), checks)
    if model is not None and model.grade == "raid" and not has_controller_cache(node):
        condition = "It is durable if the drives' own caches are off or protected"
        return Statement(model.description, condition, "its drives lose nothing", evidence, (_CHECK_DRIVES,))
    device_kind = model.description if model and model.grade == "raid" else "a volume of a RAID controller"
    condition = "It is durable if the battery or capacitor is healthy and the drives' own caches are off"
    return Statement(device_kind, condition, "the controller's cache is protected", evidence, checks)


def _statement_of_drive(node: Node, model: models.Model | None) -> Statement | None:
    reports = cache_off_reports(node)
    # disks of this model have a cache, so the kernel's setting alone is no evidence
    may_have_cache = model is not None and model.write_cache == "volatile" and not reports
    if model is not None and model.ephemeral and is_cache_on(node) is False and not may_have_cache:
        condition = "According to the kernel, it has no volatile write cache"
        return Statement(model.description, condition, _NO_CACHE, reports, (_CHECK_STORE,))
    if is_safe_drive(node) and not reports:
        optane = is_optane(node)
        device_kind = f"a drive with {'no volatile' if optane else 'a protected'} cache"
        condition = _NO_CACHE if optane else "its cache is protected"
        return Statement(
            device_kind, "It is durable if that is true", condition, (words.medium(node),), (words.check_health(node),)
        )
    is_local = is_attached_directly(node) or is_passed_through(node)
    if reports and is_local and not is_over_own_network(node):
        condition = "By its own report, it has no volatile write cache"
        return Statement("a drive", condition, _NO_CACHE, reports, (_drive_check(node),))
    return None


def _drive_check(node: Node) -> str:
    if node.value("vwc") == "absent":
        return "Look up whether the maker states that the drive keeps acknowledged writes in a power cut."
    command = "nvme get-feature -f 6" if node.link == "nvme" else "smartctl -g wcache"
    return (
        f"Read the setting again after the next power cycle ('{command} {device_file(node)}'): many drives forget it."
    )
