"""Read run documents, and return their schema.

In ``fstui.run/2``, the kind of a step is the tag ``probe`` in its ``settings`` and ``figures``. In ``fstui.run/1`` the
kind is a field of the step. Settings and figures of an unknown kind keep all their fields. Everywhere else, unknown
fields are ignored.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from fstui.measure import kinds
from fstui.model.errors import Refused
from fstui.model.run import SCHEMA, Run
from fstui.model.settings import Figures, Settings, UnknownFigures, UnknownSettings

READABLE_SCHEMAS = ("fstui.run/1", SCHEMA)
CHECK_SCHEMA = "fstui.check/1"
"""The schema of the result of ``fstui check``, which contains run documents."""
_REFERENCE = "#/$defs/{name}"
_Fields = TypeVar("_Fields", bound="Version")


def decode_run(data: bytes | str) -> Run:
    """Return the run in a document of any version. Raises Refused with the error in the document."""
    with refuse_decode_errors():
        return _run_from(msgspec.json.decode(data))


def split_file(data: bytes) -> list[bytes]:
    """Return the run documents in a file: one, or several from a check. Raises Refused if the file is damaged."""
    with refuse_decode_errors():
        if data.lstrip().startswith(b"["):  # the result of a check by an older version of fstui
            return [bytes(run) for run in msgspec.json.decode(data, type=list[msgspec.Raw])]
        if msgspec.json.decode(data, type=Version).schema == CHECK_SCHEMA:
            return [bytes(run) for run in msgspec.json.decode(data, type=_Check).runs]
    return [data]


def decode_fields(data: bytes, fields: type[_Fields]) -> _Fields:
    """Decode some fields of a document, which must be the same in all versions. Raises Refused."""
    with refuse_decode_errors():
        try:
            decoded = msgspec.json.decode(data, type=fields)
        except msgspec.ValidationError:
            # an unknown schema is a better explanation than an unexpected field
            _check_schema(msgspec.json.decode(data, type=Version).schema)
            raise
        _check_schema(decoded.schema)
        return decoded


def schema_of(*documents: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of a document that has one of these types, and the definitions to which it refers."""
    settings, figures = kinds.settings_kinds().values(), kinds.figures_kinds().values()
    extensible: set[type] = set()  # Settings and Figures in the documents: one of the known kinds, or any object

    def any_known_kind(kind: type) -> dict[str, Any]:
        extensible.add(kind)
        names = [fields.__name__ for fields in (settings if kind is Settings else figures)]
        return {"anyOf": [*({"$ref": _REFERENCE.format(name=name)} for name in names), {"type": "object"}]}

    def components(types: Sequence[type]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
        return msgspec.json.schema_components(types, schema_hook=any_known_kind, ref_template=_REFERENCE)

    schemas, definitions = components(documents)
    if extensible:
        schemas, definitions = components([*documents, *settings, *figures])
    references = schemas[: len(documents)]
    return references[0] if len(references) == 1 else {"anyOf": list(references)}, definitions


class Version(msgspec.Struct, frozen=True):
    schema: str = ""


class _Check(Version, frozen=True):
    runs: tuple[msgspec.Raw, ...] = ()


def _check_schema(schema: str) -> str:
    if schema not in READABLE_SCHEMAS:
        raise Refused(f"its schema is '{schema}', not '{SCHEMA}'")
    return schema


def _run_from(document: Any) -> Run:
    if _check_schema(msgspec.convert(document, Version).schema) == SCHEMA:
        return msgspec.convert(document, Run, dec_hook=_decode_kind)
    return _with_edges(msgspec.convert(_from_v1(document), Run, dec_hook=_decode_kind_or_keep))


@contextmanager
def refuse_decode_errors() -> Iterator[None]:
    """Turn the error of a document that cannot be decoded into Refused."""
    try:
        yield
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(str(error)) from None


class _StepV1(msgspec.Struct, frozen=True):
    """The fields of a step in ``fstui.run/1`` that are in another place in ``fstui.run/2``."""

    probe: str
    settings: dict[str, Any] = {}
    figures: dict[str, Any] = {}


def _from_v1(document: dict[str, Any]) -> dict[str, Any]:
    steps = msgspec.convert(document.get("steps", []), list[dict[str, Any]])
    return {**document, "schema": SCHEMA, "steps": [_step_from_v1(step) for step in steps]}


def _step_from_v1(step: dict[str, Any]) -> dict[str, Any]:
    fields = msgspec.convert(step, _StepV1)
    tag = {kinds.TAG: fields.probe}
    return {
        **step,
        "settings": {**fields.settings, **tag},
        "figures": {**fields.figures, **tag} if fields.figures else None,
    }


def _with_edges(run: Run) -> Run:
    """Give each node one role per layer above it, as in ``fstui.run/2``, instead of a single role."""
    if run.target is None:
        return run
    roles = {node.id: role for node in run.target.stack if (role := node.value("role"))}
    stack = tuple(
        msgspec.structs.replace(node, below_roles={name: roles[name] for name in node.below if name in roles})
        for node in run.target.stack
    )
    return msgspec.structs.replace(run, target=msgspec.structs.replace(run.target, stack=stack))


def _decode_kind(kind: type, fields: Any) -> Settings | Figures:
    if not isinstance(fields, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(fields).__name__}`")
    return kinds.settings_from(fields) if kind is Settings else kinds.figures_from(fields)


def _decode_kind_or_keep(kind: type, fields: dict[str, Any]) -> Settings | Figures:
    """Decode as ``_decode_kind``, but keep fields that do not fit: fstui did not check them in ``fstui.run/1``."""
    try:
        return _decode_kind(kind, fields)
    except msgspec.ValidationError:
        return UnknownSettings(fields) if kind is Settings else UnknownFigures(fields)
