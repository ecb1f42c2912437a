"""*the second answer of every run: stalls, slow, normal or unknown*

## What it means
How long synced writes took, compared with a reference.

- **stalls**: a synced or O_DIRECT write took at least 250 ms and ten times the p50, or never returned
- **slow**: less than half of the reference rate
- **normal**: at least half of that rate, or all of it if it is a published rate
- **unknown**: no rate can be compared, the durability is in doubt, or the host had no CPU to spare

## How it was measured
The answer is slow if at least half of the steps with one writer are slow, and normal if more than half are normal. The
reference is, in this order:

- the slowest run of your own references (`fstui references add`)
- the lower quartile of at least three saved runs like this one
- the slowest of 8 or more published rates of its class (`fstui references`)
- the time of ten revolutions of a rotating disk: slower than that is slow

## What it proves, and what it does not
Slow storage may be durable, and normal storage may not be. The answer names other causes: I/O limits, other
processes, a degraded stack, a network, no CPU.

## What to do next
Lift the limit, or measure while the other processes are idle. If no cause is found, look for burst credits, SMR, thin
provisioning and RAID5 read-modify-write. Without a reference, declare the medium, or run the scenario three times while
the system is healthy, to record a baseline.

## Details
If the class is unknown, the fastest step decides: below 50 commits per second, the minimum for etcd, the storage is
slow, else normal. Extra flushes and copies of a filesystem lower the limits.
"""
