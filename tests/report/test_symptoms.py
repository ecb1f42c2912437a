import inspect
import re

import pytest

from fstui.cli.commands import COMMANDS
from fstui.judge.fitness import products
from fstui.report import symptoms
from fstui.trace import conclusion

PAGES = symptoms.symptoms().page
LINES = {
    "slow fdatasync": [
        '{"level":"warn","ts":"2024-02-07T10:32:51.123Z","caller":"wal/wal.go:802","msg":"slow fdatasync",'
        '"took":"2.331012521s","expected-duration":"1s"}',
        "2020-10-21 09:56:00.246542 W | wal: sync duration of 1.363283431s, expected less than 1s",
    ],
    "apply request took too long": [
        '{"level":"warn","ts":1527101858.6985068,"caller":"etcdserver/util.go:115","msg":"apply request took too long",'
        '"took":0.114101529,"expected-duration":0.1,"prefix":"","request":"header:<ID:102> put:<key:\\"a\\">"}',
        '2020-10-21 09:56:00.246542 W | etcdserver: read-only range request "key:\\"/kubernetes.io/x\\" " with result '
        '"range_response_count:1 size:407" took too long (113.372697ms) to execute',
    ],
    "failed to send out heartbeat on time": [
        "etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 1.220602923s, to d35e0)",
        '{"level":"warn","caller":"etcdserver/raft.go:370","msg":"failed to send out heartbeat; took too long, server '
        'is overloaded likely from slow disk","heartbeat-interval":0.1}',
        '{"level":"warn","msg":"waiting for ReadIndex response took too long, '
        'retrying","retry-timeout":"500ms"}',
    ],
    "Slow SQL (started": [
        'Apr 20 13:02:36 n1 k3s[84782]: time="2023-04-20T13:02:36+02:00" level=info msg="Slow SQL (started: 2023-04-20 '
        '13:02:33.99 +000 CEST m=+15.1) (total time: 2.104021479s): INSERT INTO kine(name, created) values(?, ?)"',
    ],
    "checkpoint complete … sync=": [
        "2024-06-02 12:04:45.933 UTC [1340363] LOG:  checkpoint complete: wrote 1249077 buffers (41.4%); 0 WAL file(s) "
        "added, 0 removed, 1308 recycled; write=1620.047 s, sync=13.123 s, total=1626.893 s; sync files=345, "
        "longest=0.908 s, average=0.001 s; distance=21429735 kB, estimate=21429735 kB",
    ],
    "fsyncgate": [
        '2018-04-10 12:00:00 UTC [731] PANIC:  could not fsync file "base/16384/16397": Input/output error',
        "2021-09-26T11:22:17.825250Z 0 [ERROR] [MY-013622] [InnoDB] [FATAL] fsync() returned EIO, aborting.",
        "fsyncgate",
        "2020-10-26T06:37:27.812+0000 E STORAGE [WTCheckpointThread] WiredTiger error (5) "
        "[1603694247:811274][1:0x7ff529c6f700], file:collection-16.wt, WT_SESSION.checkpoint: __posix_sync, "
        "108: /data/db/collection-16.wt: handle-sync: fdatasync: Input/output error",
        "2020-07-22T13:33:34.368+0000 E STORAGE [initandlisten] WiredTiger error (5) "
        "[1595424814:368735][10:0x7f8e55ec5dc0], connection: /data/db/: directory-sync: fdatasync: I/O error",
        "1:M 07 May 2024 13:32:54.017 # Can't persist AOF for fsync error when the AOF fsync policy is "
        "'always': Input/output error. Exiting...",
        "030802 20:01:18  InnoDB: Error: the OS said file flush did not succeed",
        "2026-04-06 19:40:15 0 [ERROR] InnoDB: Operating system error number 5 in a file operation.",
    ],
    "Asynchronous AOF fsync is taking too long": [
        "25201:M 07 May 2024 13:32:54.017 * Asynchronous AOF fsync is taking too long (disk is busy?). Writing the AOF "
        "buffer without waiting for fsync to complete, this may slow down Redis.",
    ],
    "fsync-ing the write ahead log": [
        "2017-02-10 18:55:46,382 [myid:3] - WARN  [SyncThread:3:FileTxnLog@338] - fsync-ing the write ahead log in "
        "SyncThread:3 took 1062ms which will adversely effect operation latency. See the ZooKeeper guide",
        "sync: fsync-ing the write ahead log took",
    ],
    "disk stall detected": [
        "F240502 03:12:07.102 88 kv/kvserver/store.go ⋮ [n3] 7 disk stall detected: pebble unable to write to "
        "‹/mnt/data1/cockroach/000042.log› in 20.31 seconds",
        "F240502 03:12:07 file write stall detected: unable to sync log files within 20s",
        "INFO [n7,s7,pebble] disk slowness detected: syncdata on file /cockroach/data/000003.log has been "
        "ongoing for 5.2s",
    ],
    "timed out enqueuing operation": [
        '2025-01-09T10:00:00Z [ERROR] agent.server: failed to wait for barrier: error="timed out enqueuing operation"',
    ],
    "serverStatus was very slow": [
        '{"t":{"$date":"2023-09-11T17:00:08.133+00:00"},"s":"I","c":"COMMAND","id":20499,"ctx":"ftdc",'
        '"msg":"serverStatus was very slow","attr":{"timeStats":{"after basic":0,"at end":1095}}}',
    ],
    "health check of … took … above the warn threshold": [
        "[2026-02-12T21:51:51,711][WARN ][o.o.m.f.FsHealthService  ] [wazuh-indexer-0] health check of "
        "[/var/lib/wazuh-indexer/nodes/0] took [5806ms] which is above the warn threshold of [5s]",
        "[WARN ][o.e.g.PersistedClusterStateService] [node-1] writing cluster state took [12623ms] which is "
        "above the warn threshold of [10s]; wrote full state with [7] indices",
    ],
    "Error while flushing log for": [
        "[2024-03-01 10:00:00,000] ERROR Error while flushing log for orders-0 in dir /data/kafka with offset 4711 "
        "(kafka.server.LogDirFailureChannel) java.io.IOException: Input/output error",
    ],
    "page_cleaner: 1000ms intended loop took": [
        "2016-12-13T10:51:39.909382Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 4013ms. The settings "
        "might not be optimal. (flushed=1438 and evicted=0, during the time.)",
    ],
    "O_DIRECT_NO_FSYNC": ["innodb_flush_method = O_DIRECT_NO_FSYNC"],
    "FSYNCS/SECOND": ["FSYNCS/SECOND:     39.18"],
    "cache=unsafe": [
        "-drive file=/var/lib/images/vm1.qcow2,format=qcow2,if=none,id=drive-virtio0,cache=unsafe,aio=io_uring",
        "<driver name='qemu' type='qcow2' cache='unsafe'/>",
    ],
    "slow operation observed for": [
        "2022-02-10T16:20:23.310+0000 7fc34e229700  0 bluestore(/var/lib/ceph/osd/ceph-40) log_latency_fn slow "
        "operation observed for _txc_committed_kv, latency = 6.485089964s, txc = 0x55d96303af00",
        "Health check failed: 12 slow ops, oldest one blocked for 174 sec, daemons [osd.2,osd.3] have slow ops.",
    ],
    "task … blocked for more than … seconds": [
        "[ 5800.688705] INFO: task jbd2/sdf1-8:667 blocked for more than 120 seconds.",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    ],
    "Buffer I/O error on dev": [
        "[46305.392387] Buffer I/O error on dev sdc1, logical block 1061, lost async page write",
        "[46305.386143] blk_update_request: I/O error, dev sdc, sector 10536 op 0x1:(WRITE) flags 0x800 phys_seg 1",
        "Jun 01 12:00:00 h kernel: I/O error, dev nvme0n1, sector 1234 op 0x1:(WRITE) flags 0x8800 phys_seg 2",
        "EXT4-fs warning (device sda1): ext4_end_bio:343: I/O error 10 writing to inode 12 starting block 5)",
        "kernel: [28599.006255] JBD2: Detected IO errors while flushing file data on sdb-8",
        "fedora kernel: BTRFS error (device sdc1): bdev /dev/mapper/2024-06-8tb-b errs: wr 1, rd 0, flush 1, "
        "corrupt 0, gen 0",
    ],
    "I/O error, dev": [
        "I/O error, dev sda, sector 5",
        "[46305.386143] blk_update_request: I/O error, dev sdc, sector 10536",
    ],
    "Currently unreadable (pending) sectors": [
        "smartd[812]: Device: /dev/sdb [SAT], 8 Currently unreadable (pending) sectors",
        "smartd[812]: Device: /dev/sdb [SAT], 1 Offline uncorrectable sectors",
        "critical medium error, dev sdb, sector 1",
    ],
    "Disk failure on … disabling device": [
        "md/raid1:md0: Disk failure on sdb1, disabling device.",
        "multipathd: sdb: mark as failed",
        "[Wed Aug 12 09:52:16 2026] device-mapper: multipath: Failing path 8:32.",
    ],
    "Buffer I/O error on dev … async page read": [
        "[  301.1] Buffer I/O error on dev sdb, logical block 0, async page read",
        "[  301.0] blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1",
        "kernel: I/O error, dev nvme0n1, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
        "critical medium error, dev sda, sector 781 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
    ],
    "No space left on device": [
        "cp: error writing '/srv/x': No space left on device",
        'PANIC:  could not write to file "pg_wal/xlogtemp.8": No space left on device',
        "panic: wal: failed to write: errno ENOSPC",
        "[ERROR] InnoDB: Disk is full writing './ibtmp1'",
    ],
    "Remounting filesystem read-only": [
        "kernel: [12345.678] EXT4-fs error (device sda1): ext4_journal_check_start:83: comm mysqld: Detected aborted "
        "journal",
        "[12345.679] EXT4-fs (sda1): Remounting filesystem read-only",
        "EXT4-fs error (device sda1): ext4_find_entry:1450: inode #2: comm ls: reading directory lblock 0",
        "XFS (dm-3): log I/O error -5",
        "touch: cannot touch '/srv/x': Read-only file system",
        "kernel: WARNING: Pool 'firstpool' has encountered an uncorrectable I/O failure and has been "
        "suspended.",
    ],
    "nvme … timeout, aborting": [
        "[  614.172351] nvme nvme0: I/O 831 QID 5 timeout, aborting",
        "kernel: nvme nvme1: I/O tag 17 (0011) opcode 0x1 (Write) QID 6 timeout, completion polled",
    ],
    "Fsync log took a long time": [
        "W0707 10:11:12.123456 2481 log.cc:967] Time spent Fsync log took a long time: real 1.223s user 0.000s",
    ],
    "failed command: FLUSH CACHE": [
        "[ 1605.689789] ata4.00: failed command: FLUSH CACHE EXT",
        "[  246.745562] ata2.00: failed command: WRITE FPDMA QUEUED",
        "[6411193.034110] ata1: hard resetting link",
        "sd 0:0:0:0: [sda] Synchronize Cache(10) failed: Result: hostbyte=DID_NO_CONNECT driverbyte=DRIVER_OK",
        "[Sat Mar 29 01:31:10 2025] mmc0: cache flush error -110",
        "ata1.00: exception Emask 0x0 SAct 0x7f SErr 0x0 action 0x6 frozen",
    ],
    "not responding, still trying": ["[  207.955868] nfs: server 10.100.0.60 not responding, still trying"],
    "Assuming drive cache: write through": [
        "[33121.821233] sd 6:0:0:0: [sdc] No Caching mode page found",
        "[33121.821237] sd 6:0:0:0: [sdc] Assuming drive cache: write through",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [page.name for page in PAGES])
def test_pasted_log_lines_find_their_page(name: str) -> None:
    found = {line: page.name if (page := symptoms.find(line)) else None for line in LINES[name]}
    assert set(found.values()) == {name}, found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("APPLY REQUEST took  too\nlong", "apply request took too long"),
        ("\x1b[33mslow\x1b[0m fdatasync", "slow fdatasync"),
        ("Asynchronus AOF fsync takes too long", "Asynchronous AOF fsync is taking too long"),
        ("blocked for more than 120 seconds", "task … blocked for more than … seconds"),
        ("pveperf", "FSYNCS/SECOND"),
        ("slow fdatasync " + "task " * 20_000, "slow fdatasync"),
        ("flushh", None),
        ("bariers-off", None),
        ("the backup took longer than expected", None),
        ("LOG:  could not receive data from client: Connection reset by peer", None),
        ("connection: /data/db/: directory of the I/O error", None),
        ("cp: error writing 'x': Input/output error", None),
        ("", None),
    ],
)
def test_search_is_tolerant_but_does_not_guess(text: str, name: str | None) -> None:
    page = symptoms.find(text)
    assert (page and page.name) == name


def test_general_outcomes_are_what_a_watch_concludes() -> None:
    concluded = inspect.getsource(conclusion)
    outcomes = [one.when for one in symptoms.symptoms().watch]
    unconcluded = [when for when in outcomes if f'"{when}' not in concluded]
    assert unconcluded == ["The tables of fstui watch show that another program syncs often, or writes the most"]
    assert len(outcomes) == 9


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.product)
def test_commands_and_sources_of_a_page_exist(page: symptoms.Symptom) -> None:
    text = symptoms.markdown(page.name)
    assert text is not None and not re.search(r"\bDIR\b|O_/", text.replace(page.directory, "/srv"))
    assert page.sources and all(source.startswith("http") for source in page.sources)
    called = re.findall(r"fstui ([a-z]+)", text)
    assert called and set(called) <= COMMANDS.keys()
    known = [product.name for product in products()]
    assert all(name.strip("'") in known for name in re.findall(r"--for ('[^']+'|\w+)", text))
