"""*the second answer of every run: stalls, slow, normal or unknown; no verdict, and no part of one*

## What it means
**stalls**: an operation took 250 ms or more, which no sound storage does to one writer, or had not returned at all. On
what is known to be no rotating disk, a tenth of a second is enough where it is ten times the p50. **slow**: less than
half of the slowest that it is held against. **normal**: it is as what it is held against. **unknown**: there is nothing
to hold it against, or the box had no CPU to spare. `--fail-on slow` asks for stalls and slow.

## How it was measured
By the synced writes of one writer, half of the steps or more. The answer names its yardstick: what this storage did
before (three saved runs or more of the same scenario, settings, stack and box; below half of their lower quartile is
slow), what was published of its class (`fstui references`, eight or more durable writes; for each flush that the
filesystem is expected to send, and for copies on write), the turns of a disk (ten for one durable write). Two more only
say slow: where the class is not known, half of the slowest durable write published on any; and an I/O limit of its
cgroup that is met, where it allows fewer writes a second than a disk of 5400 rpm turns. What else may hold it up is
read beside: I/O limits of the cgroup that are met, a device that others kept busy while fstui did nothing, flushes of
others during the step, a stack that mends itself, a network.

## What it proves, and what not
Slow is no lie, and normal no honesty: neither answer has a part in the other. Where something else holds it up, that is
said and the disk is not blamed. Time without a CPU (`/proc/self/schedstat`, what a hypervisor took: `/proc/stat`) makes
the answer unknown where it is half of a stall, or a tenth of a slow step and can explain that one. Runs that met an I/O
limit are not held against others. Seconds are no week: bursts and credits outlast them.

## What to do next
Lift the limit, or measure when the others are quiet; `fstui watch` names them, and says whether the device itself or
the filesystem takes the time. Where nothing is known, declare the medium, or run the same three times in good days.
"""
