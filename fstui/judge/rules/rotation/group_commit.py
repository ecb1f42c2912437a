"""*no finding*

## What it means
Several writers that commit at once may share one flush and one turn of the disk. Together they beat the physical limit
honestly, while one writer alone does not.

## How it was measured
No rule judges the rate, the flushes or the bytes of a step with more than one writer: 8 writers share a flush among
two or so, and 16 writers on one block need only 0.51 to 0.72 of their bytes.

## What it proves, and what not
A high rate with many writers says nothing about honesty.

## What to do next
Judge durability by the steps with one writer, capacity by the others.
"""
