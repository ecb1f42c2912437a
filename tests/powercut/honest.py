"""The files that a durable disk contains after a cut. Tests then damage single blocks."""

from pathlib import Path

from fstui.measure.wire.own_directory import POWER_CUT_PREFIX
from fstui.model.documents import encode
from fstui.powercut.records import Stream, Sync, WriteMethod
from fstui.powercut.writing import PreparedCut

RUN = "00112233445566ff"
BLOCK = 4096


def stream(writes: WriteMethod = "overwrite", *, writer: int = 0, sync: Sync = "fdatasync", records: int = 8) -> Stream:
    """Return a small stream. ``records`` is the number of records per file, or of new files that are kept."""
    return Stream.make(writer, sync, writes, BLOCK, records * BLOCK)


def write_files(directory: Path, of: Stream, last: int, run: str = RUN) -> Path:
    """Write the files of that writer up to the record ``last`` and return its directory."""
    writer_directory = directory / f"w{of.writer}"
    writer_directory.mkdir(parents=True)
    for sequence in range(last + 1):
        replace(writer_directory, of, sequence, of.pack(run, sequence))
        number, offset = of.position(sequence)
        if not of.overwrites and offset == 0 and number >= of.kept_files:
            (writer_directory / str(number - of.kept_files)).unlink()
    return writer_directory


def replace(writer_directory: Path, of: Stream, sequence: int, block: bytes) -> None:
    """Replace the record by these bytes."""
    number, offset = of.position(sequence)
    with (writer_directory / str(number)).open("r+b" if (writer_directory / str(number)).exists() else "wb") as file:
        file.seek(offset)
        file.write(block)


def at(of: Stream, sequence: int) -> tuple[str, int]:
    number, offset = of.position(sequence)
    return str(number), offset


def log_of(cut: PreparedCut, last: dict[int, int], *, boot: str | None = None, ms_each: int = 10) -> bytes:
    """Return the log of a witness. ``last``: the newest acknowledged record of each writer."""
    header = encode(cut.header)
    if boot is not None:
        header = header.replace(f'"boot":"{cut.header.boot}"'.encode(), f'"boot":"{boot}"'.encode())
    lines = [header, b"alive 0"]
    for of in cut.header.streams:
        for number, sequence in enumerate(range(of.first_sequence, last[of.writer] + 1)):
            lines.append(b"ack %d %d %d" % (of.writer, sequence, (number + 1) * ms_each))
    return b"\n".join(lines) + b"\n"


def directory_of(cut: PreparedCut) -> Path:
    assert Path(cut.header.directory).name == POWER_CUT_PREFIX + cut.header.run
    return Path(cut.header.directory)
