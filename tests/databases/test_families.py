"""Every kind of server has its module, and the settings offer every kind."""

from __future__ import annotations

from typing import get_args

from fstui.databases.families import FAMILIES
from fstui.measure.kinds.server_kinds import KINDS, ServerName


def test_every_kind_has_its_module() -> None:
    assert set(get_args(ServerName)) == KINDS.keys() == FAMILIES.keys()
    for name, family in FAMILIES.items():
        assert family.connection("/run/socket").driver == KINDS[name].driver
        assert set(KINDS[name].durable) <= set(family.VARIABLES)
