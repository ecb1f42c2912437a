"""The engine's half of each kind of step: what it may be asked for, what it tells, what it writes and syncs.

Each kind has a module here with a settings struct and, if it returns more than samples, a figures struct. The program
that does the I/O has the same name in ``fstui.measure.probes``; it is also the structs' tag.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

import msgspec

from fstui.measure.kinds.base import StepFigures, StepSettings
from fstui.model.settings import Figures, Settings, UnknownFigures, UnknownSettings

TAG = "probe"
_Kind = TypeVar("_Kind", StepSettings, StepFigures)


@cache
def settings_kinds() -> dict[str, type[StepSettings]]:
    """The settings struct of each kind of step."""
    return _kinds(StepSettings)


@cache
def figures_kinds() -> dict[str, type[StepFigures]]:
    """The figures struct of each kind of step that has figures of its own."""
    return _kinds(StepFigures)


def settings_from(fields: Mapping[str, Any]) -> Settings:
    """Settings as a document has them. Raises msgspec.ValidationError where they do not fit their kind."""
    kind = settings_kinds().get(str(fields.get(TAG)))
    # only the tag: a step that was never begun
    return UnknownSettings(fields) if kind is None or fields.keys() == {TAG} else msgspec.convert(fields, kind)


def figures_from(fields: Mapping[str, Any]) -> Figures:
    """Figures as a document or a probe has them. Raises msgspec.ValidationError where they do not fit their kind."""
    kind = figures_kinds().get(str(fields.get(TAG)))
    return UnknownFigures(fields) if kind is None else msgspec.convert(fields, kind)


def _kinds(base: type[_Kind]) -> dict[str, type[_Kind]]:
    return {
        found.name: kind
        for found in iter_modules(__path__)
        for kind in vars(import_module(f"{__name__}.{found.name}")).values()
        if isinstance(kind, type) and issubclass(kind, base) and kind.__struct_config__.tag == found.name
    }
