"""Overlays and their upper directories."""

from __future__ import annotations

import pytest

from fstui.layers.sources.claims import Answer, Claims
from tests.factories.box import Box
from tests.factories.looking import edges, look, read


@pytest.mark.parametrize(("option", "sync"), [
    ("volatile", "stops"), ("fsync=volatile", "stops"), ("fsync=auto", "passes"), ("xino=off", "passes"),
])  # fmt: skip
def test_an_overlay_stands_on_the_filesystem_of_its_upper_directory(box: Box, option: str, sync: str) -> None:
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


def test_an_overlay_whose_upper_directory_cannot_be_seen_claims_nothing(box: Box) -> None:
    box.mount("overlay", "/", "overlay", super_options="rw,lowerdir=/l,upperdir=/var/lib/docker/u,workdir=/w")
    asked = "stat --format=%F /var/lib/docker/u"
    nowhere: Claims = {asked: Answer(error="stat: cannot statx '/var/lib/docker/u': No such file or directory")}
    found = look(box, "/", claims=nowhere)
    assert edges(found) == {"mount:/": ()}
    assert found.lowest == ()
    assert found.stack[0].reading("missing") is None  # it is the host's path, and nothing is missing there


def test_what_was_mounted_over_the_upper_directory_later_is_not_what_the_overlay_writes_to(box: Box) -> None:
    """docker run --tmpfs at a path that the upper directory's begins with; a mount that covers it now."""
    box.mount("/dev/vda", "/", "ext4")
    box.mount("overlay", "/srv", "overlay", super_options="rw,lowerdir=/l,upperdir=/var/upper,workdir=/w")
    box.mount("tmpfs", "/var", "tmpfs")
    found = look(box)
    assert edges(found) == {"mount:/srv": ()}
    assert "mounted there later" in read(found.stack[0], "missing")[0]


def test_an_upper_directory_that_its_path_leads_to_no_more_is_not_looked_for_above(box: Box) -> None:
    """What held it was unmounted lazily, or moved: a live system's, after its first root was left."""
    box.mount("tmpfs", "/run", "tmpfs")
    box.mount("overlay", "/srv", "overlay", super_options="rw,lowerdir=/l,upperdir=/run/live/rw,workdir=/w")
    nowhere = Answer(error="stat: cannot statx '/run/live/rw': No such file or directory")
    gone: Claims = {"stat --format=%F /run/live/rw": nowhere}
    found = look(box, claims=gone)
    assert edges(found) == {"mount:/srv": ()}
    assert read(found.stack[0], "missing") == ("/run/live/rw: nothing is there", "stat --format=%F /run/live/rw")
    forbidden = Answer(error="stat: cannot statx '/run/live/rw': Permission denied")
    assert edges(look(box, claims={"stat --format=%F /run/live/rw": forbidden}))["mount:/srv"] == ("mount:/run",)
