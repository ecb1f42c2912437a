"""Block devices over a network."""

from __future__ import annotations

import pytest

from tests.factories.box import Box
from tests.factories.looking import look


@pytest.mark.parametrize("name", ["nbd0", "rbd3"])
def test_their_medium_is_the_network_and_their_flushes_are_counted(box: Box, name: str) -> None:
    box.device(name, rotational=0, request_based=True)
    box.mount(f"/dev/{name}", "/srv", "ext4")
    (node,) = look(box).lowest
    assert (node.kind, node.counted, node.sync) == (name.rstrip("03"), True, "passes")
    assert node.medium and (node.medium.class_, node.medium.because) == ("network", "reached over a network")
