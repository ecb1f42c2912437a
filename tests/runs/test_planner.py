import shlex
from pathlib import Path

import msgspec
import pytest

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.plan import Plan
from fstui.model.rate_limit import RateLimit
from fstui.model.storage import Medium, Target
from fstui.report.formats import plain
from fstui.report.plans import plan_head
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.session import Session
from fstui.runs.site import check_alignment
from tests.factories.runs import GIB, saved, target
from tests.factories.storage import filesystem

HEAD = 'name = "mine"\ntitle = "Mine"\nquestion = "How long?"\n[settings.seconds]\nvalue = 2\nmin = 0\nmax = 100\n'
STEP = '[[steps]]\nprobe = "sync_writes"\nblock_bytes = 16384\nfile_bytes = 1048576\nmax_bytes_per_s = 10485760\n'


def machine_with(where: Target | None = None) -> ReplayMachine:
    return ReplayMachine(msgspec.structs.replace(saved(), target=where or target()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


async def plan_of(file: Path, steps: str, machine: ReplayMachine | None = None, **settings: str) -> Plan:
    file.write_text(HEAD + steps)
    _, plan = await Session(machine or machine_with()).plan_by_name(str(file), "/srv/data", settings)
    return plan


async def refusal(file: Path, steps: str, machine: ReplayMachine) -> str:
    with pytest.raises(Refused) as refused:
        await plan_of(file, steps, machine)
    return str(refused.value)


async def test_the_plan_states_amounts_and_duration(file: Path) -> None:
    plan = await plan_of(file, STEP + 'name = "a"\n' + STEP + 'name = "b"\nops_per_s = 10.0\n')
    assert plan.max_bytes == (2 * 10485760 + 1048576) + (2 * 10 * 16384 + 1048576)
    assert plan.peak_bytes == 1048576
    assert plan.seconds == pytest.approx(1.0 + 4.0 + 2 * 0.75)


async def test_an_existing_server_needs_no_space_here() -> None:
    settings = {"server": "mysql", "host": "db7", "port": "3307", "user": "app", "rows": "60000000", "seconds": "600"}
    site, plan = await Session(machine_with()).plan_by_name("sysbench-oltp", "/srv/data", settings)
    assert plan.server_peak_bytes > 12 * GIB > plan.max_bytes
    lines = list(plain.lines(plan_head(plan, site.target), 80))
    assert lines[2] == "  server   mysql at db7:3307, as app"
    assert lines[3].startswith("           a new database there: writes ≤ ")
    assert lines[4] == "           1 table of 60\xa0000\xa0000 rows; dropped at the end"
    assert "replicas" in lines[5]
    assert not any("into" in line for line in lines)


async def test_the_head_of_a_plan_fits_80_columns() -> None:
    site, plan = await Session(machine_with()).plan_by_name("fsync-rate", "/srv/data", {})
    lines = list(plain.lines(plan_head(plan, site.target), 80))
    assert max(map(len, lines)) <= 80 and lines[1] == f"  {plan.command}"


async def test_an_append_needs_space_for_all_that_it_may_write(file: Path) -> None:
    plan = await plan_of(file, STEP + 'name = "a"\noffsets = "append"\nprefill = "none"\n')
    assert plan.peak_bytes == plan.max_bytes == 2 * 10485760


async def test_an_endless_run_has_no_duration(file: Path) -> None:
    plan = await plan_of(file, STEP + 'name = "a"\nops_per_s = 5.0\n', seconds="0")
    assert plan.seconds is None
    assert plan.bytes_per_s == 5 * 16384


async def test_a_run_needs_twice_its_space_and_a_twentieth_left_over(file: Path) -> None:
    step = STEP.replace("1048576", str(GIB)) + 'name = "a"\n'
    enough = 2 * GIB + 5 * GIB
    assert (await plan_of(file, step, machine_with(target(free_bytes=enough)))).peak_bytes == GIB
    lines = await refusal(file, step, machine_with(target(free_bytes=enough - 1)))
    assert lines.startswith("/srv/data is too full: 7.0 GiB is free, but 7.0 GiB is needed")
    assert "twice the 1.0 GiB that the run uses" in lines


async def test_a_pseudo_filesystem_holds_no_files(file: Path) -> None:
    proc = msgspec.structs.replace(target(), fstype="proc", pseudo=True)
    assert "is on proc, which stores no data" in await refusal(file, STEP + 'name = "a"\n', machine_with(proc))


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (("floppy", None), "unknown medium 'floppy'. Choose one of: hdd-5400, hdd-7200"),
        ((None, "big"), "unknown write cache 'big'. Choose one of: none, volatile"),
    ],
)
def test_an_unknown_declaration_is_refused_with_the_known_ones(
    declared: tuple[str | None, str | None], sentence: str
) -> None:
    with pytest.raises(Refused, match=f"^{sentence}"):
        Declaration.parse(*declared)


async def test_a_declaration_sets_medium_and_limit() -> None:
    declared = Declaration(medium="hdd-7200", write_cache="none")
    site, plan = await Session(machine_with()).plan_by_name("odirect-truth", "/srv/data", {}, declared)
    (disk,) = site.target.lowest
    evidence = "declared by you: medium hdd-7200, write cache none"
    assert disk.medium == Medium(class_="hdd-7200", rpm=7200, write_cache="none", declared=True, reason=evidence)
    limits = {step.name: step.limit_ns for step in plan.steps}
    assert limits["same block, fdatasync"] == pytest.approx(60e9 / 7200, rel=0.001)
    assert limits["fdatasync"] is None


async def test_without_a_declaration_the_readings_stay() -> None:
    site, plan = await Session(machine_with()).plan_by_name("odirect-truth", "/srv/data")
    assert site.target.lowest[0].medium == Medium()
    assert all(step.limit_ns is None for step in plan.steps)


async def test_declaring_a_write_cache_keeps_the_medium() -> None:
    read = Medium(class_="hdd-7200", rpm=7200, ephemeral=True)
    declared = Declaration(write_cache="none")
    site, _ = await Session(machine_with(target(read))).plan_by_name("fsync-rate", "/srv/data", {}, declared)
    medium = site.target.lowest[0].medium
    assert medium
    assert (medium.class_, medium.rpm, medium.write_cache, medium.ephemeral) == ("hdd-7200", 7200, "none", True)


async def test_the_command_repeats_the_run_exactly() -> None:
    settings, declared = {"seconds": "2", "block": "4096"}, Declaration(medium="ssd", write_cache="plp")
    _, plan = await Session(machine_with()).plan_by_name("odirect-truth", "/srv/my data", settings, declared)
    assert shlex.split(plan.command) == [
        *("fstui", "run", "odirect-truth", "/srv/my data", "--set", "seconds=2", "--set", "block=4096"),
        *("--medium", "ssd", "--write-cache", "plp"),
    ]


async def test_a_rate_limit_changes_duration_and_steps(file: Path) -> None:
    file.write_text(HEAD + STEP + 'name = "a"\nwriters = 4\n[[steps]]\nname = "b"\nprobe = "dirty_flush"\n')
    _, plan = await Session(machine_with(), RateLimit(bytes_per_s=65536, idle=True)).plan_by_name(
        str(file), "/srv/data"
    )
    held, left_out = plan.steps
    assert held.settings.as_dict()["ops_per_s"] == 4.0
    assert plan.max_bytes == 2 * 65536 + 1048576
    assert plan.seconds == pytest.approx(1.0 + 2.0 + 16.0 + 2 * 0.75)
    assert left_out.skip == "dirty_flush cannot be limited by --max-rate"
    assert plan.command.endswith("--max-rate 64K --idle")


async def test_a_scenario_without_limitable_steps_is_refused(file: Path) -> None:
    file.write_text(HEAD + '[[steps]]\nname = "b"\nprobe = "dirty_flush"\n')
    with pytest.raises(Refused, match="--max-rate leaves nothing to run"):
        await Session(machine_with(), RateLimit(bytes_per_s=65536)).plan_by_name(str(file), "/srv/data")


async def test_unaligned_o_direct_is_refused_except_through_a_cache(file: Path) -> None:
    """OpenZFS reports its record size, but accepts writes of a page."""
    plan = await plan_of(file, STEP + 'name = "a"\nopen_flags = ["direct"]\n')
    with pytest.raises(Refused, match="a multiple of 131072 bytes"):
        check_alignment(plan.steps, 131072, target())
    zfs = msgspec.structs.replace(target(), stack=(filesystem("zfs"), *target().stack[1:]))
    check_alignment(plan.steps, 131072, zfs)
