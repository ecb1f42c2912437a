"""Where a run may write."""

import os
from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.model.storage import Space, Target
from fstui.runs.site import Site
from fstui.state.workspace import TargetDirectory, inspect


def site(space: Space | None) -> Site:
    target = Target(path="/srv", mount_point="/srv", fstype="ext4", source="/dev/sda1")
    return Site(directory=TargetDirectory("/srv", space), raw_target=target)


@pytest.mark.root
async def test_root_refuses_the_directory_of_another_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    target = Target(path=str(tmp_path), mount_point="/", fstype="ext4", source="")
    with pytest.raises(Refused, match=f"user nobody, who owns {tmp_path}, could replace .* --trust-dir"):
        Site(directory=await inspect(str(tmp_path)), raw_target=target).check_writable()
    Site(directory=await inspect(str(tmp_path), trust_directory=True), raw_target=target).check_writable()


def test_a_filesystem_without_a_size_is_not_too_full() -> None:
    site(None).check(1 << 40)
    with pytest.raises(Refused, match=r"/srv is too full.*Free some space\.$"):
        site(Space(total_bytes=1 << 30, free_bytes=1 << 20)).check(1 << 20)


@pytest.mark.parametrize(("room", "fits"), [(1 << 20, True), (32 << 20, False)])
def test_a_nearly_full_filesystem_has_space_for_a_check(room: int, fits: bool) -> None:
    place = site(Space(total_bytes=100 << 30, free_bytes=1 << 30))
    if fits:
        place.check(room)
    else:
        with pytest.raises(Refused, match="fstui check"):
            place.check(room)
