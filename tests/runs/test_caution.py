import pytest

from fstui.model.counters import DeviceCounters, Idle
from fstui.model.storage import Space
from fstui.runs import caution
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.state.workspace import TargetDirectory
from tests.factories.runs import GIB, saved, target

MIB = 1 << 20


@pytest.fixture(autouse=True)
def nobody_said_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(caution.YES_VARIABLE)
    monkeypatch.setattr("fstui.proc.meminfo", lambda: {"MemAvailable": GIB})


def reasons(
    free_bytes: int = 50 * GIB, total_bytes: int = 100 * GIB, busy: float = 0.5, writes: int = 0
) -> tuple[str, ...]:
    site = Site(
        directory=TargetDirectory("/srv/data", Space(total_bytes=total_bytes, free_bytes=free_bytes)),
        raw_target=target(),
    )
    return caution.concerns(Session.local(), site, {"sda": busy}, 64 * MIB, writes)


def test_an_idle_host_with_space_raises_no_concern() -> None:
    assert reasons() == ()


def test_a_busy_device_is_named_with_its_share() -> None:
    (reason,) = reasons(busy=0.97)
    assert reason.startswith("its device sda was 97\xa0% busy in the last second, so this run and other programs ")


def test_a_check_may_run_on_busy_or_nearly_full_storage() -> None:
    assert reasons(writes=6_200_000, busy=0.97, free_bytes=GIB // 2, total_bytes=8 * GIB) == ()
    assert len(reasons(writes=9_000_000, busy=0.97, free_bytes=GIB // 2, total_bytes=8 * GIB)) == 2


def test_gigabytes_on_a_half_busy_device_raise_a_concern() -> None:
    (reason,) = reasons(writes=3 * GIB)
    assert reason.startswith("its device sda was 50\xa0% busy in the last second")
    assert reasons(writes=3 * GIB, busy=0.4) == ()


@pytest.mark.parametrize(
    ("free_mib", "total_mib", "expected"), [(140, 1024, True), (10_000, 102_400, False), (400, 1024, False)]
)
def test_little_space_is_less_than_a_tenth_and_a_gibibyte(free_mib: int, total_mib: int, expected: bool) -> None:
    found = reasons(free_mib * MIB, total_mib * MIB)
    words = "only 76.0 MiB of the filesystem's 1.0 GiB will remain free during the run, so other programs may run out"
    assert [reason.startswith(words) for reason in found] == ([True] if expected else [])


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fstui.proc.meminfo", lambda: {"MemAvailable": 100 * MIB})
    assert reasons() == ("only 100.0 MiB of memory is available, so the kernel may kill a process",)


def test_yes_in_the_environment_avoids_concerns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(caution.YES_VARIABLE, "1")
    assert reasons(busy=0.97) == ()


async def test_a_replay_raises_no_concern() -> None:
    run = saved()
    assert run.target
    site = Site(
        directory=TargetDirectory("/srv/data", Space(total_bytes=GIB, free_bytes=100 * MIB)), raw_target=run.target
    )
    assert await caution.check(Session(ReplayMachine(run)), site, 64 * MIB) == (None, ())


def test_the_busy_share_is_of_the_watched_time() -> None:
    counters = (DeviceCounters(device="sda", busy_ms=950), DeviceCounters(device="md0"))
    assert Idle(elapsed_s=1.0, counters=counters).busy_shares == {"sda": 0.95}
    assert Idle().busy_shares == {}
