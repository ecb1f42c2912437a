from pathlib import Path

import pytest

from tests.real.conftest import workshop

__all__ = ["workshop"]


WITH_STORAGE = frozenset(
    {
        "test_existing.py",
        "test_oltp.py",
        "test_replica_cut.py",
        "test_throwaway.py",
        "test_sqlite.py",
        "test_trouble.py",
    }
)
SERVERLESS = "test_sqlite.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that make storage; all but those of SQLite start servers."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and item.path.name in WITH_STORAGE:
            item.add_marker(pytest.mark.root)
            item.add_marker(pytest.mark.slow)
            if item.path.name != SERVERLESS:
                item.add_marker(pytest.mark.servers)


@pytest.fixture(autouse=True)
def no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove passwords for the user's own databases from the environment."""
    for name in ("FSTUI_DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
