"""*not-durable, high confidence*

## What it means
A device-mapper target below the filesystem was told to answer writes and throw them away: dm-flakey with `drop_writes`,
which tests use, or dm-zero in the place of one segment of a volume. Or to alter them: dm-flakey with
`corrupt_bio_byte` of writes or `random_write_corrupt`.

## How it was measured
The feature stands in the target's line of the device-mapper table, and its down interval is not 0; or one line of
several is dm-zero, and the filesystem on it does not end before that one begins. Only root can read it.

## What it proves, and what not
It is certain that writes are lost or altered while the target is down, or in that segment, synced or not. In the
seconds that were measured they may all have arrived.

## What to do next
Load the table without that feature or dm-zero, and measure again.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.storage.layers.stacked.dm_tables import CORRUPTS_AT_RANDOM, CORRUPTS_BYTE, DROPS_PART

_DOWN = "while it is down"
_DROPPED = ("throw them away", "thrown away", "lost")
_SPOILT = ("alter them", "altered", "spoilt")


@rule(place=72)
def writes_dropped(case: Case) -> Iterator[Finding]:
    """A layer was told to answer writes and throw them away, or to alter them."""
    for target, told in case.configuration.dropping:
        spoils = told.value in (CORRUPTS_BYTE, CORRUPTS_AT_RANDOM)
        feature = told.value if spoils else "drop_writes"
        does, done, becomes = _SPOILT if spoils else _DROPPED
        how, when = ("dm-zero", "in that segment") if told.value == DROPS_PART else (f"dm-flakey with {feature}", _DOWN)
        yield Finding(
            rule="writes-dropped",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{target.name}: writes are {done}",
            sentence=f"{target.name} was told to answer writes and {does} ({how}): what is written {when} is "
            f"{becomes}, synced or not{case.arrivals.came_to_aside}.",
            because=(words.reading(target, told),),
            next=(f"Load its table without {how.removeprefix('dm-flakey with ')}, and measure again.",),
        )
