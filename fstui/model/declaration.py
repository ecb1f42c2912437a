"""What a user declares about the lowest devices of a target: a virtual disk cannot tell which medium is below it."""

from __future__ import annotations

from typing import Any

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.model.storage import CACHES, MEDIA, Medium, MediumCache, MediumClass, Node, Target

_CACHE_OF: dict[MediumClass, MediumCache] = {"ssd-plp": "plp", "raid-cache": "plp", "optane": "none"}
"""The write cache that a declared medium implies. It is used unless the user also declares the write cache."""


class Declaration(Base, frozen=True, kw_only=True, omit_defaults=True):
    """The medium of the lowest devices, their write cache, or both; None if it was not declared."""

    medium: MediumClass | None = None
    write_cache: MediumCache | None = None
    remembered: bool = False

    @classmethod
    def of(cls, medium: str | None, write_cache: str | None) -> Declaration:
        """Return the declaration for the user's words. Raises Refused for an unknown one."""
        return cls(medium=_known(medium, MEDIA, "medium"), write_cache=_known(write_cache, CACHES, "write cache"))

    def __bool__(self) -> bool:
        return self.medium is not None or self.write_cache is not None

    def over(self, remembered: Declaration) -> Declaration:
        """Return this declaration combined with a saved one. Declaring only the cache keeps the saved medium."""
        if not self:
            return remembered
        return self if self.medium else msgspec.structs.replace(self, medium=remembered.medium)

    @property
    def words(self) -> str:
        """For example ``medium hdd-7200, write cache none``."""
        values = {"medium": self.medium, "write cache": self.write_cache}
        return ", ".join(f"{what} {word}" for what, word in values.items() if word)


NOTHING = Declaration()


def declared(target: Target, declaration: Declaration) -> Target:
    if not declaration:
        return target
    stack = tuple(_declared(node, declaration) if node.lowest else node for node in target.stack)
    return msgspec.structs.replace(target, stack=stack)


def _declared(node: Node, declaration: Declaration) -> Node:
    read = node.medium or Medium()
    class_ = declaration.medium or read.class_
    rpm = int(class_.removeprefix("hdd-")) if class_.startswith("hdd-") else None
    implied = _CACHE_OF.get(declaration.medium) if declaration.medium else None
    medium = Medium(
        class_=class_,
        rpm=rpm if declaration.medium else read.rpm,
        write_cache=declaration.write_cache or implied or read.write_cache,
        ephemeral=read.ephemeral,
        declared=True,
        because=f"declared by you{' (remembered)' if declaration.remembered else ''}: {declaration.words}",
    )
    return msgspec.structs.replace(node, medium=medium)


def _known(word: str | None, words: tuple[Any, ...], what: str) -> Any:
    if word is not None and word not in words:
        raise Refused(f"no {what} '{word}'. Choose one of: {', '.join(words)}.")
    return word
