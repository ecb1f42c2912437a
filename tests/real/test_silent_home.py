from pathlib import Path

from tests.real import headless
from tests.real.silent import silent_mount

SAID = "did not answer within 2"


def test_every_command_reports_a_silent_home_and_ends(workshop: Path) -> None:
    home, target = workshop / "home", workshop / "target"
    target.mkdir()
    with silent_mount(home) as within:
        words = (*within, "env", "-u", "XDG_STATE_HOME", "-u", "XDG_CONFIG_HOME", f"HOME={home}")
        for command in (["history"], ["show", "last"], ["clean"], ["run", "fsync-rate", str(target)]):
            done = headless.call(*command, within=words)
            assert (done.returncode, done.stdout) == (2, b""), command
            assert SAID in done.stderr.decode(), command
        listed = headless.call("scenarios", within=words)
        assert listed.returncode == 0 and b"fsync-rate" in listed.stdout and SAID in listed.stderr.decode()
    assert list(target.iterdir()) == []
