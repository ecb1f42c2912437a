"""*the second answer of every run: stalls, slow, not slow or unknown*

## What it means
fstui compared the rates of synced writes with references for this storage.

- **stalls**: a synced or O_DIRECT write took at least 250 ms and at least ten times the median (p50), or never
  returned
- **slow**: by at least one reference, half of the steps or more are slow
- **not slow**: neither, and by at least one reference, most steps are not slow
- **unknown**: otherwise, for example if CPU was short or syncs may skip the disk

## How it was measured
Only steps with one writer are compared. A step is slow if its rate is below the limit of a reference:

- half of the slowest of your own references (`fstui references`)
- half of the lower quartile of at least three earlier runs of this scenario
- half of the slowest of 8 or more published rates for this class of device (exception: a rate between this limit and
  the slowest rate counts as neither)
- one sync per ten revolutions, on a rotating disk
- 50 commits per second in the fastest step (the minimum for etcd), if the class of the device is unknown

If a sync needs extra flushes, copies or parity, the limits from published rates and revolutions are lower.

## What it proves, and what it does not
Speed says nothing about durability. The answer names a known cause, such as an I/O limit or other processes.

## What to do next
If the answer names a cause, remove the cause and run again. If not, look for used-up burst credits, SMR, thin
provisioning, and RAID5 that reads before it writes. If there is no reference, declare the medium, or run the scenario
three times while the system is healthy.
"""
