"""The real output of sysbench 1.0.20 is parsed without rounding."""

import pytest

from fstui.measure.helpers import sysbench_program
from fstui.measure.helpers.sysbench_program import find_error
from fstui.measure.kinds.sysbench import Interval, SysbenchFigures
from fstui.runs.recorder import ReportedFigures

PRINTED = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

RunInProgress the test with following options:
Number of threads: 1
Report intermediate results every 1 second(s)
Initializing random number generator from current time


Initializing worker threads...

Threads started!

[ 1s ] thds: 1 tps: 1563.92 qps: 1563.92 (r/w/o: 0.00/1563.92/0.00) lat (ms,95%): 1.25 err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 1 tps: 1876.55 qps: 1876.55 (r/w/o: 0.00/1876.55/0.00) lat (ms,95%): 0.78 err/s: 0.00 reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.251 |****                                     400
       0.520 |**************************************** 4900
       0.890 |***                                      379
      10.069 |                                         1

SQL statistics:
    queries performed:
        read:                            0
        write:                           5680
        other:                           0
        total:                           5680
    transactions:                        5680   (1890.24 per sec.)
    queries:                             5680   (1890.24 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0039s
    total number of events:              5680

Latency (ms):
         min:                                    0.25
         avg:                                    0.53
         max:                                   10.07
         95th percentile:                        0.89
         sum:                                 2992.97
""".splitlines()


def test_interval_line_is_parsed() -> None:
    seen = [interval for line in PRINTED if (interval := sysbench_program.parse_interval(line))]
    assert [(each["t_s"], each["tps"], each["p95_ms"]) for each in seen] == [(1, 1563.92, 1.25), (2, 1876.55, 0.78)]


def test_totals_are_parsed() -> None:
    assert sysbench_program.parse_totals(PRINTED) == {
        "queries": {"read": 0, "write": 5680, "other": 0, "total": 5680},
        "transactions": 5680,
        "tps": 1890.24,
        "qps": 1890.24,
        "latency_ms": {"min": 0.25, "avg": 0.53, "max": 10.07, "p95": 0.89},
        "ignored_errors": 0,
        "reconnects": 0,
    }


def test_killed_run_has_no_totals() -> None:
    assert sysbench_program.parse_totals(PRINTED[:14]) is None


def test_histogram_supplies_missing_percentiles() -> None:
    reported = ReportedFigures("sysbench")
    reported.merge(sysbench_program.parse_totals(PRINTED) or {})
    for row in sysbench_program.parse_histogram(PRINTED):
        reported.merge({"histogram": [row]})
    assert reported.figures
    latency = reported.figures.latency(reported.histogram)
    assert latency and (latency.min, latency.p50, latency.p95, latency.max) == (250_000, 520_000, 890_000, 10_070_000)
    assert (latency.mean, latency.p99, latency.p99_9) == (530_000, 890_000, 890_000)
    assert reported.figures.ops == 5680


def test_intervals_are_collected_and_other_figures_replaced() -> None:
    reported = ReportedFigures("sysbench")
    first, second = ({"t_s": at, "tps": 10.0, "qps": 20.0, "p95_ms": 1.0} for at in (1.0, 2.0))
    reported.merge({"intervals": [first], "transactions": 10})
    reported.merge({"intervals": [second], "transactions": 25})
    assert reported.figures == SysbenchFigures(intervals=(Interval(**first), Interval(**second)), transactions=25)


def test_reason_is_the_servers_error() -> None:
    text = [
        "FATAL: unable to connect to MySQL server on socket '/run/s', aborting...",
        "FATAL: error 2002: Can't connect to local server through socket '/run/s' (111)",
        "FATAL: `thread_init' function failed: oltp_common.lua:349: connection creation failed",
    ]
    assert find_error(text) == "2002: Can't connect to local server through socket '/run/s' (111)"
    assert find_error(["Segmentation fault"]) == "Segmentation fault"
    assert find_error([]) == "it printed nothing"
    rows = 'FATAL: mysql_drv_query() returned error 3 (Errcode: 28 "No space left on device") for query \'INSERT …'
    assert find_error([rows]) == 'mysql_drv_query() returned error 3 (Errcode: 28 "No space left on device")'
    crashed = "sysbench was ended by signal 11: its server may have ended"
    assert find_error(["Inserting 10000 records into 'sbtest1'"], -11) == crashed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("FATAL: error 1045: Access denied for user 'x'", "1045: Access denied for user 'x'"),
        (
            "FATAL: PQexec() failed: 7 permission denied to create database\nFATAL: failed query was: CREATE x",
            "permission denied to create database",
        ),
        (
            'FATAL: Connection to database failed: connection to server on socket "/s" failed: '
            'FATAL:  role "x" does not exist',
            'role "x" does not exist',
        ),
        (
            'FATAL: Connection to database failed: connection to server at "db7", port 1 failed: Connection refused',
            'connection to server at "db7", port 1 failed: Connection refused',
        ),
    ],
)
def test_reason_is_the_servers_own_message(text: str, reason: str) -> None:
    assert find_error([*text.splitlines(), "FATAL: `x' function failed: sql.lua:4: no"]) == reason


def test_only_rows_of_numbers_are_read() -> None:
    rows = [("redo log", "-12", "", "3.0"), ("data", "1", "nan", "2"), ("short", "1"), ("",)]
    assert sysbench_program.parse_counters(rows, 3) == {"redo log": [-12, None, 3]}
