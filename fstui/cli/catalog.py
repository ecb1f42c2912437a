"""``fstui scenarios``, ``references`` and ``schema``: what can be run, known rates, and the kinds of JSON output."""

import asyncio
import textwrap

import click

from fstui.cli import completion
from fstui.cli.delivery import print_last_report, report_command
from fstui.cli.output import say, write_stdout
from fstui.fleet.report import DOCUMENTS as FLEET_DOCUMENTS
from fstui.model.plan import Plan
from fstui.model.storage import MEDIA, MediumClass
from fstui.powercut import plan as power_cut
from fstui.report import documents, formats, plans
from fstui.report import references as tables
from fstui.report.formats import json
from fstui.report.sections import Report
from fstui.runs import references as rates
from fstui.runs import scenarios as scenario_files
from fstui.runs.scenarios import Scenario
from fstui.runs.session import Session


@click.command("scenarios")
@click.argument("name", required=False, shell_complete=completion.scenarios)
@report_command
def scenarios(name: str | None) -> Report:
    """List the scenarios: the question each answers, how long it takes, and how much it writes.

    With the NAME of a scenario, or the path of a scenario file, print its steps and the settings that --set can change.

    Example: fstui scenarios fsync-rate
    """
    if name is None:
        return plans.scenarios_report(asyncio.run(_all_with_plans()), power_cut.make_plan({}))
    if name == power_cut.NAME:
        return plans.power_cut_report(power_cut.make_plan({}))
    scenario = asyncio.run(scenario_files.find(name))
    return plans.scenario_report(*asyncio.run(_with_plan(name, scenario)))


async def _all_with_plans() -> list[tuple[Scenario, Plan]]:
    own, broken = await scenario_files.load_own()
    for mistake in broken:  # a broken file of the user does not hide the other scenarios
        say(f"fstui: {mistake}")
    return [await _with_plan(*scenario) for scenario in (*scenario_files.load_shipped(), *own)]


async def _with_plan(name: str, scenario: Scenario) -> tuple[Scenario, Plan]:
    session = Session.without_storage()  # the plan shows the placeholder DIR
    return scenario, await session.plan(scenario, await session.look_up("DIR"), {}, typed_name=name)


@click.group("references", invoke_without_command=True)
@click.option(
    "--medium",
    "media",
    multiple=True,
    type=click.Choice(MEDIA),
    metavar="M",
    help="List only references for this class of medium.",
)
@report_command
@click.pass_context
def references(ctx: click.Context, media: tuple[MediumClass, ...]) -> Report | None:
    """List the rates that fstui compares runs with: published rates, and your own references.

    \b
    Examples:
      fstui references --medium hdd-7200
      fstui references add last --name 'our db hosts'
    """
    if ctx.invoked_subcommand:
        return None
    own = [each for each in asyncio.run(rates.read_own_references()) if not media or set(media) & set(each.media)]
    published = rates.find_published(None, media)
    if not published:
        known = sorted({reference.medium for reference in rates.library()})
        say(f"No rate is published for {', '.join(media)}. There are rates for {', '.join(known)}.")
    return tables.references_report(published, own)


@references.command("add")
@click.argument("runs", nargs=-1, required=True, metavar="RUN|DIR…", shell_complete=completion.runs)
@click.option("--name", required=True, help="Name of the reference. An older reference of this name is replaced.")
def add(runs: tuple[str, ...], name: str) -> None:
    """Save runs as a reference for later runs.

    RUN is a saved run. DIR is a directory of saved runs, such as the result directory of a fleet command. In a
    directory, fstui skips runs on network filesystems, and on storage that is not durable.

    A reference applies to storage of the same class of medium. If the class is unknown, it applies to the same model.

    \b
    Example:
      fstui references add fstui-fleet-20261120-031244 --name 'our db hosts'
    """
    added = asyncio.run(rates.add(name, runs))
    print_last_report(tables.own_references_report(added.references), formats.PLAIN)
    for left_out in added.skipped:
        say(f"left out, {left_out}")


@references.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove one of your own references.

    Example: fstui references remove 'our db hosts'
    """
    asyncio.run(rates.remove(name))


_DOCUMENTS = {**documents.DOCUMENTS, **FLEET_DOCUMENTS}
_SCHEMAS = (*_DOCUMENTS, documents.EVENTS)
_SCHEMA_HELP = f"""Print the JSON Schema of one kind of JSON output.

NAME is the kind of output. Without NAME, fstui prints the schema of a run. The kinds are:

\b
{textwrap.fill(", ".join(_SCHEMAS), 76, break_on_hyphens=False)}

\b
Examples:
  fstui schema > fstui-run.schema.json
  fstui schema check
"""


@click.command("schema", help=_SCHEMA_HELP)
@click.argument("name", metavar="[NAME]", type=click.Choice(_SCHEMAS), default="run")
def schema(name: str) -> None:
    is_event = name == documents.EVENTS
    write_stdout(json.indented(documents.schema_of_events() if is_event else documents.schema(*_DOCUMENTS[name])))
