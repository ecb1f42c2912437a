"""What MySQL's own clients would take from the user's files: ~/.my.cnf, and the login paths of mysql_config_editor.

https://dev.mysql.com/doc/refman/8.4/en/option-files.html
"""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

from fstui.databases.connection import Tls
from fstui.model.errors import Refused

GROUP = "client"
_PRINTED = re.compile(r"--([\w-]+)=(.*)")


def options(login_path: str) -> dict[str, str]:
    """Names with ``_``: those of ``[client]``, then those of the group and of the login path of that name.

    Raises Refused where there is neither.
    """
    found, group = _from_file(GROUP), _from_file(login_path) if login_path else {}
    login = _from_login_path(login_path) if login_path else {}
    if login_path and login_path != GROUP and not group and not login:
        raise Refused(
            f"login_path {login_path!r} is no group of ~/.my.cnf, and no login path that my_print_defaults of MySQL "
            "(mysql-client) shows."
        )
    return {**found, **group, **login}


def tls(stated: dict[str, str]) -> Tls | None:
    """The three files, where all of them are named."""
    places = [str(Path(stated.get(name, "")).expanduser()) for name in ("ssl_ca", "ssl_cert", "ssl_key")]
    return Tls(ca=places[0], certificate=places[1], key=places[2]) if "." not in places else None


def _from_file(group: str) -> dict[str, str]:
    file = configparser.ConfigParser(allow_no_value=True, interpolation=None, strict=False)
    try:
        lines = (Path.home() / ".my.cnf").read_text().splitlines()
        file.read_string("\n".join(line for line in lines if not line.startswith("!include")))
        section = dict(file.items(group)) if file.has_section(group) else {}
    except (OSError, RuntimeError, configparser.Error, UnicodeDecodeError):
        return {}
    return {name.replace("-", "_"): (value or "").strip("\"'") for name, value in section.items()}


def _from_login_path(name: str) -> dict[str, str]:
    """As MySQL's own tool decrypts it; MariaDB's of the same name knows none."""
    tool = shutil.which("my_print_defaults")
    if tool is None:
        return {}
    words = [tool, "--no-defaults", f"--login-path={name}", "-s", name]
    try:
        told = subprocess.check_output(
            words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, timeout=15
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return {}
    printed = map(_PRINTED.fullmatch, told.splitlines())
    return {found[1].replace("-", "_"): found[2].strip("\"'") for found in printed if found}
