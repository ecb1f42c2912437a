"""Power-cut campaigns for interfaces."""

from __future__ import annotations

from fstui.measure.kinds.powercut import CutKind
from fstui.powercut.campaign import CampaignCut, CampaignSettings, Store
from fstui.powercut.cutting import CutCampaign, Stopped

__all__ = ["CampaignCut", "CampaignSettings", "CutCampaign", "CutKind", "Stopped", "Store"]
