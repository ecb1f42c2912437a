"""The TOML files that come with fstui: ``scenarios/`` beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "scenarios", _PACKAGE.parent / "scenarios")


def shipped(folder: str = "") -> dict[str, Path]:
    """Those of a folder of it, by their names."""
    return {name: path for place in reversed(_PLACES) for name, path in toml_files(place / folder).items()}


def toml_files(folder: Path) -> dict[str, Path]:
    """Of any folder, by their names; none of one that is not there."""
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}
