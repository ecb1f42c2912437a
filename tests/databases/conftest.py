from pathlib import Path

import pytest

from tests.storage.conftest import workshop

__all__ = ["workshop"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here makes storage."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.root)


@pytest.fixture(autouse=True)
def no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user's environment says about databases of theirs is not for tests."""
    for name in ("FSTUI_DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
