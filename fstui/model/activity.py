"""What runs on this host now: processes that write, and database servers."""

from fstui.model.base import Base


class ActiveWriter(Base, frozen=True, kw_only=True):
    pid: int
    name: str
    bytes_per_s: float
    mounts: tuple[str, ...] = ()
    """Mount points on which the process has files open for writing; empty if they cannot be read."""


class RunningDatabase(Base, frozen=True, kw_only=True):
    pid: int
    name: str
    kind: str
    data_directory: str = ""
    """The path that the server uses."""
    mounts: tuple[str, ...] = ()
    """The mount points of its data directory."""
    variables: dict[str, str] = {}
    """Settings that affect durability, from its command line. Option files and later changes are not included."""
    preloads: tuple[str, ...] = ()
    """Loaded libraries that skip syncs."""
    unsafe_settings: tuple[str, ...] = ()
    """Settings with which a commit may be lost."""
    readable: bool = True
    """False: only its owner and root can read its settings."""


class HostActivity(Base, frozen=True, kw_only=True):
    writers: tuple[ActiveWriter, ...] = ()
    """Sorted by bytes written per second, largest first."""
    databases: tuple[RunningDatabase, ...] = ()
    hidden: bool = False
    """The processes of other users could not be read."""
