"""*a note: it does not change the verdict*

## What it means
No rule could judge the storage, because the evidence is absent or contradictory. The verdict is "cannot-tell".

## How it was measured
In most cases, the steps ran and their syncs returned, and both of these are true:

- fstui could count no flush, or expected none.
- Neither the device nor the provider nor the protocol states what happens to an acknowledged write.

## What it proves, and what it does not
The note says what is known, and names one fact that is missing. The storage may still be durable.

## What to do next
The note names the command that shows the missing fact, and the machine on which to run it. Until then, do not
rely on this storage alone.
"""
