"""Perform one request on many hosts: copy fstui.pyz to the hosts that need it, run it, save the documents."""

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from fstui.fleet import remote, results, ssh
from fstui.fleet.remote import Request
from fstui.fleet.results import About, Fleet, HostResult, results_of
from fstui.fleet.ssh import Fanout, SshResult, local_command
from fstui.model.errors import Refused, local_time

FIND_TIMEOUT_S = 30.0
"""Time limit of the search for fstui.pyz. It is short, because copying starts only after the search on all hosts."""
_STOPPED = "stopped before fstui connected to it"
_COMPLETE_EXITS = ("0", "1", "3", "129", "130", "143")
"""Exit statuses with which fstui has printed a complete document."""
_MAX_PATH = 4096
_RUN_ID = re.compile("[0-9a-z]{1,32}")
"""Valid run ids. An id comes from a document of the host, and the script of ``clean`` uses it in a file name."""


class FleetJob:
    def __init__(
        self,
        request: Request,
        nodes: Iterable[str],
        into: Path | None,
        file: Path | None,
        on_answer: Callable[[str, str], object],
    ) -> None:
        """``into``: the directory for the results. ``file``: fstui.pyz; None if the hosts have fstui. ``on_answer`` is
        called for each host with its name and a short text about its result. Raises Refused."""
        self._request = request
        self._file = file
        self._digest = _digest(file) if file else ""
        self.directory = results.create_directory(into)
        self._mark = f"fstui-fleet-{secrets.token_hex(8)}"  # tells the lines of fstui's script from other output
        self._directories: dict[str, str] = {}
        """The directory with fstui.pyz on each host; empty if the host has fstui."""
        self._nodes_without_file: list[str] = []
        self._began_s = time.monotonic()
        self._started_at = local_time().isoformat(timespec="seconds")
        self._on_answer = on_answer
        self._nodes = tuple(nodes)
        self._results: list[HostResult] = []
        self._troubles: dict[str, str] = {}
        self._remarks: dict[str, str] = {}
        """As in ``About``: why a host returned no document, and how a command with a document failed."""
        self.max_leftover_bytes = 0
        """The maximum number of bytes that fstui.pyz and its unpacked files occupy on one host after the run."""
        self.fanout = Fanout(request)

    def run(self) -> Fleet:
        """Perform the request on all hosts and save their documents in the directory. Raises OSError."""
        request, mark, digest = self._request, self._mark, self._digest
        if request.installed:
            self._directories = dict.fromkeys(self._nodes, "")
        else:
            find_command = local_command(request, remote.find_script(request, mark, digest))
            timeout_s = min(FIND_TIMEOUT_S, request.timeout_s)
            self.fanout.run(dict.fromkeys(self._nodes, find_command), self._on_search_answer, timeout_s=timeout_s)
            copy_command = local_command(request, remote.receive_script(request, mark, digest), self._file)
            commands = dict.fromkeys(self._nodes_without_file, copy_command)
            self.fanout.run(commands, self._on_copy_answer, timeout_s=request.timeout_s)
        places = set(self._directories.values())
        by_place = {place: local_command(request, remote.run_script(request, mark, digest, place)) for place in places}
        commands = {node: by_place[place] for node, place in self._directories.items()}
        self.fanout.run(commands, self._on_run_answer, timeout_s=request.timeout_s)
        return self._save_fleet()

    def _fail(self, node: str, reason: str) -> None:
        self._troubles[node] = reason
        self._on_answer(node, reason)

    def _on_search_answer(self, node: str, answer: SshResult) -> None:
        if not ssh.trouble(answer, self._mark) and answer.value_of(self._mark, "copy") is not None:
            self._nodes_without_file.append(node)
        else:
            self._on_copy_answer(node, answer)

    def _on_copy_answer(self, node: str, answer: SshResult) -> None:
        place = answer.value_of(self._mark, "ready") or ""
        if trouble := ssh.trouble(answer, self._mark):
            self._fail(node, trouble)
        elif place.startswith("/") and len(place) < _MAX_PATH:
            self._directories[node] = place
        else:
            self._fail(node, "its output cannot be parsed")

    def _on_run_answer(self, node: str, answer: SshResult) -> None:
        document = answer.document(self._mark)
        trouble = "" if document and answer.code == 0 else ssh.trouble(answer, self._mark)
        if not trouble and not document:
            trouble = ssh.refusal(answer, self._mark)
        if trouble or document is None:
            self._fail(node, trouble)
            return
        try:
            host_results = results_of(node, self._request.command, document)
        except Refused as refusal:
            self._fail(node, f"its output is not a document: {str(refusal)[:200]}")
            return
        results.save_document(self.directory, node, document)
        kib_left = answer.value_of(self._mark, "stays") or ""
        if kib_left.isdecimal() and len(kib_left) < 12:
            self.max_leftover_bytes = max(self.max_leftover_bytes, int(kib_left) << 10)
        self._results += host_results
        if not host_results or answer.value_of(self._mark, "end") not in _COMPLETE_EXITS:
            self._remarks[node] = ssh.refusal(answer, self._mark)
        self._on_answer(node, ", ".join(dict.fromkeys(host.verdict or host.sentence for host in host_results)))

    def _save_fleet(self) -> Fleet:
        answered = {host.node for host in self._results} | self._remarks.keys() | self._troubles.keys()
        about = About(
            command=self._request.command,
            arguments=self._request.arguments,
            started_at=self._started_at,
            elapsed_s=time.monotonic() - self._began_s,
            fanout=self._request.fanout,
            nodes=self._nodes,
            troubles=self._troubles | {node: _STOPPED for node in self._nodes if node not in answered},
            remarks=self._remarks,
        )
        results.save_about(self.directory, about)
        return Fleet(about=about, results=tuple(self._results))


def clean(request: Request, fleet: Fleet, fanout: Fanout, on_answer: Callable[[str, str], object]) -> dict[str, str]:
    """Remove what the request left on each host. Return the hosts where that failed, and why."""
    mark = f"fstui-fleet-{secrets.token_hex(8)}"
    troubles: dict[str, str] = {}

    def on_cleaned(node: str, answer: SshResult) -> None:
        trouble = ssh.trouble(answer, mark)
        if not trouble and answer.value_of(mark, "end") != "0":
            trouble = "its output was cut short"
        if trouble:
            troubles[node] = trouble
        on_answer(node, trouble or "removed")

    commands = {}
    for node in fleet.about.nodes:
        runs = [host.run for host in fleet.results if host.node == node and _RUN_ID.fullmatch(host.run)]
        commands[node] = local_command(request, remote.clean_script(request, mark, runs))
    fanout.run(commands, on_cleaned, timeout_s=request.timeout_s)
    return troubles


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            # by default, the file is in the working directory, where another user may have put it
            if os.fstat(content.fileno()).st_uid not in (0, os.geteuid()):
                raise Refused(f"--pyz {file}: it belongs to another user, and every host would run it. Copy it first")
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Refused(f"cannot read --pyz {file}: {error.strerror}") from None
