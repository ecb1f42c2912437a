"""*a note: it does not change the verdict*

## What it means
The kernel reports the maximum size of an untorn write: after a power cut, either all of the write is there, or none.

## How it was measured
fstui only read the size: `queue/atomic_write_unit_max_bytes` of each device, and `STATX_WRITE_ATOMIC` (Linux 6.11) of a
file in the directory of the run. The size of the file counts. The filesystem derives it from its devices, or makes such
writes untorn itself: since Linux 6.16, XFS writes them to a new place first, so its size may be larger than that of any
device, even if no device reports one.

## What it proves, and what it does not
The size is reported, not proven. It applies only to writes with `RWF_ATOMIC` (pwritev2) and O_DIRECT that are aligned
to their size. An ordinary write of the same size may still be torn.

## What to do next
Leave InnoDB's doublewrite buffer and PostgreSQL's `full_page_writes` on, unless the database's documentation says that
it uses `RWF_ATOMIC` on this filesystem.

## Details
- InnoDB's pages are 16 KiB, PostgreSQL's 8 KiB. If the size in the note is smaller than the page, untorn writes cannot
  protect the page.
- PostgreSQL writes through the page cache and does not use `RWF_ATOMIC`. Its manual allows `full_page_writes = off` if
  the filesystem itself prevents partial page writes, as ZFS does.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.model.quantities import size
from fstui.storage.layers.facts import ATOMIC_WRITE_SIZE, number


@rule(order=75)
def untorn_writes(case: Case) -> Iterator[Conclusion]:
    reported = [(node, unit_bytes) for node in case.stack.nodes if (unit_bytes := number(node, ATOMIC_WRITE_SIZE))]
    if not reported:
        return
    amounts = ", ".join(f"{words.label(node)} {size(unit_bytes)}" for node, unit_bytes in reported)
    filesystem = case.stack.nodes[0]
    by_filesystem = filesystem.reading(ATOMIC_WRITE_SIZE) is not None
    label = words.label(filesystem)
    limitation = "" if by_filesystem else f" {label} itself reports nothing, so programs there cannot rely on it."
    yield Conclusion(
        title=f"untorn writes of up to {size(reported[0][1])}, as reported by {label}"
        if by_filesystem
        else "untorn writes reported by the device only",
        sentence=f"According to the kernel, writes with RWF_ATOMIC are untorn up to this size: {amounts}. This is not "
        f"proven.{limitation}",
        evidence=(line for node, _ in reported for line in words.readings(node, ATOMIC_WRITE_SIZE)),
        next=(
            "Leave InnoDB's doublewrite and PostgreSQL's full_page_writes on, unless the database's "
            "documentation says that it uses RWF_ATOMIC here.",
        ),
    )
