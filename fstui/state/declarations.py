"""What the user declared of a storage, kept by the identity of the target from one day to the next."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.state import files, paths
from fstui.state.files import write_atomically


def recall() -> dict[str, Declaration]:
    """What was declared, by the target's identity. A broken file declares nothing."""
    return {identity: replace(said, remembered=True) for identity, said in _read().items()}


def remember(identity: str, declaration: Declaration) -> None:
    """Keep the declaration, replacing an older one; an empty one is forgotten. Raises OSError, Refused."""
    before = _read()
    kept = {key: said for key, said in before.items() if key != identity}
    if declaration:
        kept[identity] = replace(declaration, remembered=False)
    if kept != before:
        _save(kept)


def _read() -> dict[str, Declaration]:
    try:
        return msgspec.json.decode(files.read_regular(_file())[0], type=dict[str, Declaration])
    except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _save(declarations: dict[str, Declaration]) -> None:
    files.make_private(paths.state_dir())
    write_atomically(_file(), msgspec.json.format(msgspec.json.encode(declarations), indent=1) + b"\n")


def _file() -> Path:
    return paths.state_dir() / "declarations.json"
