"""Power-cut campaigns for interfaces."""

from __future__ import annotations

from fstui.model.errors import Refused
from fstui.model.host import Host
from fstui.model.storage import Target
from fstui.powercut.campaign import CampaignCut, CampaignSettings, CutKind, Store
from fstui.powercut.cutting import CutCampaign, Stopped
from fstui.powercut.header import decode_header
from fstui.powercut.log import BadLog, parse_header

__all__ = ["CampaignCut", "CampaignSettings", "CutCampaign", "CutKind", "Stopped", "Store", "tested"]


def tested(store: Store) -> tuple[Host, Target | None]:
    """Return the host and the stack that the first log describes."""
    for cut in store.cuts:
        try:
            with store.log(cut).open("rb") as log:
                header = decode_header(parse_header(log.readline()))
            return header.host, header.target
        except (OSError, BadLog, Refused):
            continue
    return Host(), None
