"""The module that starts and queries each kind of server."""

from __future__ import annotations

from types import ModuleType

from fstui.databases import mysql, postgresql

FAMILIES: dict[str, ModuleType] = {"mariadb": mysql, "mysql": mysql, "postgresql": postgresql}
