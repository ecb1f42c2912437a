"""Simulated disks, and the laboratory of real storage with known faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from fstui.report.documents import DiskDocument, DiskRow, DisksDocument, EnvelopeDocument, LabDocument, LabStorage
from fstui.report.sections import Report, Section
from fstui.simulate.parameters import (
    DiskParameters,
    NandParameters,
    NetworkParameters,
    ParameterTable,
    PersistentParameters,
    PlatterParameters,
    SimulationParameters,
)

if TYPE_CHECKING:
    from fstui.simulate.lab.laboratory import Lab, LabVolume

_REVEALING_SUFFIXES = (".cache.flush", ".cache.fua", ".syncs_stubbed")
"""The ends of the names of parameters that reveal whether a disk is durable."""
_EXAMPLES = {"disk.platter.rpm": "10000", "disk.command_us": "500"}
"""Values of parameters that visibly change a run. The example for a disk is the first parameter that it has."""


def disks_report(disks: Sequence[SimulationParameters]) -> Report:
    rows = tuple((disk.name, disk.title) for disk in disks)
    document = DisksDocument(disks=tuple(DiskRow(name=disk.name, title=disk.title) for disk in disks))
    hint = Section(lines=("fstui --simulate DISK starts the app on one of them.",))
    return Report("", (Section("", ("DISK", "WHAT IT IS"), rows), hint), document)


def disk_report(disk: SimulationParameters, *, truth: bool) -> Report:
    """Return the disk's parameters. Only with ``truth`` do they show whether it is durable."""
    parameters = {key: value for key, value in _parameters(disk, "") if truth or not key.endswith(_REVEALING_SUFFIXES)}
    text = disk.truth if truth else "Whether it is durable: --truth"
    start_hint = f"fstui --simulate {disk.name} starts the app on it."
    key, value = next(item for item in _EXAMPLES.items() if item[0] in parameters)
    change_hint = f"KEY=VALUE after a comma changes a parameter: {disk.name},{key}={value}"
    document = DiskDocument(name=disk.name, title=disk.title, parameters=parameters, truth=text if truth else None)
    table = Section("", ("PARAMETER", "VALUE"), tuple(parameters.items()))
    return Report(f"{disk.name}: {disk.title}", (table, Section(lines=(text, start_hint, change_hint))), document)


def lab_report(lab: Lab) -> Report:
    """Return the filesystems of the laboratory, with the truth about those whose envelope is open."""
    storages = tuple(
        LabStorage(name=entry.name, directory=lab.mount_point(entry), truth=entry.truth.title if entry.opened else None)
        for entry in lab.volumes
    )
    rows = tuple((storage.name, storage.directory, storage.truth or "sealed") for storage in storages)
    return Report("", (Section("", ("NAME", "DIRECTORY", "ENVELOPE"), rows),), LabDocument(storages=storages))


def envelope_report(storage: LabVolume) -> Report:
    kind = storage.truth
    rows = (("truth", kind.truth), ("fstui reports", f"{kind.verdict}, by {kind.rule}"), ("visible in", kind.seen))
    document = EnvelopeDocument(name=storage.name, **kind._asdict())
    return Report(f"{storage.name}: {kind.title}", (Section("", ("ABOUT", "ANSWER"), rows),), document)


def durations_ns(disk: DiskParameters) -> dict[str, float]:
    """Return how long the actions of a simulated disk take."""
    durations = {"command": disk.command_us * 1e3}
    match disk.medium_parameters:
        case PlatterParameters() as platter:
            durations |= {"average seek": platter.seek_ms * 1e6, "revolution": 60e9 / platter.rpm}
        case NandParameters() as nand:
            durations["flash page"] = nand.program_us * 1e3
        case PersistentParameters() as memory:
            durations["write"] = memory.write_us * 1e3
        case NetworkParameters() as network:
            durations["round trip"] = network.round_trip_us * 1e3
    return durations | ({"more per flush": disk.flush_us * 1e3} if disk.flush_us else {})


def _parameters(part: ParameterTable, prefix: str) -> Iterator[tuple[str, str]]:
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, ParameterTable):
            yield from _parameters(value, f"{prefix}{field.encode_name}.")
        elif prefix and value not in (None, ""):
            yield f"{prefix}{field.encode_name}", str(value).lower() if isinstance(value, bool) else str(value)
