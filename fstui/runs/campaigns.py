"""Power-cut campaigns for interfaces."""

from __future__ import annotations

from fstui.powercut.campaign import CampaignCut, CampaignSettings, CutKind, Store
from fstui.powercut.cutting import CutCampaign, Stopped

__all__ = ["CampaignCut", "CampaignSettings", "CutCampaign", "CutKind", "Stopped", "Store"]
