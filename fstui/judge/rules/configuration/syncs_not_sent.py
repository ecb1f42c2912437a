"""*not-durable, high confidence*

## What it means
The filesystem was told to answer syncs by itself. A share that is mounted with `nostrictsync`: the client sends the
data at an fsync, and does not ask the server to flush it. bcachefs with `journal_flush_disabled`: the data is written,
and the journal that finds it again a second later. f2fs with `checkpoint=disable`: a power cut takes it back to where
it was when it was mounted so. An md array with a partial parity log: it answers a flush
at once, and flushes its members later.
A bcache that writes back to a cache with `synchronous` 0: the next start throws away what is in it.

## How it was measured
The option stands in `/proc/self/mountinfo`. CIFS had it by default before Linux 5.4; bcachefs shows it wherever it was
set (fs/bcachefs/opts.h: "writes can be lost").

## What it proves, and what not
It is certain that no flush, or no commit, is asked for. A server that flushes every write by itself (`strict sync`
with `sync always` of Samba) may still keep it all.

## What to do next
Mount without the option. Of a share: run fsync-rate on the machine that holds the data.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding


@rule(place=80)
def syncs_not_sent(case: Case) -> Iterator[Finding]:
    """The filesystem was told to answer syncs by itself."""
    for filesystem, unsent in case.configuration.unsent:
        yield Finding(
            rule="syncs-not-sent",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{unsent.how} {unsent.option}: no {unsent.misses} is asked for",
            sentence=f"{filesystem.name} is {unsent.how} with {unsent.option}: an fsync there {unsent.means}, so it is "
            f"answered before anything is known to be on a disk{case.arrivals.came_to_aside}.",
            because=(words.reading(filesystem, unsent.told),),
            next=(unsent.undo,),
        )
