"""Read run documents, and return their schema.

``fstui.run/2`` has the kind of step as the tag ``probe`` in its ``settings`` and ``figures``; ``fstui.run/1`` has it
next to them. Fields of a later version are kept in settings and figures of an unknown kind, and ignored elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from fstui.measure import kinds as measures
from fstui.model.errors import Refused
from fstui.model.run import SCHEMA, Run
from fstui.model.settings import Figures, Settings, UnknownFigures, UnknownSettings

READABLE = ("fstui.run/1", SCHEMA)
_DEFINED = "#/$defs/{name}"
_Outline = TypeVar("_Outline", bound="Version")


def decode_run(data: bytes | str) -> Run:
    """Return a document of any version. Raises Refused with the mistake."""
    with _refusing():
        return _run_from(msgspec.json.decode(data))


def each_of(data: bytes) -> list[bytes]:
    """Return the documents in a file: one, or the list of a check. Raises Refused if the list is broken."""
    if not data.lstrip().startswith(b"["):
        return [data]
    with _refusing():
        return [bytes(one) for one in msgspec.json.decode(data, type=list[msgspec.Raw])]


def decode_outline(data: bytes, outline: type[_Outline]) -> _Outline:
    """Return a few fields that all versions have, without decoding the others. Raises Refused."""
    with _refusing():
        try:
            found = msgspec.json.decode(data, type=outline)
        except msgspec.ValidationError:
            _check(msgspec.json.decode(data, type=Version).schema)  # another schema explains the error
            raise
        _check(found.schema)
        return found


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the documents that this version writes."""
    settings, figures = measures.settings_kinds().values(), measures.figures_kinds().values()

    def one_of(kind: type) -> dict[str, Any]:
        known = [each.__name__ for each in (settings if kind is Settings else figures)]
        return {"anyOf": [*({"$ref": _DEFINED.format(name=name)} for name in known), {"type": "object"}]}

    (run, *_), definitions = msgspec.json.schema_components(
        [Run, *settings, *figures], schema_hook=one_of, ref_template=_DEFINED
    )
    return {**run, "$defs": definitions}


class Version(msgspec.Struct, frozen=True):
    """The field that every document has."""

    schema: str = ""


def _check(schema: str) -> str:
    if schema not in READABLE:
        raise Refused(f"its schema is '{schema}', not '{SCHEMA}'")
    return schema


def _run_from(document: Any) -> Run:
    if _check(msgspec.convert(document, Version).schema) == SCHEMA:
        return msgspec.convert(document, Run, dec_hook=_typed)
    return _with_edges(msgspec.convert(_from_first(document), Run, dec_hook=_typed_or_kept))


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(str(error)) from None


class _FirstStep(msgspec.Struct, frozen=True):
    """Fields that the second version has in another place."""

    probe: str
    settings: dict[str, Any] = {}
    figures: dict[str, Any] = {}


def _from_first(document: dict[str, Any]) -> dict[str, Any]:
    steps = msgspec.convert(document.get("steps", []), list[dict[str, Any]])
    return {**document, "schema": SCHEMA, "steps": [_step_from_first(step) for step in steps]}


def _step_from_first(step: dict[str, Any]) -> dict[str, Any]:
    found = msgspec.convert(step, _FirstStep)
    tag = {measures.TAG: found.probe}
    return {
        **step,
        "settings": {**found.settings, **tag},
        "figures": {**found.figures, **tag} if found.figures else None,
    }


def _with_edges(run: Run) -> Run:
    """The first version had one role for a layer, the second has one for each layer above it."""
    if run.target is None:
        return run
    roles = {node.id: role.value for node in run.target.stack if (role := node.reading("role"))}
    stack = tuple(
        msgspec.structs.replace(node, below_roles={name: roles[name] for name in node.below if name in roles})
        for node in run.target.stack
    )
    return msgspec.structs.replace(run, target=msgspec.structs.replace(run.target, stack=stack))


def _typed(kind: type, fields: Any) -> Settings | Figures:
    """Return the struct that the tag names."""
    if not isinstance(fields, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(fields).__name__}`")
    return measures.settings_from(fields) if kind is Settings else measures.figures_from(fields)


def _typed_or_kept(kind: type, fields: dict[str, Any]) -> Settings | Figures:
    """Keep settings and figures of the first version that do not fit their kind: it did not check them."""
    try:
        return _typed(kind, fields)
    except msgspec.ValidationError:
        return UnknownSettings(fields) if kind is Settings else UnknownFigures(fields)
