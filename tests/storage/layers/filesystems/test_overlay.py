import pytest

from fstui.storage.layers.filesystems.overlay import real_path_command
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
    asked = command_line(real_path_command("/var/lib/docker/u"))
    nowhere: ToolOutputs = {asked: ToolOutput(error="realpath: /var/lib/docker/u: No such file or directory")}
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
    nowhere = ToolOutput(error="realpath: /run/live/rw: No such file or directory")
    asked = command_line(real_path_command("/run/live/rw"))
    gone: ToolOutputs = {asked: nowhere}
    found = look(box, tool_outputs=gone)
    assert edges(found) == {"mount:/srv": ()}
    assert read(found.stack[0], "missing") == ("/run/live/rw: nothing is there", asked)
    forbidden = ToolOutput(error="realpath: /run/live/rw: Permission denied")
    assert edges(look(box, tool_outputs={asked: forbidden}))["mount:/srv"] == ("mount:/run",)


def test_links_in_the_path_of_upperdir_are_followed(box: Box) -> None:
    """For example, /srv is a link to /mnt/data, and mountinfo shows the path as it was typed."""
    box.disk("sda")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("tmpfs", "/run", "tmpfs")
    box.mount("overlay", "/merged", "overlay", super_options="rw,lowerdir=/l,upperdir=/srv/upper,workdir=/srv/work")
    asked = command_line(real_path_command("/srv/upper"))
    found = look(box, "/merged", tool_outputs={asked: ToolOutput(output="/run/store/upper\n")})
    assert edges(found)["mount:/merged"] == ("mount:/run",)
    assert read(found.stack[0], "upperdir_at") == ("/run/store/upper", asked)


@pytest.mark.parametrize(("seen", "below"), [
    (["/srv/store/ab/ab/diff"], ("mount:/srv",)), (["/srv/store/ab/diff", "/srv/ab/diff"], ("mount:/srv",)), ([], ()),
], ids=["next to it", "further up", "nowhere"])  # fmt: skip
def test_relative_upperdir_is_the_nearest_that_exists(box: Box, seen: list[str], below: tuple[str, ...]) -> None:
    """Images of many layers are mounted with relative paths."""
    box.disk("sda")
    box.disk("sdb")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("/dev/sdb", "/srv", "ext4")
    merged = "/srv/store/ab/merged"
    box.mount("overlay", merged, "overlay", super_options="rw,lowerdir=l/A:l/B,upperdir=ab/diff,workdir=ab/work")
    found = look(
        box,
        merged,
        tool_outputs={command_line(real_path_command(path)): ToolOutput(output=f"{path}\n") for path in seen},
    )
    assert edges(found)[f"mount:{merged}"] == below
    if seen:
        assert read(found.stack[0], "upperdir_at") == (seen[0], command_line(real_path_command(seen[0])))


@pytest.mark.parametrize(("upperdir", "places"), [
    ("/up", ("/up",)), ("ab/diff", ("/srv/ab/diff", "/ab/diff")),
])  # fmt: skip
def test_commands_for_an_upperdir(box: Box, upperdir: str, places: tuple[str, ...]) -> None:
    box.mount("/dev/sda", "/", "ext4")
    box.mount("overlay", "/srv/m", "overlay", super_options=f"rw,lowerdir=l,upperdir={upperdir},workdir=w")
    assert {*map(real_path_command, places)} == {*commands(survey(box.root), as_root=False)}
