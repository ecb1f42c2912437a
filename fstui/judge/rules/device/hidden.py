"""Layers and devices that hide what a sync does."""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import CACHE_PER_S
from fstui.judge.facts.stack import Stack
from fstui.model.quantities import count
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices import platforms
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.filesystems import remote


@rule(order=90)
def remote_filesystem(case: Case) -> Iterator[Conclusion]:
    """* plausible, low confidence: the protocol (NFS) defines, or the provider documents, what a sync guarantees
    * cannot-tell, medium confidence: in all other cases

    ## What it means
    Another machine, or a user-space program on this host, handles the sync (NFS, SMB, 9p, virtiofs, FUSE). This host
    cannot see whether the data is stored when the sync returns.

    ## How it was measured
    fstui read the type and the options of the mount. For NFS, it also read the number of COMMIT calls in
    `/proc/self/mountstats`.

    ## What it proves, and what it does not
    The result proves nothing about the storage. The NFS protocol requires that the data is on stable storage before the
    server replies to a COMMIT or a stable write. This host cannot check whether the server obeys.

    ## What to do next
    Run fsync-rate on the machine that stores the data. On an NFS server, `exportfs -v` must show `sync`.

    ## Details
    - If the client sent no COMMIT, that alone proves nothing: the client may have sent small writes as stable writes.
    - If a FUSE program does not implement fsync, the kernel still reports success.
    - The verdict is "plausible" only if fstui measured syncs, and their rate was at most 100 000 per second.
    """
    filesystem = _remote_filesystem(case.stack)
    if filesystem is None or case.configuration.breaks_sync:
        return
    server, counts = kind(filesystem.kind).served_by, tuple(_commit_counts(case, filesystem))
    service = platforms.service(filesystem.kind, next(node.name for node in case.stack.children(filesystem)))
    documented = service.documented_durability if service and _may_be_durable(case) else None
    label = words.label(filesystem)
    explanation = (
        f"A sync on {label} is handled by {server}. This host cannot see whether the data is stored when the sync "
        "returns."
    )
    if documented:
        explanation = f"{label} is served from elsewhere. {documented}. This host cannot check that."
    yield Conclusion(
        title=f"{filesystem.kind}: {server} handles syncs",
        sentence=f"{explanation}{_commits_clause(counts)}",
        verdict="plausible" if documented else "cannot-tell",
        confidence="low" if documented else "medium",
        steps=(step for step, _, _ in counts),
        evidence=(
            *(words.reading(filesystem, reading) for what in remote.OPTIONS if (reading := filesystem.reading(what))),
            *(f"{step.name}: {count(commits)} COMMITs for {count(syncs)} syncs" for step, syncs, commits in counts),
            *((f"documented: {service.source}",) if service and documented else ()),
        ),
        next=(
            service.how_to_check if service else kind(filesystem.kind).advice,
            *(() if documented else (words.UNTIL_THEN,)),
        ),
    )


def _may_be_durable(case: Case) -> bool:
    """Return whether syncs were measured, and none was faster than a server can be."""
    fastest = case.costs.fastest_synced
    return bool(case.steps.synced) and (fastest is None or fastest.rate_per_s <= CACHE_PER_S)


def _remote_filesystem(stack: Stack) -> Node | None:
    servers = {node.id for node in stack.nodes if node.layer == "remote"}
    return next((node for node in stack.nodes if servers.intersection(node.below)), None)


def _commit_counts(case: Case, filesystem: Node) -> Iterator[tuple[Step, int, int]]:
    """Yield each synced step whose COMMITs were counted, with its number of syncs and of COMMITs."""
    for write_step in case.steps.synced:
        counters = write_step.step.device(filesystem.id)
        if counters and counters.commits is not None:
            yield write_step.step, write_step.syncs, counters.commits


def _commits_clause(commit_counts: tuple[tuple[Step, int, int], ...]) -> str:
    if not commit_counts:
        return ""
    steps, syncs, commits = zip(*commit_counts, strict=True)
    clause = f" {count(sum(syncs))} syncs sent {count(sum(commits))} COMMITs in {words.time_measured(steps)}"
    return f"{clause}{'.' if any(commits) else ': the writes were requested as stable, or the syncs were not sent.'}"


@rule(order=91)
def unknown_layer(case: Case) -> Iterator[Conclusion]:
    """*cannot-tell, medium confidence*

    ## What it means
    fstui does not know a filesystem or device of the stack, or a setting of it. Or fstui cannot find the filesystem
    that holds the backing file of a loop device. That file may be in memory. fstui cannot compare the flushes and bytes
    below such a layer with those above the layer.

    Settings that fstui does not judge: the mount option `sync`, `chattr +S`, write-behind of an md array or a
    dm-raid, a dm-writecache in the mode `cleaner` or `metadata_only`, a snapshot that is being merged, and a
    device-mapper device of several targets, such as `striped` and `error`.

    ## How it was measured
    fstui read the types of mounted filesystems, the names of block devices and the device-mapper targets. For a loop
    device, it looked for a mounted filesystem with the device number of the backing file (`losetup` shows the file).

    ## What it proves, and what it does not
    The finding is no sign of a fault: the layer may be durable. fstui still reports faults above the layer, such as
    barriers that are off.

    ## What to do next
    If another host stores the data, run fstui there. Otherwise run a power-cut test (`fstui powercut`).
    """
    unknown = case.stack.unknown_layers
    if case.configuration.breaks_sync:
        return
    yield from _files_without_filesystem(case.stack)
    if not unknown:
        return
    settings = [(node, kind(node.kind).unsupported_setting(node)) for node in unknown]
    kinds = [f"{node.kind} with {setting.what} {setting.value}" if setting else node.kind for node, setting in settings]
    names = words.join_words(dict.fromkeys(f"{name} ({node.name})" for name, node in zip(kinds, unknown, strict=True)))
    sentence = f"fstui does not know the {'layers' if unknown[1:] else 'layer'} {names}, nor what a sync does there."
    has_only_settings = all(setting for _, setting in settings)
    if has_only_settings:
        sentence = f"fstui cannot judge {names}: with this setting, it does not know which flushes to expect."
    yield Conclusion(
        title=f"{kinds[0]}: a {'setting' if has_only_settings else 'layer'} that fstui does not know",
        sentence=sentence,
        verdict="cannot-tell",
        confidence="medium",
        evidence=(
            *(words.reading(node, setting) if setting else f"{node.id}: {node.kind}" for node, setting in settings),
            *(line for node in unknown for line in words.readings(node, "missing")),
        ),
        next=(
            *(("Change the setting, then run again.",) if any(setting for _, setting in settings) else ()),
            *words.provider_advice(unknown),
            "If another host stores the data, run fstui there.",
            words.CUT_THE_POWER,
            words.UNTIL_THEN,
        ),
    )


def _files_without_filesystem(stack: Stack) -> Iterator[Conclusion]:
    """Yield a conclusion about files of loop devices whose filesystem is not known, so that it may be in memory."""
    files = [node for node in stack.written_layers if node.layer == "file" and not node.below]
    if files:
        names = words.join_words(node.name for node in files)
        yield Conclusion(
            title=f"{names}: a file whose filesystem is not known",
            sentence=f"Flushes end at {names}, in a filesystem that is not mounted here and may be in memory.",
            verdict="cannot-tell",
            confidence="medium",
            evidence=(f"{node.id}: {node.reason}" for node in files),
            next=(
                "Run fstui where that file is mounted: on the host, or in the container that set the device up.",
                words.UNTIL_THEN,
            ),
        )


@rule(order=20)
def usb_bridge(case: Case) -> Iterator[Conclusion]:
    """*cannot-tell, medium confidence*

    ## What it means
    A USB bridge reports that the disk has no write cache, so the kernel sends no flush. Many bridges report this even
    if the drive has a write cache.

    ## How it was measured
    fstui read `queue/write_cache`, and the path of the device in /sys, which names the USB port. The bridge's name
    comes from its USB descriptors.

    ## What it proves, and what it does not
    The bridge's report proves nothing: some bridges report correctly, others do not.

    ## What to do next
    Query the drive itself: `hdparm -W DEVICE`, or `smartctl -d sat -g wcache DEVICE` through the bridge. Or connect the
    drive without the bridge, and run again.
    """
    bridged = [
        node for node in case.stack.lowest if link(node.link).hides_drive and node.write_cache == "write through"
    ]
    if bridged and not case.configuration.breaks_sync and not case.rotation.syncs_reach_platters:
        where = words.devices(bridged)
        yield Conclusion(
            title=f"{where}: a USB bridge hides the drive's cache",
            sentence=f"A USB bridge in front of {where} reports no write cache, so the kernel sends no flush. Many "
            "bridges do not pass on what the drive reports, so fstui cannot tell whether a sync is durable.",
            verdict="cannot-tell",
            confidence="medium",
            evidence=(
                line for node in bridged for line in (words.write_cache(node), *words.readings(node, "usb_bridge"))
            ),
            next=(
                "Query the drive itself: 'hdparm -W DEVICE', or through the bridge 'smartctl -d sat -g wcache DEVICE'.",
                "Connect the drive without the bridge and run again.",
                words.UNTIL_THEN,
            ),
        )
