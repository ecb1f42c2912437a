"""``--set KEY=VALUE``"""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.errors import Refused


def pairs(settings: Sequence[str]) -> dict[str, str]:
    """By key. Raises Refused."""
    found = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise Refused(f"--set {setting}: write KEY=VALUE, as in --set seconds=2")
        found[key] = value
    return found
