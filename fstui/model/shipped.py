"""The TOML files that fstui installs: tables in the package, and ``scenarios/``, which is next to it in a checkout."""

import pkgutil
from pathlib import Path
from typing import TypeVar

import msgspec

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "scenarios", _PACKAGE.parent / "scenarios")
Table = TypeVar("Table")


def shipped_files(folder: str = "") -> dict[str, Path]:
    return {name: path for parent in reversed(_FOLDERS) for name, path in toml_files(parent / folder).items()}


def toml_files(folder: Path) -> dict[str, Path]:
    """Return the TOML files of a folder by name; none if the folder does not exist."""
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}


def packaged_table(package: str, name: str, as_type: type[Table]) -> Table:
    """Return the contents of a TOML file in a package. The package may be in a zip file."""
    data = pkgutil.get_data(package, name)
    assert data is not None, "it is part of the package"
    return msgspec.toml.decode(data, type=as_type)
