"""Read run documents, and return their schema.

The kind of a step is the tag ``probe`` in its ``settings`` and ``figures``. Unknown fields are kept in settings and
figures of an unknown kind, and ignored elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from fstui.measure import kinds as measures
from fstui.model.errors import Refused
from fstui.model.run import SCHEMA, Run
from fstui.model.settings import Figures, Settings

CHECK = "fstui.check/1"
"""The schema of the result of a check, which contains run documents."""
_DEFINED = "#/$defs/{name}"
_Fields = TypeVar("_Fields", bound="Version")


def decode_run(data: bytes | str) -> Run:
    """Return the run. Raises Refused with the mistake."""
    with _refusing():
        document = msgspec.json.decode(data)
        _check(msgspec.convert(document, Version).schema)
        return msgspec.convert(document, Run, dec_hook=_typed)


def split_file(data: bytes) -> list[bytes]:
    """Return the documents in a file: one, or those of a check. Raises Refused if the file is broken."""
    with _refusing():
        if msgspec.json.decode(data, type=Version).schema == CHECK:
            return [bytes(one) for one in msgspec.json.decode(data, type=_Check).runs]
    return [data]


def decode_fields(data: bytes, fields: type[_Fields]) -> _Fields:
    """Decode only these fields. Raises Refused."""
    with _refusing():
        try:
            found = msgspec.json.decode(data, type=fields)
        except msgspec.ValidationError:
            _check(msgspec.json.decode(data, type=Version).schema)  # if the schema is another one, that is the error
            raise
        _check(found.schema)
        return found


def schema_of(*documents: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of a document that is one of these types, and the definitions that it refers to."""
    settings, figures = measures.settings_kinds().values(), measures.figures_kinds().values()
    open_kinds: set[type] = set()

    def one_of(kind: type) -> dict[str, Any]:
        open_kinds.add(kind)
        known = [each.__name__ for each in (settings if kind is Settings else figures)]
        return {"anyOf": [*({"$ref": _DEFINED.format(name=name)} for name in known), {"type": "object"}]}

    def components(types: Sequence[type]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
        return msgspec.json.schema_components(types, schema_hook=one_of, ref_template=_DEFINED)

    found, definitions = components(documents)
    if open_kinds:
        found, definitions = components([*documents, *settings, *figures])
    references = found[: len(documents)]
    return references[0] if len(references) == 1 else {"anyOf": list(references)}, definitions


class Version(msgspec.Struct, frozen=True):
    schema: str = ""


class _Check(Version, frozen=True):
    runs: tuple[msgspec.Raw, ...] = ()


def _check(schema: str) -> None:
    if schema != SCHEMA:
        raise Refused(f"its schema is '{schema}', not '{SCHEMA}'")


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(str(error)) from None


def _typed(kind: type, fields: Any) -> Settings | Figures:
    if not isinstance(fields, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(fields).__name__}`")
    return measures.settings_from(fields) if kind is Settings else measures.figures_from(fields)
