import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOT_A_DISK = {"tmpfs", "ramfs", "overlay", "zfs", "nfs", "nfs4", "9p", "virtiofs"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.root)
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def workshop() -> Iterator[Path]:
    """Return an empty directory on a disk, for backing files and mount points. Every user may enter it."""
    for parent in (Path("/var/tmp"), Path("/tmp"), Path.cwd()):
        fstype = subprocess.run(["stat", "-f", "-c", "%T", parent], capture_output=True, text=True, check=True).stdout
        if fstype.strip() not in NOT_A_DISK:
            break
    else:
        pytest.skip("no directory on a disk: /var/tmp, /tmp and the checkout are all in memory or remote")
    directory = Path(tempfile.mkdtemp(prefix="fstui-tests-", dir=parent))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)
