"""The power-cut test on a machine: its plan, its writer and verification, and earlier power cuts.

Every plan screen imports this module. Functions therefore import what only an actual power cut needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fstui.model.storage import Target
from fstui.powercut import power_cuts
from fstui.powercut.plan import PowerCutPlan, make_plan
from fstui.powercut.power_cuts import CutHistory
from fstui.powercut.records import Stream
from fstui.runs import caution
from fstui.runs.machine.base import SaveResult
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.state.paths import call_in_state_dir

if TYPE_CHECKING:
    from fstui.powercut.verification import CutDeclaration, Verification
    from fstui.powercut.writing import PreparedCut

HISTORY_TIMEOUT_S = 60.0
"""Time limit for reading the history, which the verdict needs. A busy host may take this long."""


def plan(site: Site, settings: Mapping[str, str]) -> PowerCutPlan:
    """Return what the writer would do in a directory. Raises Refused."""
    cut = make_plan(settings)
    site.check(cut.peak_bytes)
    return cut


async def prepare_cut(session: Session, directory: str, settings: Mapping[str, str]) -> PreparedCut:
    """Return what the writer needs to begin, without writing anything. Raises Refused."""
    from fstui.powercut import writing  # noqa: PLC0415

    cut_plan = make_plan(settings)  # first, to report a mistake in the settings before accessing the directory
    site = await session.look_up(directory)
    site.check(cut_plan.peak_bytes)
    servers = await _servers(cut_plan.streams)
    return writing.prepare_cut(cut_plan, site.raw_target, site.directory.fsid, session.machine.survey(), servers)


async def _servers(streams: Sequence[Stream]) -> dict[str, Any]:
    """Return the settings of the database servers of these streams. Raises Refused if a program is missing."""
    from fstui.databases.record_server import server_settings  # noqa: PLC0415

    return {stream.write_method: await server_settings(stream.write_method) for stream in streams if stream.uses_server}


async def concerns(session: Session, cut: PreparedCut) -> tuple[str, ...]:
    """Return the reasons not to write there, as before a run. Raises Refused."""
    site = await session.look_up(cut.header.target.path)
    return (await caution.check(session, site, cut.plan.peak_bytes))[1]


async def earlier_cuts(target: Target) -> CutHistory:
    """Return the results of earlier power cuts of this storage, and unverified cuts. Raises Refused, OSError."""
    return await call_in_state_dir(power_cuts.read_history, target.identity, timeout_s=HISTORY_TIMEOUT_S)


async def verify(session: Session, directory: str, log: bytes, declaration: CutDeclaration) -> Verification:
    """Compare the storage with the witness's log. Return the run, judged and not yet saved. Raises Refused."""
    from fstui.powercut import verification  # noqa: PLC0415

    witness_log = verification.read_log(log)
    header = witness_log.header
    earlier = await call_in_state_dir(
        power_cuts.read_earlier_cuts, header.run, header.target.identity, timeout_s=HISTORY_TIMEOUT_S
    )
    servers = {} if declaration.unmountable else await _servers(header.streams)
    return await verification.verify(directory, witness_log, earlier, session.machine, declaration, servers=servers)


async def save(session: Session, verified: Verification) -> SaveResult:
    if verified.saved_to is not None:
        return SaveResult(verified.saved_to)
    return await session.machine.save(verified.run)
