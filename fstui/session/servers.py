"""Database servers that are there already."""

from fstui.databases.existing import PASSWORD

__all__ = ["PASSWORD"]
