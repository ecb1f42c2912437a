"""An ssh that connects to no host: it runs the command here, or fails as ssh does."""

import contextlib
import gzip
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests import prefork

Fleet = Callable[..., subprocess.CompletedProcess[str]]
HONEST = gzip.decompress((Path(__file__).parents[1] / "judge/frozen/machine-ext4-virtio.json.gz").read_bytes())
_SSH = r"""#!/bin/sh
while [ "$1" != -- ]; do shift; done
case $2 in
    unknown*) echo 'Host key verification failed.' >&2; exit 255 ;;
    password*) echo 'root@password1: Permission denied (publickey,password).' >&2; exit 255 ;;
    gone*) echo 'ssh: connect to host gone1 port 22: Connection refused' >&2; exit 255 ;;
    dropped*) echo 'kex_exchange_identification: Connection closed by remote host' >&2; exit 255 ;;
    menu*) echo 'Welcome to the appliance. 1) status 2) reboot'; exit 0 ;;
    silent*) exec sleep 60 ;;
    forger*) set -- "$1" "$2" "$(printf %s "$3" | sed 's/"ready $place"/"ready .."/; s/say begin/say x; exit/')" ;;
    flood*) exec head -c 40000000 /dev/zero ;;
    chatty*) echo 'Last login: yesterday. {"schema": "fstui.run/2"}' ;;
esac
NODE=$2; export NODE
exec sh -c "$3"
"""


@pytest.fixture
def ssh(tmp_path: Path) -> str:
    """Return the command for ``--ssh``."""
    return str(program(tmp_path / "ssh", _SSH))


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """Return a program for ``--installed``, which prints a saved run."""
    (tmp_path / "honest.json").write_bytes(HONEST.strip() + b"\n")
    return str(program(tmp_path / "there", f"#!/bin/sh\ncat {tmp_path}/honest.json\n"))


@pytest.fixture
def carried(tmp_path: Path, installed: str) -> tuple[str, ...]:
    """Return the options that copy a file to the directory ``place`` on db1."""
    file = program(tmp_path / "carried.pyz", f'#!/bin/sh\nexec {installed} "$@"\n')
    return "--nodes", "db1", "--pyz", str(file), "--place", str(tmp_path / "place")


@pytest.fixture
def fleet(tmp_path: Path, ssh: str) -> Fleet:
    def call(*arguments: str, after: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        with contextlib.chdir(tmp_path):
            done = prefork.run("fleet", *arguments, "--ssh", ssh, *after)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path
