"""*the second answer of every run: stalls, slow, normal or unknown*

## What it means
fstui compared the rates of synced writes with references for this storage.

- **stalls**: a synced or O_DIRECT write took at least 250 ms and ten times the median (p50), or never returned
- **slow**: one reference shows that at least half of the steps are slow
- **normal**: no reference shows slow, and one shows that most steps are normal
- **unknown**: otherwise, for example if the syncs may not be durable

## How it was measured
Only steps with one writer are compared. For each reference, a step is slow if its rate is below this limit, otherwise
normal:

- half of the slowest of your own references (`fstui references add`)
- half of the lower quartile of at least three saved runs like this one
- half of the slowest of 8 or more published rates for this class of device (`fstui references`); normal starts at the
  slowest rate itself
- one sync per ten revolutions, on a rotating disk
- 50 commits per second in the fastest step (the minimum for etcd), if the class of the device is unknown

If a sync needs extra flushes, copies or parity, the limits from published rates and revolutions are lower.

## What it proves, and what it does not
Slow storage may be durable, and normal storage may not be. If fstui finds a cause, the answer names it: an I/O limit,
other processes, a degraded stack, the network.

## What to do next
If the answer names a cause, remove it and run again. If not, look for used-up burst credits, SMR, thin provisioning,
and RAID5 that reads before it writes. If there is no reference, declare the medium, or run the scenario three times
while the system is healthy.
"""
