from pathlib import Path

import pytest

from tests.real.conftest import workshop

__all__ = ["workshop"]


SERVERLESS = "test_sqlite.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that make storage; all but those of SQLite start servers."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and "workshop" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.root)
            item.add_marker(pytest.mark.slow)
            if item.path.name != SERVERLESS:
                item.add_marker(pytest.mark.servers)


@pytest.fixture(autouse=True)
def no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove passwords for the user's own databases from the environment."""
    for name in ("FSTUI_DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
