"""Find the TOML files that fstui installs: ``scenarios/`` next to the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "scenarios", _PACKAGE.parent / "scenarios")


def shipped(folder: str = "") -> dict[str, Path]:
    """Return the files of a folder of ``scenarios`` by name."""
    return {name: path for place in reversed(_PLACES) for name, path in toml_files(place / folder).items()}


def toml_files(folder: Path) -> dict[str, Path]:
    """Return the TOML files of a folder by name; none if the folder does not exist."""
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}
