"""sshfs whose server is this very box, proved by the processes between."""

from __future__ import annotations

import pytest

from fstui.storage.layers.sources.claims import Answer, Claims, line
from fstui.storage.layers.sources.directories import seen_at
from fstui.storage.layers.sources.sockets import CONNECTIONS
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import edges, look

SOURCE = "root@127.0.0.1:/dev/shm/x"
TALK = """\
u_str ESTAB 0 0 * 353 * 354 users:(("sshfs",pid=10,fd=4))
u_str ESTAB 0 0 * 354 * 353 users:(("ssh",pid=11,fd=0),("ssh",pid=11,fd=4))
tcp ESTAB 0 0 127.0.0.1:40078 127.0.0.1:22 users:(("ssh",pid=11,fd=3))
tcp ESTAB 0 0 127.0.0.1:22 127.0.0.1:40078 users:(("sshd",pid=12,fd=4))
"""
PROGRAMS = {"10": "sshfs", "11": "ssh", "12": "sshd", "13": "sftp-server"}


@pytest.fixture(autouse=True)
def memory(box: Box) -> None:
    box.mount("tmpfs", "/dev/shm", "tmpfs")


def process(box: Box, number: str, program: str, parent: str, namespace: str = "mnt:[1]") -> None:
    box.link(f"/proc/{number}/exe", f"/usr/bin/{program}")
    box.write(f"/proc/{number}/stat", f"{number} ({program}) S {parent} " + " ".join(["0"] * 20))
    box.link(f"/proc/{number}/ns/mnt", namespace)
    box.link(f"/proc/{number}/root", "/")


def served(box: Box, source: str = SOURCE, namespace: str = "mnt:[1]", **programs: str) -> None:
    box.mount(source, "/srv", "fuse.sshfs", super_options="rw,user_id=0")
    for number, parent in (("self", "1"), ("10", "1"), ("11", "1"), ("12", "1"), ("13", "12")):
        program = programs.get(f"p{number}", PROGRAMS.get(number, "python"))
        process(box, number, program, parent, namespace if number == "13" else "mnt:[1]")
    box.write("/proc/10/cmdline", f"sshfs\0{source}\0/srv\0")


def told(talk: str = TALK, second: int = 1795448016) -> Claims:
    times = {"/srv": f"{second}.000000000", "/dev/shm/x": "1795448016.648079866"}
    seen = {line(seen_at(path)): Answer(output=f"12 {time} {time}\n") for path, time in times.items()}
    return {**seen, line(CONNECTIONS): Answer(output=talk)}


@pytest.mark.parametrize("source", [SOURCE, "localhost:/dev/shm/x", "a@[::1]:/dev/shm/x"])
def test_a_directory_in_memory_behind_this_boxs_own_sshd(box: Box, source: str) -> None:
    served(box, source)
    assert told().keys() <= {line(command) for command in commands(survey(box.root), root=True)}
    found = look(box, "/srv", told())
    assert "mount:/dev/shm" in edges(found)
    assert verdict(found).verdict == "not-durable"


@pytest.mark.parametrize("change", [
    {"source": "nas:/dev/shm/x"}, {"namespace": "mnt:[2]"}, {"p13": "ssh"}, {"p12": "socat"}, {"p11": "nc"},
], ids=["another box", "a container's", "a forced jump", "a forwarded port", "another client"])  # fmt: skip
def test_what_is_not_proved_to_be_ours_is_not_followed(box: Box, change: dict[str, str]) -> None:
    served(box, **change)
    assert edges(look(box, "/srv", told()))[f"remote:{change.get('source', SOURCE)}"] == ()


ANOTHER = """\
tcp ESTAB 0 0 127.0.0.1:40079 127.0.0.1:22 users:(("ssh",pid=11,fd=5))
tcp ESTAB 0 0 127.0.0.1:22 127.0.0.1:40079 users:(("haproxy",pid=77,fd=4))
"""
SECRET = "".join(TALK.splitlines(keepends=True)[:2])


@pytest.mark.parametrize("claims", [
    told(SECRET), told(second=1795448017), told(TALK + ANOTHER), {},
], ids=["out of sight", "modified at another time", "another server too", "not asked"])  # fmt: skip
def test_nor_where_an_end_is_not_seen(box: Box, claims: Claims) -> None:
    served(box)
    assert edges(look(box, "/srv", claims))[f"remote:{SOURCE}"] == ()


def test_each_that_may_be_the_mounts_must_end_here(box: Box) -> None:
    served(box)
    process(box, "20", "sshfs", "1")
    box.write("/proc/20/cmdline", f"sshfs\0-p\0002222\0{SOURCE}\0/mnt\0")
    assert edges(look(box, "/srv", told()))[f"remote:{SOURCE}"] == ()
