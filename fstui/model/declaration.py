"""What a user declares about the lowest devices of a target, for example the medium below a virtual disk."""

from __future__ import annotations

from typing import Any

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.model.storage import CACHES, MEDIA, Medium, MediumCache, MediumClass, Node, Target

_IMPLIED_CACHE: dict[MediumClass, MediumCache] = {"ssd-plp": "plp", "raid-cache": "plp", "optane": "none"}
"""The write cache that a declared medium implies. It is used unless the user also declares the write cache."""


class Declaration(Base, frozen=True, kw_only=True, omit_defaults=True):
    """The medium of the lowest devices, their write cache, or both; None if it was not declared."""

    medium: MediumClass | None = None
    write_cache: MediumCache | None = None
    remembered: bool = False

    @classmethod
    def parse(cls, medium: str | None, write_cache: str | None) -> Declaration:
        """Parse the values of --medium and --write-cache. Raises Refused for an unknown value."""
        return cls(medium=_checked(medium, MEDIA, "medium"), write_cache=_checked(write_cache, CACHES, "write cache"))

    def __bool__(self) -> bool:
        return self.medium is not None or self.write_cache is not None

    def combined_with(self, remembered: Declaration) -> Declaration:
        """Return this declaration combined with a saved one. Declaring only the cache keeps the saved medium."""
        if not self:
            return remembered
        return self if self.medium else msgspec.structs.replace(self, medium=remembered.medium)

    @property
    def text(self) -> str:
        """For example ``medium hdd-7200, write cache none``."""
        values = {"medium": self.medium, "write cache": self.write_cache}
        return ", ".join(f"{what} {value}" for what, value in values.items() if value)


NO_DECLARATION = Declaration()


def with_declaration(target: Target, declaration: Declaration) -> Target:
    if not declaration:
        return target
    stack = tuple(_declared_node(node, declaration) if node.lowest else node for node in target.stack)
    return msgspec.structs.replace(target, stack=stack)


def _declared_node(node: Node, declaration: Declaration) -> Node:
    surveyed_medium = node.medium or Medium()
    class_ = declaration.medium or surveyed_medium.class_
    rpm = int(class_.removeprefix("hdd-")) if class_.startswith("hdd-") else None
    implied_cache = _IMPLIED_CACHE.get(declaration.medium) if declaration.medium else None
    medium = Medium(
        class_=class_,
        rpm=rpm if declaration.medium else surveyed_medium.rpm,
        write_cache=declaration.write_cache or implied_cache or surveyed_medium.write_cache,
        ephemeral=surveyed_medium.ephemeral,
        declared=True,
        reason=f"declared by you{' (remembered)' if declaration.remembered else ''}: {declaration.text}",
    )
    return msgspec.structs.replace(node, medium=medium)


def _checked(value: str | None, allowed: tuple[Any, ...], what: str) -> Any:
    if value is not None and value not in allowed:
        raise Refused(f"unknown {what} '{value}'. Choose one of: {', '.join(allowed)}.")
    return value
