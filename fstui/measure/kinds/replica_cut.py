"""The sudden end of a primary server with a replica: which acknowledged transactions does each server have later?"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from fstui.measure.kinds import MAX_SECONDS, StepFigures
from fstui.measure.kinds.servers import KINDS, ReplicaPair, ServerSettings
from fstui.model.base import Amount, Count, Share
from fstui.model.settings import Amounts, Figures

Durability = Literal["high", "low"]
MAX_CLIENTS = 64
_BYTES_PER_S = 16 << 20
"""Growth of the logs of both servers at 20 000 small transactions per second."""
_IMAGE_COUNT = 3
"""The template of a server's filesystem, and a copy for each server."""


class ReplicaCut(ServerSettings, frozen=True, kw_only=True, tag="replica_cut"):
    """The replication, the durability of each server, and how the primary ends."""

    seconds: float = 2.0
    """How long the clients commit before the cut."""
    server: Literal["mariadb", "mysql"]
    replication: Literal["asynchronous", "semi-synchronous"] = "asynchronous"
    durability: Durability = "high"
    replica_durability: Literal["high", "low", "same"] = "same"
    sync_relay_log: int = 10_000
    """The replica syncs its relay log after this many events; 0: never. This is the default of both kinds of server."""
    cut: Literal["kill -9", "power cut", "power cut of both"] = "kill -9"
    clients: int = 4

    @property
    def pair(self) -> ReplicaPair:
        pair = KINDS[self.server].pair
        assert pair is not None
        return pair

    @property
    def effective_replica_durability(self) -> Durability:
        return self.durability if self.replica_durability == "same" else self.replica_durability

    @property
    def writers(self) -> int:
        return self.clients

    def amounts(self) -> Amounts:
        """Return estimates, because the servers decide what they write."""
        used_bytes = _IMAGE_COUNT * self.pair.used_bytes + int(self.seconds * _BYTES_PER_S)
        return Amounts(used_bytes + self.pair.used_bytes, used_bytes)

    def syncs(self, ops: int, timed_syncs: int, figures: Figures) -> int:
        """Count no syncs, because two servers share the devices and their clients share syncs."""
        return 0

    def mistakes(self) -> Iterator[str]:
        if not 0.1 <= self.seconds <= MAX_SECONDS:
            yield f"seconds must be between 0.1 and {MAX_SECONDS}, not {self.seconds}"
        if not 1 <= self.clients <= MAX_CLIENTS:
            yield f"clients must be between 1 and {MAX_CLIENTS}, not {self.clients}"


class ReplicaCutFigures(StepFigures, frozen=True, kw_only=True, tag="replica_cut"):
    """The acknowledgements that the client received, compared with what each server has after the recovery."""

    title: str = ""
    """``MariaDB 10.11.19``."""
    primary_settings: tuple[str, ...] = ()
    """The settings that decided durability before the cut: ``name = value``."""
    replica_settings: tuple[str, ...] = ()
    acknowledged: Count = 0
    on_primary: Count | None = None
    """Transactions of the primary after its recovery, acknowledged or not; None if it did not recover."""
    on_replica: Count | None = None
    """Transactions of the replica after it has applied all that it received. After a cut of both servers it starts
    without replication (``--skip-slave-start``) and applies nothing more."""
    lost_on_primary: Count = 0
    lost_on_replica: Count = 0
    lost_everywhere: Count = 0
    on_replica_alone: Count = 0
    """Transactions that only the replica has: the two servers have diverged."""
    gtid_primary: str = ""
    """Positions (MariaDB) or sets (MySQL) of global transaction identifiers."""
    gtid_replica: str = ""
    cpu_s: Amount | None = None
    cpu_share: Share | None = None
    host_cpu_share: Share | None = msgspec.field(default=None, name="box_cpu_share")

    @property
    def ops(self) -> int:
        return self.acknowledged

    @property
    def both_recovered(self) -> bool:
        return self.on_primary is not None and self.on_replica is not None

    @property
    def primary_is_durable(self) -> bool:
        """Whether commits survive a power cut with the primary's settings: all of them must be 1."""
        return bool(self.primary_settings) and all(setting.endswith(" = 1") for setting in self.primary_settings)
