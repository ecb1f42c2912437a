"""Block devices that a program or another box answers for: Ceph's rbd, RNBD, ATA over Ethernet; ublk on this one.

Each is request-based, so its flushes are counted; where the other side states no volatile cache, the kernel sends none.
rbd: the kernel's client states none and has none, ``rbd_cache`` is
librbd's; a write is answered once it is on disk on all replicas, by Ceph's word (librbd Settings). rnbd: its server's
answer to open (drivers/block/rnbd/rnbd-clt.c). aoe: none is ever stated, and only reads and writes are sent; it calls
everything rotational (drivers/block/aoe/aoeblk.c, aoecmd.c; ABI, sysfs-block-aoe: ``etherd*``). ublk:
UBLK_ATTR_VOLATILE_CACHE; what its server does with a flush is its own affair (include/uapi/linux/ublk_cmd.h).
"""

from fstui.storage.layers.devices.disk import Drive

KINDS = (
    *(
        Drive(name=name, layer="block", device_names=names, counts_flushes=True, networked=True)
        for name, names in (("rbd", "rbd"), ("rnbd", "rnbd"), ("aoe", "etherd!e"))
    ),
    Drive(name="ublk", layer="block", device_names="ublkb", counts_flushes=True),
)
