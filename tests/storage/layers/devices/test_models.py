import re

import pytest

from fstui.storage.layers.devices import models
from tests.factories.box import Box
from tests.factories.looking import only_device, only_medium, read


@pytest.mark.parametrize("row", models.table().model, ids=lambda row: row.pattern)
def test_every_model_has_pattern_and_source(row: models.Model) -> None:
    assert re.compile(row.pattern)
    assert row.source.strip()
    assert row.class_ not in {"unknown", "memory"} or row.grade in {"virtual", "hard disk", "raid", "array"}
    assert row.write_placement == "in place" or row.grade == "hard disk"


KNOWN = {
    ("ssd-plp", "plp", "data centre"): [
        "INTEL SSDSC2BA40", "INTEL SSDSC2KB48", "INTEL SSDPEDMD400G4", "SAMSUNG MZ7KM1T9", "Micron_7450_MTFDKBG960TFR",
        "KINGSTON SEDC500M960G", "KINGSTON SEDC600M1920G", "SAMSUNG MZQL2960HCJR-00A07", "SAMSUNG MZ1L2960HCJR-00A07",
        "SAMSUNG MZ7L3480", "INTEL SSDPF2KX038T1N1", "SOLIDIGM SSDSC2KB48", "Micron_9300_MTFDHAL3T8TDP",
        "Micron_5300_MTFD", "Micron_5300HC_MT", "MTFDDAK480TDS", "Micron_7500_MTFDKCC3T8TGP", "Micron_5100_MTFD",
    ],
    ("ssd", None, "consumer"): [
        "Micron_1100_MTFDDAK256TBN", "Micron_2200_MTFDHBA512TCK", "Samsung SSD 860", "Samsung SSD 970 PRO 512GB",
        "CT1000MX500SSD1", "Crucial_CT525MX3", "WDS100T1X0E-00AFY0", "Sabrent Rocket 4.0 2TB", "ADATA SX8200PNP",
    ],
    ("optane", "none", "data centre"): ["INTEL SSDPED1K375GA", "INTEL SSDPF21Q400GB"],
    ("optane", "none", "consumer"): ["INTEL SSDPED1D280GA"],
    ("hdd-7200", "plp", "data centre"): [
        "WDC  WUH722222AL", "WDC WD221KRYZ-01", "TOSHIBA MG06ACA8", "TOSHIBA MG04SCA40EE",
    ],
    ("raid-cache", None, "raid"): [
        "AVAGO SMC3108", "AVAGO MR9361-8i", "HP LOGICAL VOLUME", "DELL PERC H730 Mini", "HPE LOGICAL VOLUME",
        "LENOVO RAID 930-8i-2GB", "FTS PRAID EP400i", "Cisco UCSC-MRAID12G", "HPE MR416i-p Gen11",
    ],
    ("network", None, "cloud"): ["Google PersistentDisk"],
    ("ssd", None, "cloud"): ["Google EphemeralDisk"],
    ("unknown", None, "virtual"): ["QEMU HARDDISK", "Mellanox BlueField NVMe SNAP Controller"],
    ("unknown", None, "raid"): [
        "DELL PERC H330 Mini", "AVAGO MR9341-8i", "HPE MR216i-o Gen11", "LENOVO RAID 530-8i",
        "DELL PERC H355 Front", "DELL PERC H345 Front",
        "IBM ServeRAID M1015",
    ],
    ("hdd-7200", None, "hard disk"): ["HGST HUS726060AL", "ST2000DX001-1CM1", "WDC  WUH721414AL"],
    ("hdd-5400", None, "hard disk"): ["WDC WD40EFAX-68J", "ST8000DM004-2CX1"],
    ("unknown", None, "hard disk"): [
        "ST4000NM0035-1V4", "WDC WD40EFRX-68N", "SAMSUNG HD103SJ", "TOSHIBA AL15SEB060N", "HGST HTS541010A9",
        "HGST HDN724040AL",
    ],
    ("hdd-10000", None, "hard disk"): ["SEAGATE ST2400MM0129"],
    ("unknown", None, "array"): [
        "NETAPP LUN C-Mode", "PURE FlashArray", "3PARdata VV", "IBM 2145", "HP MSA 2040 SAS", "DELL MD32xx",
        "HITACHI OPEN-V", "NetApp ONTAP Controller",
    ],
}  # fmt: skip
"""Models by class, write cache and grade of their row."""


@pytest.mark.parametrize(("model", "told"), [(model, told) for told, names in KNOWN.items() for model in names])
def test_known_models(model: str, told: tuple[str, str | None, str]) -> None:
    row = models.find(model)
    assert row is not None
    assert (row.class_, row.write_cache, row.grade) == told


@pytest.mark.parametrize("model", [
    "INTEL SSDSC2CW12", "SSD", "INTEL SSDPEDMW400G4", "ACARD ANS-9010",
    "SanDisk SDCFXPS-032", "LIO-ORG vol1", "SUN COMSTAR", "TrueNAS iSCSI Disk",
    "TOSHIBA THNSNJ12", "SAMSUNG MZVL21T0HCLR-00B00",
    "WDC WDS192T1D0D-01AJB0", "ADATA SR2000CP", "HGST SDLL1DLR480GCAA1", "HGST HUSMR1625ASS200",
    "ST480HM000-1G5162", "ST400FM0053", "ST480FN0021", "ST400KN0001",  # SSDs of Seagate are no hard disks
])  # fmt: skip
def test_unknown_models(model: str) -> None:
    assert models.find(model) is None


def test_protected_cache_is_not_volatile(box: Box) -> None:
    box.disk("sda", files={"device/model": "INTEL SSDSC2KB48", "device/vendor": "ATA     "})
    found = only_medium(box)
    assert (found.class_, found.write_cache) == ("ssd-plp", "plp")
    assert "/sys/block/sda/device/model: INTEL SSDSC2KB48" in found.reason


def test_consumer_drive_reports_its_cache(box: Box) -> None:
    box.disk("sda", files={"device/model": "Samsung SSD 860"})
    assert only_medium(box).write_cache == "volatile"
    value, path = read(only_device(box), "grade")
    assert (value, path.startswith("model table: ")) == ("consumer", True)


@pytest.mark.parametrize(("product", "habit"), [("VirtualBox", "IgnoreFlush"), ("VMware Virtual Platform", "VMware")])
def test_virtual_disk_names_hypervisor_habit(box: Box, product: str, habit: str) -> None:
    box.write("/proc/cpuinfo", "flags : hypervisor")
    box.dmi(product_name=product)
    box.disk("sda", rotational=1, files={"device/model": "VBOX HARDDISK"})
    assert habit in only_medium(box).reason


@pytest.mark.parametrize(("model", "writes"), [
    ("WDC WD20EZAZ-00GGJB0", "log"), ("WDC WD60EFAX-68SHWN0", "log"), ("ST2000LX001-1RG174", "flash"),
    ("WDC WUS721010ALE6L4", "log"), ("HGST HUH721010AL", "log"), ("WDC WD101KRYZ-01JPDB0", "log"),
    ("HGST HUS724040AL", "in place"), ("ST8000NM0055", "in place"), ("SEAGATE ST39173LW", "in place"),
])  # fmt: skip
def test_names_of_hard_disks(model: str, writes: str) -> None:
    row = models.find(model)
    assert row is not None and (row.grade, row.write_placement) == ("hard disk", writes)


@pytest.mark.parametrize("model", ["WUS4BB038D7P3E3", "WUS5EA138ESP7E3"])
def test_ultrastar_ssd_is_no_hard_disk(model: str) -> None:
    assert models.find(model) is None
