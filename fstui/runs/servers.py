"""Database servers that are there already."""

from msgspec.structs import replace

from fstui.databases import existing, programs
from fstui.databases.existing import PASSWORD
from fstui.databases.families import DatabaseError
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.plan import Plan
from fstui.runs.site import Site

__all__ = ["PASSWORD", "introduced"]


async def introduced(plan: Plan, site: Site) -> Plan:
    """The plan with what an existing server says of itself, or why it does not; nothing is made there."""
    steps = (step.settings for step in plan.steps if not step.skip and isinstance(step.settings, Sysbench))
    settings = next(filter(existing.is_meant, steps), None)
    if settings is None:
        return plan
    try:
        server = await existing.seen(await programs.find_sysbench(), settings, workspace=site.place.path)
    except (DatabaseError, Refused) as trouble:
        return replace(plan, server_says=(f"it does not answer now: {trouble}",))
    return replace(plan, server_says=server.introduction)
