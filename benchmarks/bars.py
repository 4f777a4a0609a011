"""How good the lab wants to be: for each figure of a bench its bar, and how to find it in what the bench printed."""

import math
from typing import Any, Literal, NamedTuple

from broker_core.sim.invariants import INVARIANTS, REPLICATION

#: keys from the outside in
Path = tuple[str, ...]


class Bar(NamedTuple):
    """One line of the table. `of`: the two sides where the figure is a ratio. `limit` None: reported, not judged.
    `is_optional`: the program to compare with may be missing on a machine.
    """

    bench: str
    name: str
    figure: Path
    unit: str = ""
    sense: Literal["at least", "at most"] = "at most"
    limit: float | None = None
    of: tuple[Path, Path] | None = None
    is_optional: bool = False


class Row(NamedTuple):
    """A bar's row of the table: `verdict` is ok, short, reported (not judged), absent where there was nothing to
    compare with, or missing where the bench did not report it. `statement`: the acceptance statement that the figure
    belongs to, 0 for none.
    """

    bench: str
    name: str
    measured: float | None
    unit: str
    bar: str
    sides: str
    verdict: str
    statement: int


def _against(
    side: str, name: str, figure: Path, sense: Literal["at least", "at most"], limit: float, bench: str = "tcp"
) -> Bar:
    """Ours by another side's."""
    of = ((*figure, "ours"), (*figure, side))
    whom = {"real": "a real Kafka", "mock": "librdkafka's mock"}[side]
    return Bar(bench, f"{name}, by {whom}", (*figure, f"by_{side}"), "", sense, limit, of, side == "real")


BARS = (
    Bar("engine", "simulated events/s", ("bare", "events_per_s"), "events/s", "at least", 100_000),
    Bar(
        "engine",
        f"simulated events/s, the {len(REPLICATION)} invariants of replication",
        ("replication", "events_per_s"),
        "events/s",
        "at least",
        80_000,
    ),
    Bar(
        "engine",
        f"simulated events/s, all {len(INVARIANTS)} invariants",
        ("invariants", "events_per_s"),
        "events/s",
        "at least",
        60_000,
    ),
    Bar(
        "engine",
        "at 400,000 events by at 50,000",
        ("bare", "late_to_early"),
        "",
        "at least",
        0.9,
        (("bare", "events_per_s_late"), ("bare", "events_per_s")),
    ),
    Bar(
        "engine",
        "at 400,000 events by at 50,000, invariants on",
        ("invariants", "late_to_early"),
        "",
        "at least",
        0.9,
        (("invariants", "events_per_s_late"), ("invariants", "events_per_s")),
    ),
    Bar("engine", "batches, acks=all, factor 3", ("bare", "batches_per_s"), "batches/s", "at least", 1_000),
    Bar(
        "engine",
        "batches, acks=all, factor 3, invariants on",
        ("invariants", "batches_per_s"),
        "batches/s",
        "at least",
        1_000,
    ),
    Bar("log", "append as leader", ("calls", "append_as_leader_us"), "us"),
    Bar("log", "append as follower", ("calls", "append_as_follower_us"), "us"),
    Bar("log", "records parsed one by one", ("records", "parsed_per_s"), "records/s", "at least", 1_000_000),
    Bar("log", "of uneven sizes and times", ("records", "parsed_uneven_per_s"), "records/s"),
    Bar(
        "log",
        "records validated, 150 of 100 B a batch",
        ("records", "validated_per_s"),
        "records/s",
        "at least",
        2_000_000,
    ),
    Bar("log", "of uneven sizes and times, validated", ("records", "validated_uneven_per_s"), "records/s"),
    Bar("log", "compaction", ("compaction", "records_per_s"), "records/s", "at least", 200_000),
    Bar(
        "log",
        "compaction, all stay",
        ("compaction", "records_per_s_when_all_stay"),
        "records/s",
        "at least",
        200_000,
    ),
    Bar("log", "read the last batch", ("calls", "read_last_batch_us"), "us"),
    Bar("log", "seek by timestamp, p99, 20,000 records", ("seeks", "0", "seek_by_timestamp_p99_us"), "us"),
    Bar(
        "log",
        "2,000,000 records by 20,000",
        ("seek_p99_ratio",),
        of=(("seeks", "1", "seek_by_timestamp_p99_us"), ("seeks", "0", "seek_by_timestamp_p99_us")),
    ),
    Bar(
        "storage",
        "appending ready batches of 16 KiB, by os.write and CRC",
        ("append", "ratio"),
        "",
        "at least",
        0.5,
        (("append", "log_mb_per_s"), ("append", "write_mb_per_s")),
    ),
    Bar("storage", "lookup of an offset in 1 GiB, p99", ("lookup", "p99_us"), "us", "at most", 100),
    Bar("storage", "opening 10 GiB, closed cleanly", ("opening", "median_ms"), "ms", "at most", 200),
    Bar(
        "storage",
        "append with 1,000 old segments by 10",
        ("append_ratio_of_segments",),
        "",
        "at most",
        1.5,
        (("curve", "2", "append_us"), ("curve", "0", "append_us")),
    ),
    Bar(
        "storage",
        "tail read with 1,000 old segments by 10",
        ("tail_read_ratio_of_segments",),
        "",
        "at most",
        1.5,
        (("curve", "2", "tail_read_us"), ("curve", "0", "tail_read_us")),
    ),
    Bar("setup", "first start, nothing to download", ("first_start_s",), "s", "at most", 60),
    Bar("follow", "processor time that 240 pages add to a branch", ("added_cpu_s",), "s/s", "at most", 0.1),
    Bar("follow", "frames a second to a page that looks", ("followed", "per_page_frames"), "frames/s", "at most", 12),
    Bar("class", "act on the board, p50", ("acts_p50_ms",), "ms", "at most", 80),
    Bar("class", "act on the board, p99", ("acts_p99_ms",), "ms", "at most", 150),
    Bar("class", "of which votes, p99", ("votes_p99_ms",), "ms", "at most", 150),
    Bar("class", "of which answers, predictions and hints, p99", ("steps_p99_ms",), "ms", "at most", 150),
    Bar("class", "step reached, board behind its learner's page, p99", ("reached_p99_ms",), "ms", "at most", 150),
    Bar("class", "event at an observer behind the first, p99", ("observers_p99_ms",), "ms", "at most", 100),
    Bar("class", "frame at the page that leads, p99", ("leader_p99_ms",), "ms", "at most", 60),
    Bar(
        "class",
        "event at observers while one page does not read",
        ("stalled_ratio",),
        "",
        "at most",
        1.1,
        (("stalled_ms",), ("free_ms",)),
    ),
    Bar("class", "the same at the observer whom that delays most", ("stalled_worst",), "", "at most", 1.1),
    Bar("class", "frames of the leading lab at all observers", ("followed_per_s",), "frames/s", "at least", 1_000),
    Bar("class", "processor of the server, of one core", ("core_percent",), "%", "at most", 70),
    Bar("class", "memory of the server", ("rss_mb",), "MB", "at most", 1_500),
    Bar("class", "load shed, step", ("shed_step",), "", "at most", 0),
    Bar("class", "frames deflated (1) or not (0)", ("deflated",), ""),
    Bar("class", "worst of 240 joins, eight at once", ("joins_worst_ms",), "ms", "at most", 10_000),
    Bar("class", "start to the first learner in a lab", ("first_lab_ms",), "ms", "at most", 10_000),
    Bar("class", "39 learners join, eight at once, until the last has a lab", ("labs_ms",), "ms", "at most", 5_000),
    Bar(
        "class",
        "300 joins in five seconds, until the last page shows the class",
        ("crowd_class_ms",),
        "ms",
        "at most",
        10_000,
    ),
    Bar(
        "class",
        "300 join a lesson in five seconds, until the last sees class and lab",
        ("crowd_ms",),
        "ms",
        "at most",
        10_000,
    ),
    Bar("class", "most frames to one of them until then", ("crowd_frames",), "", "at most", 12),
    Bar("class", "pause all, until the last lab that played", ("paused_ms",), "ms", "at most", 1_000),
    Bar("class", "labs that played until then", ("paused_labs",), "", "at least", 40),
    Bar(
        "class", "look, question, help or stage, until its learner is notified", ("looked_ms",), "ms", "at most", 1_000
    ),
    Bar("class", "a state given, until 40 see it in their own labs", ("given_ms",), "ms", "at most", 3_000),
    Bar("class", "the last event of that state", ("given_seq",), "", "at least", 50_000),
    Bar("class", "40 act there at once: the first has an engine", ("first_woken_ms",), "ms", "at most", 1_000),
    Bar("class", "40 act there at once: the last has an engine", ("last_woken_ms",), "ms", "at most", 15_000),
    Bar("class", "acts/s of a learner who floods the class", ("flood_per_s",), "acts/s", "at least", 900),
    Bar("class", "1,000 acts/s of one, delay of the others' acts, p99", ("flood_ratio",), "", "at most", 1.2),
    Bar("class", "10,000 wrong codes a minute, the same", ("codes_ratio",), "", "at most", 1.2),
    Bar("class", "wrong codes sent a minute", ("codes_per_minute",), "", "at least", 9_000),
    Bar("class", "wrong codes of one address looked up in 60 s", ("codes_looked_up",), "", "at most", 60),
    Bar("class", "wrong code refused, at the guesser, p50", ("codes_ms",), "ms"),
    Bar("class", "removed, until both sockets are closed", ("kicked_ms",), "ms", "at most", 1_000),
    Bar("class", "page at 200 kbit/s, behind at most", ("narrow_ms",), "ms", "at most", 2_000),
    Bar("class", "server killed, until the class is on the board", ("back_ms",), "ms", "at most", 10_000),
    Bar("class", "answered acts lost or doubled by that", ("acts_lost",), "", "at most", 0),
    Bar("class", "participants' own event loop, late by, p99", ("late_p99_ms",), "ms"),
    Bar("class", "sockets that ended by themselves", ("sockets_lost",), "", "at most", 0),
    Bar("setup", "of which the environment", ("environment_s",), "s"),
    Bar("server", "later start to a usable page", ("later_start_ms",), "ms", "at most", 3_000),
    Bar("server", "new run to three registered brokers", ("new_run_to_three_brokers_ms",), "ms", "at most", 1_000),
    Bar("server", "server and JVM of one idle lab", ("idle_lab_mb",), "MB", "at most", 250),
    Bar("server", "of which the server", ("server_mb",), "MB"),
    Bar("server", "of which ZooKeeper", ("zookeeper_mb",), "MB"),
    *(
        Bar("server", f"seek in {size:,} events, p99", ("seek", str(size), "find_p99_ms"), "ms", "at most", 20)
        for size in (20_000, 200_000, 2_000_000)
    ),
    *(
        Bar("server", f"and its segment, {size:,} events, p99", ("seek", str(size), "find_and_segment_p99_ms"), "ms")
        for size in (20_000, 200_000, 2_000_000)
    ),
    Bar("server", "fork of a 50,000-event run, worst", ("fork", "worst_ms"), "ms", "at most", 500),
    Bar("server", "fork of a 50,000-event run, median", ("fork", "p50_ms"), "ms"),
    Bar("tcp", "produce 100 B", ("produce", "100", "ours"), "MB/s"),
    _against("real", "produce 100 B", ("produce", "100"), "at least", 1.0),
    _against("mock", "produce 100 B", ("produce", "100"), "at least", 0.4),
    Bar("tcp", "produce 1 KiB", ("produce", "1024", "ours"), "MB/s"),
    _against("real", "produce 1 KiB", ("produce", "1024"), "at least", 1.5),
    Bar("tcp", "consume 100 B", ("consume", "100", "ours"), "MB/s"),
    _against("real", "consume 100 B", ("consume", "100"), "at least", 0.7),
    Bar("tcp", "consume 1 KiB", ("consume", "1024", "ours"), "MB/s"),
    _against("real", "consume 1 KiB", ("consume", "1024"), "at least", 0.7),
    Bar("tcp", "produce 100 B, factor 3, acks=all", ("produce_all", "100", "ours"), "MB/s"),
    _against("real", "produce 100 B, factor 3, acks=all", ("produce_all", "100"), "at least", 1.0),
    Bar("tcp", "produce 1 KiB, factor 3, acks=all", ("produce_all", "1024", "ours"), "MB/s"),
    _against("real", "produce 1 KiB, factor 3, acks=all", ("produce_all", "1024"), "at least", 1.0),
    Bar("tcp", "one small produce, factor 3, median", ("small_produce_ms", "ours"), "ms"),
    _against("real", "one small produce, factor 3", ("small_produce_ms",), "at most", 0.5),
    *(
        bar
        for workload, name in (
            ("many_topics", "30 topics created, written, read, deleted"),
            ("many_partitions", "a topic of 200 partitions created"),
            ("large_messages", "100 records of 900 kB read"),
            ("commits", "200 commits of offsets"),
            ("rebalances", "a group grows to 4 members and shrinks"),
            ("pauses", "100 records read, paused after each"),
            ("pattern", "a topic found by its pattern"),
            ("transactions", "50 transactions committed"),
        )
        for bar in (
            Bar("clients", name, (workload, "ours"), "ms"),
            _against("real", name, (workload,), "at most", 1.5, "clients"),
        )
    ),
    Bar("life", "probe ten times a second, p99", ("probe_p99_ms",), "ms", "at most", 50),
    Bar("life", "probe, worst", ("probe_worst_ms",), "ms", "at most", 250),
    Bar("life", "LogAppendTime off the host's clock, worst", ("clock_worst_ms",), "ms", "at most", 50),
    Bar("life", "memory of the cluster", ("memory_mb",), "MB", "at most", 300),
    Bar("life", "memory, most after the first third by most in it", ("memory_growth",), "", "at most", 1.1),
    Bar("life", "committed records that no consumer got", ("lost",), "", "at most", 0),
    Bar("life", "failures that clients reported", ("failure_count",), "", "at most", 0),
    Bar("life", "recording of three idle brokers, an hour", ("idle_mb_per_hour",), "MB", "at most", 150),
    Bar("life", "recording, of the brokers' thread at 1,000 records/s", ("recording_percent",), "%", "at most", 10),
    Bar("life", "events of an acknowledged record at that rate", ("events_per_record",)),
    Bar("life", "disk with a bounded recording, by the brokers' files", ("bounded_disk_ratio",), "", "at most", 1.2),
    Bar("life", "disk with a full recording, by the brokers' files", ("disk_ratio",)),
    Bar("life", "commit of a transaction, median", ("commit_p50_ms",), "ms"),
    Bar("page", "event to painted pixel, p99", ("latency_p99_ms",), "ms", "at most", 60),
    Bar("page", "event to painted pixel, median", ("latency_p50_ms",), "ms"),
    Bar("page", "records acknowledged meanwhile", ("records_per_s",), "records/s", "at least", 190),
    Bar("screens", "a presenter's change on the screens of three who follow, p99", ("p99_ms",), "ms", "at most", 300),
    Bar("screens", "changes that did not come within 0.7 s", ("missed",), "", "at most", 0),
    Bar("screens", "a presenter's change on their screens, p50", ("p50_ms",), "ms"),
    Bar("analytics", "first chart of a 100,000-event run, cold", ("cold_first_chart_s",), "s", "at most", 8),
    Bar("analytics", "all charts, cold", ("cold_all_charts_s",), "s"),
    Bar("analytics", "first chart, worker started ahead", ("ahead_first_chart_s",), "s", "at most", 4),
    Bar("analytics", "first chart of a 100,000-event run, warm", ("warm_first_chart_s",), "s", "at most", 1),
    Bar("analytics", "all charts, warm", ("warm_all_charts_s",), "s"),
    Bar("analytics", "question in SQL, a grouping over 1,700,000 rows", ("sql_s",), "s", "at most", 1),
    Bar("analytics", "CPU of that question", ("sql_cpu_s",), "s", "at most", 1),
    Bar("analytics", "memory of the JVM after these charts", ("jvm_mb",), "MB", "at most", 650),
    Bar("tables", "events of 10 runs read, a CPU second", ("few", "bronze_events_per_cpu_s"), "", "at least", 120_000),
    Bar("tables", "reading them, by pyarrow alone", ("few", "bronze_by_floor"), "", "at most", 3.0),
    Bar(
        "tables", "events of 100 runs read, a CPU second", ("many", "bronze_events_per_cpu_s"), "", "at least", 120_000
    ),
    Bar("tables", "all tables of 10 runs, a million events", ("few", "whole_cpu_s_per_million"), "CPU s"),
    Bar(
        "tables",
        "all tables of 100 runs, a million events",
        ("many", "whole_cpu_s_per_million"),
        "CPU s",
        "at most",
        30,
    ),
    Bar("tables", "an event of 100 runs by one of 10 runs", ("many_by_few",), "", "at most", 1.2),
    Bar("tables", "all tables of 100 runs", ("many", "whole", "wall_s"), "s", "at most", 180),
    Bar("tables", "one more run, by all tables of 100 runs", ("many", "one_more_part"), "", "at most", 0.05),
    Bar("tables", "a build of nothing new", ("many", "nothing_new_s"), "s", "at most", 1),
    Bar(
        "tables",
        "three questions over 100 runs, CPU, by DuckDB",
        ("many", "questions", "cpu_by_duckdb"),
        "",
        "at most",
        6.5,
        (("many", "questions", "spark", "cpu_s"), ("many", "questions", "duckdb", "cpu_s")),
    ),
    Bar("tables", "three questions over 100 runs", ("many", "questions", "spark", "wall_s"), "s", "at most", 6),
    Bar("tables", "all charts of a stored run, p95", ("many", "charts_p95_ms"), "ms", "at most", 200),
    Bar("tables", "stored events", ("many", "bronze_bytes_per_event"), "bytes/event"),
    Bar("tables", "all stored tables", ("many", "bytes_per_event"), "bytes/event"),
    Bar(
        "ingest",
        "events of 10 runs read, two workers by one",
        ("ratio",),
        "x",
        "at least",
        1.6,
        (("two", "per_s"), ("one", "per_s")),
    ),
    Bar("insight", "acts of 40 learners in the charts of their class, p95", ("behind_p95_s",), "s", "at most", 10),
    Bar("insight", "Spark meanwhile, of one core", ("core_percent",), "%", "at most", 20),
    Bar("insight", "rounds of Spark", ("rounds",), ""),
    Bar(
        "studies",
        "a study of 200 clusters, two workers by one",
        ("ratio",),
        "x",
        "at least",
        1.6,
        (("two", "per_s"), ("one", "per_s")),
    ),
    Bar(
        "course",
        "a lesson, from the click to the first drawn cluster, p95",
        ("start", "p95_ms"),
        "ms",
        "at most",
        1_000,
    ),
    Bar("course", "a lesson, from the click to the first drawn cluster, p50", ("start", "p50_ms"), "ms"),
    Bar(
        "course",
        "front page, 200 runs, 10,000 answers, after the answer",
        ("front", "usable_ms"),
        "ms",
        "at most",
        1_000,
    ),
    Bar("course", "front page, the server's answer", ("front", "answer_ms"), "ms"),
    Bar("course", "front page, scripts before the recording", ("front", "scripts_kb"), "KB", "at most", 60),
    Bar("course", "a challenge on 200 schedules", ("challenge", "cpu_s"), "s", "at most", 90),
    Bar("course", "all lessons checked over five seeds", ("checks", "seconds"), "s", "at most", 180),
    Bar("alone", "a page of its own, before its data", ("before_data_kb",), "KB", "at most", 600),
    Bar("alone", "opened, 50 000 events", ("open_ms",), "ms", "at most", 2_000),
    Bar("alone", "seek, 50 000 events, p50", ("seek", "p50_ms"), "ms", "at most", 50),
    Bar("replay", "class of 90 minutes, exported", ("export_mb",), "MB", "at most", 40),
    Bar("replay", "places whose sound was heard", ("audio", "places"), "", "at least", 20),
    Bar("replay", "sound off the picture, worst", ("audio", "worst_ms"), "ms", "at most", 200),
    Bar("replay", "seek, p99", ("seek", "p99_ms"), "ms", "at most", 300),
    Bar("replay", "picture off what the server says", ("seek", "worst_off_events"), "events", "at most", 0),
    Bar("replay", "opened, first after the start", ("open", "first_ms"), "ms"),
    Bar("replay", "opened", ("open", "later_ms"), "ms", "at most", 2_000),
    Bar("replay", "heap of the page", ("heap_mb",), "MB", "at most", 300),
    Bar("replay", "sealing", ("seal_ms",), "ms"),
)

STATEMENTS: dict[tuple[str, Path], int] = {
    ("class", ("first_lab_ms",)): 1,
    ("class", ("labs_ms",)): 2,
    ("class", ("codes_looked_up",)): 3,
    ("class", ("joins_worst_ms",)): 4,
    ("class", ("crowd_ms",)): 4,
    ("class", ("crowd_class_ms",)): 4,
    ("class", ("crowd_frames",)): 4,
    ("class", ("acts_p50_ms",)): 6,
    ("class", ("acts_p99_ms",)): 6,
    ("class", ("votes_p99_ms",)): 6,
    ("class", ("steps_p99_ms",)): 6,
    ("class", ("reached_p99_ms",)): 6,
    ("class", ("core_percent",)): 7,
    ("class", ("rss_mb",)): 7,
    ("class", ("leader_p99_ms",)): 7,
    ("class", ("shed_step",)): 7,
    ("class", ("followed_per_s",)): 7,
    ("class", ("observers_p99_ms",)): 8,
    ("class", ("stalled_ratio",)): 8,
    ("class", ("stalled_worst",)): 8,
    ("screens", ("p99_ms",)): 10,
    ("screens", ("missed",)): 10,
    ("class", ("looked_ms",)): 13,
    ("class", ("given_ms",)): 15,
    ("class", ("given_seq",)): 15,
    ("class", ("first_woken_ms",)): 15,
    ("class", ("last_woken_ms",)): 15,
    ("class", ("paused_ms",)): 16,
    ("class", ("paused_labs",)): 16,
    ("class", ("back_ms",)): 20,
    ("class", ("acts_lost",)): 20,
    ("replay", ("audio", "places")): 21,
    ("replay", ("audio", "worst_ms")): 21,
    ("replay", ("export_mb",)): 21,
    ("replay", ("seek", "p99_ms")): 22,
    ("replay", ("seek", "worst_off_events")): 22,
}
"""The acceptance statements of the live class (docs/CLASSES.md) that figures belong to."""


def statement_of(bar: Bar) -> int:
    """The number of the acceptance statement that a figure belongs to; 0 for none."""
    return STATEMENTS.get((bar.bench, bar.figure), 0)


def judge(bar: Bar, found: dict[str, Any]) -> Row:
    """Compares what a bench found with its bar."""
    measured = _at(found, bar.figure)
    limit = "" if bar.limit is None else f"{'≥' if bar.sense == 'at least' else '≤'} {show(bar.limit)}"
    # A rehearsal has NaN for what it has not measured.
    measured = None if measured is not None and math.isnan(measured) else measured
    if measured is None:
        verdict = "absent" if bar.is_optional and found else "missing"
    elif bar.limit is None:
        verdict = "reported"
    else:
        verdict = "ok" if (measured >= bar.limit if bar.sense == "at least" else measured <= bar.limit) else "short"
    sides = ""
    if bar.of is not None:
        above, below = (_at(found, side) for side in bar.of)
        if above is not None and below is not None:
            sides = f"{show(above)} / {show(below)}"
    return Row(bar.bench, bar.name, measured, bar.unit, limit, sides, verdict, statement_of(bar))


def show(figure: float) -> str:
    """The significant digits."""
    if abs(figure) >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.2f}".rstrip("0").rstrip(".") if figure else "0"


def _at(found: Any, path: Path) -> float | None:
    for key in path:
        if isinstance(found, list):
            found = found[int(key)] if int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, dict) else None
    return float(found) if isinstance(found, int | float) else None
