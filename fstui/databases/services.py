"""What libpq would take from the user's connection service file, for sysbench, which states every word itself.

https://www.postgresql.org/docs/current/libpq-pgservice.html
"""

from __future__ import annotations

import configparser
import os
from contextlib import suppress
from pathlib import Path

from fstui.model.errors import Refused

_VARIABLES = {
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "passfile": "PGPASSFILE",
    "connect_timeout": "PGCONNECT_TIMEOUT",
}
"""https://www.postgresql.org/docs/current/libpq-envars.html"""


def service(name: str) -> dict[str, str]:
    """Its words; empty without a name. Raises Refused where no file has it."""
    if not name:
        return {}
    for path in _files():
        file = configparser.ConfigParser(allow_no_value=True, interpolation=None, strict=False, delimiters=("=",))
        try:
            file.read_string(path.read_text())
        except (OSError, configparser.Error, UnicodeDecodeError):
            continue
        if file.has_section(name):
            return {key: value or "" for key, value in file.items(name)}
    raise Refused(f"login_path {name!r} is no service of {' or '.join(map(str, _files()))}.")


def variables(stated: dict[str, str]) -> dict[str, str]:
    """What of it sysbench has no words for, as libpq reads it from the environment."""
    return {_VARIABLES[word]: value for word, value in stated.items() if value and word in _VARIABLES}


def _files() -> list[Path]:
    home = Path(os.environ.get("PGSERVICEFILE") or "~/.pg_service.conf")
    with suppress(RuntimeError):  # nobody's home
        home = home.expanduser()
    return [home, Path(os.environ.get("PGSYSCONFDIR") or "/etc/postgresql-common") / "pg_service.conf"]
