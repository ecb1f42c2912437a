"""Tables in plain text: as wide as they are, or as a terminal is."""

import pytest
from rich.cells import cell_len

from fstui.report.text import columns, table

ROWS = (
    ("MOUNT", "FREE", "STACK"),
    ("/srv/a/directory/that/is/deep", "212 G", "ext4 › dm-0 › nvme0n1"),
    ("/[red]x", "7.8 G", "tmpfs › memory"),
)


@pytest.mark.parametrize("width", [None, 80, 200])
def test_what_fits_stands_in_one_line_each(width: int | None) -> None:
    assert (
        table(ROWS, "<><", width)
        == columns(ROWS, "<><")
        == [
            "MOUNT                           FREE  STACK",
            "/srv/a/directory/that/is/deep  212 G  ext4 › dm-0 › nvme0n1",
            "/[red]x                        7.8 G  tmpfs › memory",
        ]
    )


@pytest.mark.parametrize("width", [30, 40, 57])
def test_what_is_too_wide_goes_on_below_in_its_own_column(width: int) -> None:
    lines = table(ROWS, "<><", width)
    assert len(lines) > len(ROWS) and max(map(cell_len, lines)) <= width
    place = lines[0].index("STACK")
    assert lines[1][place:].startswith("ext4 ›") and lines[2][:1] not in ("", " ")
    together = "".join("".join(lines).split())
    assert all(part in together for part in ("212G", "7.8G", "/[red]x"))
