"""*no finding*

## What it means
Several writers that commit at the same time may share one flush and one revolution of the disk. Together they honestly
exceed the physical limit, while one writer alone does not.

## How it was measured
No rule compares the rate, the flushes or the bytes of a step with more than one writer with a limit. On
real storage, 8 writers caused 0.45 to 0.7 flushes per sync. On a simulated 7200 rpm disk, 4 writers caused 0.50 and 16
writers 0.13. 16 writers that overwrite one block may write only 51 to 72 % of their bytes.

## What it proves, and what it does not
A high rate with many writers says nothing about durability.

## What to do next
Judge durability by the steps with one writer, and capacity by the others.
"""
