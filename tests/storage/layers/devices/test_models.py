import re

import pytest

from fstui.storage.layers.devices import models
from tests.factories.box import Box
from tests.factories.looking import only, only_medium, read


@pytest.mark.parametrize("row", models.table().model, ids=lambda row: row.pattern)
def test_every_model_has_pattern_and_source(row: models.Model) -> None:
    assert re.compile(row.pattern)
    assert row.source.strip()
    assert row.class_ not in {"unknown", "memory"} or row.grade in {"virtual", "hard disk", "raid", "array"}
    assert row.writes == "in place" or row.grade == "hard disk"


@pytest.mark.parametrize(("model", "class_", "write_cache", "grade"), [
    ("INTEL SSDSC2BA40", "ssd-plp", "plp", "data centre"), ("INTEL SSDSC2KB48", "ssd-plp", "plp", "data centre"),
    ("INTEL SSDPEDMD400G4", "ssd-plp", "plp", "data centre"), ("SAMSUNG MZ7KM1T9", "ssd-plp", "plp", "data centre"),
    ("Micron_7450_MTFDKBG960TFR", "ssd-plp", "plp", "data centre"),
    ("KINGSTON SEDC500M960G", "ssd-plp", "plp", "data centre"),
    ("KINGSTON SEDC600M1920G", "ssd-plp", "plp", "data centre"),
    ("SAMSUNG MZQL2960HCJR-00A07", "ssd-plp", "plp", "data centre"),
    ("SAMSUNG MZ1L2960HCJR-00A07", "ssd-plp", "plp", "data centre"),
    ("SAMSUNG MZ7L3480", "ssd-plp", "plp", "data centre"),
    ("INTEL SSDPF2KX038T1N1", "ssd-plp", "plp", "data centre"),
    ("SOLIDIGM SSDSC2KB48", "ssd-plp", "plp", "data centre"),
    ("Micron_9300_MTFDHAL3T8TDP", "ssd-plp", "plp", "data centre"),
    ("Micron_5300_MTFD", "ssd-plp", "plp", "data centre"),
    ("Micron_5300HC_MT", "ssd-plp", "plp", "data centre"), ("MTFDDAK480TDS", "ssd-plp", "plp", "data centre"),
    ("Micron_7500_MTFDKCC3T8TGP", "ssd-plp", "plp", "data centre"),
    ("Micron_5100_MTFD", "ssd-plp", "plp", "data centre"),
    ("Micron_1100_MTFDDAK256TBN", "ssd", None, "consumer"), ("Micron_2200_MTFDHBA512TCK", "ssd", None, "consumer"),
    ("INTEL SSDPED1K375GA", "optane", "none", "data centre"), ("INTEL SSDPED1D280GA", "optane", "none", "consumer"),
    ("INTEL SSDPF21Q400GB", "optane", "none", "data centre"),
    ("Samsung SSD 860", "ssd", None, "consumer"), ("Samsung SSD 970 PRO 512GB", "ssd", None, "consumer"),
    ("WDC  WUH722222AL", "hdd-7200", "plp", "data centre"), ("WDC WD221KRYZ-01", "hdd-7200", "plp", "data centre"),
    ("TOSHIBA MG06ACA8", "hdd-7200", "plp", "data centre"), ("TOSHIBA MG04SCA40EE", "hdd-7200", "plp", "data centre"),
    ("CT1000MX500SSD1", "ssd", None, "consumer"), ("Crucial_CT525MX3", "ssd", None, "consumer"),
    ("WDS100T1X0E-00AFY0", "ssd", None, "consumer"), ("Sabrent Rocket 4.0 2TB", "ssd", None, "consumer"),
    ("ADATA SX8200PNP", "ssd", None, "consumer"),
    ("AVAGO SMC3108", "raid-cache", None, "raid"), ("AVAGO MR9361-8i", "raid-cache", None, "raid"),
    ("HP LOGICAL VOLUME", "raid-cache", None, "raid"),
    ("DELL PERC H730 Mini", "raid-cache", None, "raid"), ("HPE LOGICAL VOLUME", "raid-cache", None, "raid"),
    ("Google PersistentDisk", "network", None, "cloud"), ("Google EphemeralDisk", "ssd", None, "cloud"),
    ("QEMU HARDDISK", "unknown", None, "virtual"),
    ("Mellanox BlueField NVMe SNAP Controller", "unknown", None, "virtual"),
    ("DELL PERC H330 Mini", "unknown", None, "raid"), ("AVAGO MR9341-8i", "unknown", None, "raid"),
    ("LENOVO RAID 930-8i-2GB", "raid-cache", None, "raid"), ("FTS PRAID EP400i", "raid-cache", None, "raid"),
    ("Cisco UCSC-MRAID12G", "raid-cache", None, "raid"), ("HPE MR416i-p Gen11", "raid-cache", None, "raid"),
    ("HPE MR216i-o Gen11", "unknown", None, "raid"), ("LENOVO RAID 530-8i", "unknown", None, "raid"),
    ("HGST HUS726060AL", "hdd-7200", None, "hard disk"), ("WDC WD40EFAX-68J", "hdd-5400", None, "hard disk"),
    ("ST8000DM004-2CX1", "hdd-5400", None, "hard disk"), ("ST2000DX001-1CM1", "hdd-7200", None, "hard disk"),
    ("ST4000NM0035-1V4", "unknown", None, "hard disk"), ("WDC WD40EFRX-68N", "unknown", None, "hard disk"),
    ("WDC  WUH721414AL", "hdd-7200", None, "hard disk"), ("SAMSUNG HD103SJ", "unknown", None, "hard disk"),
    ("TOSHIBA AL15SEB060N", "unknown", None, "hard disk"), ("HGST HTS541010A9", "unknown", None, "hard disk"),
    ("SEAGATE ST2400MM0129", "hdd-10000", None, "hard disk"), ("HGST HDN724040AL", "unknown", None, "hard disk"),
    ("NETAPP LUN C-Mode", "unknown", None, "array"), ("PURE FlashArray", "unknown", None, "array"),
    ("3PARdata VV", "unknown", None, "array"), ("IBM 2145", "unknown", None, "array"),
    ("HP MSA 2040 SAS", "unknown", None, "array"), ("DELL MD32xx", "unknown", None, "array"),
    ("HITACHI OPEN-V", "unknown", None, "array"), ("NetApp ONTAP Controller", "unknown", None, "array"),
])  # fmt: skip
def test_known_models(model: str, class_: str, write_cache: str | None, grade: str) -> None:
    row = models.find(model)
    assert row is not None
    assert (row.class_, row.write_cache, row.grade) == (class_, write_cache, grade)


@pytest.mark.parametrize("model", [
    "INTEL SSDSC2CW12", "SSD", "INTEL SSDPEDMW400G4", "ACARD ANS-9010",
    "SanDisk SDCFXPS-032", "LIO-ORG vol1", "SUN COMSTAR", "TrueNAS iSCSI Disk",
    "TOSHIBA THNSNJ12", "SAMSUNG MZVL21T0HCLR-00B00",
    "WDC WDS192T1D0D-01AJB0", "ADATA SR2000CP", "HGST SDLL1DLR480GCAA1", "HGST HUSMR1625ASS200",
])  # fmt: skip
def test_unknown_models(model: str) -> None:
    assert models.find(model) is None


def test_protected_cache_is_not_volatile(box: Box) -> None:
    box.disk("sda", files={"device/model": "INTEL SSDSC2KB48", "device/vendor": "ATA     "})
    found = only_medium(box)
    assert (found.class_, found.write_cache) == ("ssd-plp", "plp")
    assert "/sys/block/sda/device/model: INTEL SSDSC2KB48" in found.because


def test_consumer_drive_reports_its_cache(box: Box) -> None:
    box.disk("sda", files={"device/model": "Samsung SSD 860"})
    assert only_medium(box).write_cache == "volatile"
    value, path = read(only(box), "grade")
    assert (value, path.startswith("model table: ")) == ("consumer", True)


@pytest.mark.parametrize(("product", "habit"), [("VirtualBox", "IgnoreFlush"), ("VMware Virtual Platform", "VMware")])
def test_virtual_disk_names_hypervisor_habit(box: Box, product: str, habit: str) -> None:
    box.write("/proc/cpuinfo", "flags : hypervisor")
    box.dmi(product_name=product)
    box.disk("sda", rotational=1, files={"device/model": "VBOX HARDDISK"})
    assert habit in only_medium(box).because


@pytest.mark.parametrize(("model", "writes"), [
    ("WDC WD20EZAZ-00GGJB0", "log"), ("WDC WD60EFAX-68SHWN0", "log"), ("ST2000LX001-1RG174", "flash"),
    ("WDC WUS721010ALE6L4", "log"), ("HGST HUH721010AL", "log"), ("WDC WD101KRYZ-01JPDB0", "log"),
    ("HGST HUS724040AL", "in place"), ("ST8000NM0055", "in place"), ("SEAGATE ST39173LW", "in place"),
])  # fmt: skip
def test_names_of_hard_disks(model: str, writes: str) -> None:
    row = models.find(model)
    assert row is not None and (row.grade, row.writes) == ("hard disk", writes)


@pytest.mark.parametrize("model", ["ST480HM000-1G5162", "ST400FM0053", "ST480FN0021", "ST400KN0001"])
def test_seagate_ssds_are_no_hard_disks(model: str) -> None:
    assert models.find(model) is None
