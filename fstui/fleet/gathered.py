"""The directory that a fleet's documents are gathered in: ``NODE.json`` for each box, and ``fleet.json`` about all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from fstui import __version__
from fstui.fleet.answers import MOST_BYTES
from fstui.fleet.boxes import Box, boxes_of
from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.state.files import write_atomically

SCHEMA = "fstui.fleet/1"
ABOUT = "fleet.json"
NAMED = "fstui-fleet-{:%Y%m%d-%H%M%S}"


class About(Base, frozen=True, kw_only=True):
    """What was asked of whom, and who did not answer."""

    schema: str = SCHEMA
    version: str = __version__
    command: str
    arguments: tuple[str, ...] = ()
    started_at: str = ""
    elapsed_s: float = 0.0
    nodes: tuple[str, ...] = ()
    troubles: dict[str, str] = {}
    """By box, in one sentence: why there is no document of it."""
    remarks: dict[str, str] = {}
    """By box that did answer: what it said of its end all the same."""


class Fleet(Base, frozen=True, kw_only=True):
    """All that is known of them."""

    about: About
    boxes: tuple[Box, ...] = ()


def make(directory: Path | None) -> Path:
    """A new directory for this user alone, or an empty one. Raises Refused."""
    place = directory or Path(NAMED.format(datetime.now()))
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise Refused(f"--into {place}: there is something in it already; name a new directory")
    except OSError as error:
        raise Refused(f"--into {place}: {error.strerror}") from None
    return place


def keep(directory: Path, node: str, document: bytes) -> None:
    """What a box has answered, as it came. Raises OSError."""
    fd = os.open(directory / f"{node}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(document + b"\n")


def conclude(directory: Path, about: About) -> None:
    """Say what it was about. Raises OSError."""
    write_atomically(directory / ABOUT, msgspec.json.format(msgspec.json.encode(about)) + b"\n")


def read(directory: Path) -> Fleet:
    """A directory that was gathered before. Raises Refused."""
    try:
        about = msgspec.json.decode((directory / ABOUT).read_bytes(), type=About)
    except OSError as error:
        raise Refused(f"{directory}: {ABOUT}: {error.strerror}; name a directory that fstui fleet has made") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(f"{directory / ABOUT}: {error}") from None
    if about.schema != SCHEMA:
        raise Refused(f"{directory / ABOUT}: its schema is '{about.schema}', not '{SCHEMA}'")
    troubles = dict(about.troubles)
    boxes = tuple(_boxes(directory, about, troubles))
    return Fleet(about=msgspec.structs.replace(about, troubles=troubles), boxes=boxes)


def _boxes(directory: Path, about: About, troubles: dict[str, str]) -> Iterator[Box]:
    for node in about.nodes:
        if node in troubles or "/" in node:
            continue
        try:
            file = directory / f"{node}.json"
            if file.stat().st_size > MOST_BYTES:
                raise Refused("larger than any document")
            yield from boxes_of(node, about.command, file.read_bytes())
        except OSError as error:
            troubles[node] = f"{node}.json: {error.strerror}"
        except Refused as refusal:
            troubles[node] = f"what it answered is no document: {refusal}"
