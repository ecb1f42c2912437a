"""The keys that a user has changed."""

from __future__ import annotations

import pytest

from fstui.model.errors import Refused
from fstui.state import configuration, files, paths


@pytest.mark.parametrize(
    "text", ["= ", '"storage.sort" = 7', "a = " + "9" * 5000, "a = " + "[" * 3000, b"a = '\xff'"],
    ids=["no key", "a number", "a very long number", "brackets in brackets", "no UTF-8"],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused_by_the_name_of_its_file(text: str | bytes) -> None:
    files.make_private(paths.config_dir())
    (paths.config_dir() / "keys.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Refused, match=r"keys\.toml"):
        configuration.keys()


def test_no_file_changes_no_key() -> None:
    assert configuration.keys() == {}
