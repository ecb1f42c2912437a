"""*a note*

## What it means
No rule could judge the storage: the evidence is absent or contradictory. The verdict is cannot-tell.

## How it was measured
The steps ran and their syncs returned, but no flush could be counted, or none was needed, and no device, provider or
protocol states what it does with an acknowledged write.

## What it proves, and what it does not
The note says what is known and the one thing that is missing. The storage may be as durable as any other.

## What to do next
The note names the machine and the command that can supply the missing fact. Until then, do not rely on this storage
alone.
"""
