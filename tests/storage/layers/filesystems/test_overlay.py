import pytest

from fstui.storage.layers.filesystems.overlay import stat_command
from fstui.storage.survey import commands, survey
from fstui.storage.tool_output import ToolOutput, ToolOutputs, command_line
from tests.factories.box import Box
from tests.factories.looking import edges, look, read


@pytest.mark.parametrize(("option", "sync"), [
    ("volatile", "stops"), ("fsync=volatile", "stops"), ("fsync=auto", "passes"), ("xino=off", "passes"),
])  # fmt: skip
def test_overlay_is_on_the_filesystem_of_upperdir(box: Box, option: str, sync: str) -> None:
    box.disk("sda")
    box.disk("sdb")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sdb", "/fast", "xfs")
    options = rf"rw,lowerdir=/usr,upperdir=/fast/up\134,\054per,workdir=/fast/work,{option}"
    box.mount("overlay", "/srv", "overlay", super_options=options)
    found = look(box)
    top = found.stack[0]
    assert edges(found) == {"mount:/srv": ("mount:/fast",), "mount:/fast": ("sdb",), "sdb": ()}
    assert read(top, "upperdir")[0] == "/fast/up\\"
    assert top.sync == sync
    assert (top.reading("volatile") is not None) is (sync == "stops")


def test_unseen_upper_directory_gives_no_layers(box: Box) -> None:
    box.mount("overlay", "/", "overlay", super_options="rw,lowerdir=/l,upperdir=/var/lib/docker/u,workdir=/w")
    asked = command_line(stat_command("/var/lib/docker/u"))
    nowhere: ToolOutputs = {
        asked: ToolOutput(error="stat: cannot statx '/var/lib/docker/u': No such file or directory")
    }
    found = look(box, "/", tool_outputs=nowhere)
    assert edges(found) == {"mount:/": ()}
    assert found.lowest == ()
    assert found.stack[0].reading("missing") is None  # the path is one of the host, so nothing is missing here


def test_later_mount_over_upperdir_is_not_followed(box: Box) -> None:
    """For example docker run --tmpfs at a directory above the upper directory."""
    box.mount("/dev/vda", "/", "ext4")
    box.mount("overlay", "/srv", "overlay", super_options="rw,lowerdir=/l,upperdir=/var/upper,workdir=/w")
    box.mount("tmpfs", "/var", "tmpfs")
    found = look(box)
    assert edges(found) == {"mount:/srv": ()}
    assert "was mounted over it" in read(found.stack[0], "missing")[0]


def test_missing_upperdir_is_not_followed(box: Box) -> None:
    """Its filesystem was unmounted lazily or moved, as in a live system after it left its first root."""
    box.mount("tmpfs", "/run", "tmpfs")
    box.mount("overlay", "/srv", "overlay", super_options="rw,lowerdir=/l,upperdir=/run/live/rw,workdir=/w")
    nowhere = ToolOutput(error="stat: cannot statx '/run/live/rw': No such file or directory")
    asked = command_line(stat_command("/run/live/rw"))
    gone: ToolOutputs = {asked: nowhere}
    found = look(box, tool_outputs=gone)
    assert edges(found) == {"mount:/srv": ()}
    assert read(found.stack[0], "missing") == ("/run/live/rw: nothing is there", asked)
    forbidden = ToolOutput(error="stat: cannot statx '/run/live/rw': Permission denied")
    assert edges(look(box, tool_outputs={asked: forbidden}))["mount:/srv"] == ("mount:/run",)


TIMES = "1784538000.813516102 1784538001.250000000"


@pytest.mark.parametrize(("seen", "below"), [
    ({"/srv/store/ab/diff": f"14 {TIMES}"}, ("mount:/srv",)),
    ({"/srv/store/ab/diff": f"22 {TIMES}"}, ("mount:/srv",)),
    ({"/srv/store/ab/merged/ab/diff": f"14 {TIMES[:-9]}999999999", "/srv/ab/diff": f"14 {TIMES}"}, ("mount:/srv",)),
    ({"/srv/store/ab/diff": f"14 {TIMES[:-9]}250000100"}, ()),
    ({}, ()),
], ids=["there", "on another filesystem", "further up", "another directory", "nowhere"])  # fmt: skip
def test_relative_upperdir_is_found_by_its_times(box: Box, seen: dict[str, str], below: tuple[str, ...]) -> None:
    """Images of many layers are mounted with relative paths."""
    box.disk("sda")
    box.disk("sdb")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sdb", "/srv", "ext4")
    merged = "/srv/store/ab/merged"
    box.mount("overlay", merged, "overlay", super_options="rw,lowerdir=l/A:l/B,upperdir=ab/diff,workdir=ab/work")
    looked = {
        command_line(stat_command(path)): ToolOutput(output=f"{text}\n")
        for path, text in {merged: f"14 {TIMES}", **seen}.items()
    }
    found = look(box, merged, tool_outputs=looked)
    assert edges(found)[f"mount:{merged}"] == below
    if below:
        at = next(path for path, text in seen.items() if text.endswith(TIMES))
        assert read(found.stack[0], "upperdir_at") == (at, command_line(stat_command(at)))


@pytest.mark.parametrize(("there", "shown", "root", "followed"), [
    (f"14 {TIMES} 17.000000100", f"2 {TIMES} 17.000000100", "/", True),
    ("14 9.000000000 9.000000000 17.000000100", f"2 {TIMES} 17.000000100", "/", True),
    (f"14 {TIMES} 17.000000200", f"14 {TIMES} 17.000000100", "/", False),
    (f"14 {TIMES} 17.000000200", f"14 {TIMES} 17.000000100", "/sub", True),
    (f"14 {TIMES} 0.000000000", f"2 {TIMES} 17.000000100", "/", True),
    ("14 9.000000000 9.000000000", f"14 {TIMES}", "/", True),
    ("15 9.000000000 9.000000000", f"14 {TIMES}", "/", False),
], ids=[
    "the same", "just written to", "another", "a directory of the overlay is mounted", "no time of creation",
    "same inode, just written to", "nothing in common",
])  # fmt: skip
def test_other_directory_at_the_path_is_not_followed(
    box: Box, there: str, shown: str, root: str, followed: bool
) -> None:
    """The overlay may use a filesystem that is mounted nowhere, or in another mount namespace."""
    box.mount("tmpfs", "/decoy", "tmpfs")
    options = "rw,lowerdir=/l,upperdir=/decoy/upper,workdir=/w"
    box.mount("overlay", "/srv", "overlay", root=root, super_options=options)
    printed = {"/decoy/upper": f"{there}\n", "/srv": f"{shown}\n"}
    tool_outputs = {command_line(stat_command(path)): ToolOutput(output=text) for path, text in printed.items()}
    found = look(box, tool_outputs=tool_outputs)
    assert edges(found)["mount:/srv"] == (("mount:/decoy",) if followed else ())
    missing = found.stack[0].reading("missing")
    gone = "the original /decoy/upper: another directory has taken its place"
    assert (missing and missing.value) == (None if followed else gone)


@pytest.mark.parametrize(("upperdir", "places"), [
    ("/up", ("/srv/m", "/up")), ("ab/diff", ("/srv/m", "/srv/ab/diff", "/ab/diff")),
])  # fmt: skip
def test_commands_for_an_upperdir(box: Box, upperdir: str, places: tuple[str, ...]) -> None:
    box.mount("/dev/sda", "/", "ext4")
    box.mount("overlay", "/srv/m", "overlay", super_options=f"rw,lowerdir=l,upperdir={upperdir},workdir=w")
    assert {*map(stat_command, places)} == {*commands(survey(box.root), as_root=False)}
