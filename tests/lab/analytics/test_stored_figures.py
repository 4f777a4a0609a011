"""Charts of stored tables: pure functions of rows, with an instant behind each point and a table beside them."""

import json
import re
from typing import Any

import pyarrow as pa
import pytest

from lab.analytics.figures.bands import bands
from lab.analytics.figures.parts import Stored, Words, share_axis
from lab.analytics.figures.stored import ROWS_SHOWN, STORED, figure_of, internal_partitions
from lab.analytics.serve import gold_reader
from lab.analytics.serve.class_reader import OF_CLASS, OF_LESSON, OWN
from lab.analytics.serve.heads import heads_of
from lab.analytics.store.csv_text import as_csv
from lab.analytics.store.ledger import BranchEntry, Damage
from lab.texts.i18n import merged
from tests.support.paths import ROOT

WORDS = Words("en")
ORDERS = {"topic": "orders", "incarnation": 1, "partition": 0, "broker": None}
MEMBER = {"member": "c1-1", "phase": "joining", "from_us": 1_000_000, "to_us": 1_500_000}
ROLES: list[dict[str, Any]] = [
    {**ORDERS, "broker": 1, "role": "leader", "at_us": 1_000_000, "from_us": 1_000_000, "to_us": 3_000_000},
    {**ORDERS, "broker": 2, "role": "isr", "at_us": 1_000_000, "from_us": 1_000_000, "to_us": 2_000_000},
    {**ORDERS, "broker": 2, "role": "outisr", "at_us": 2_000_000, "from_us": 2_000_000, "to_us": 3_000_000},
]
ROWS: dict[str, list[dict[str, Any]]] = {
    "offsets": [
        {**ORDERS, "broker": 1, "measure": "log_end", "at_us": 1_500_000, "value": 4},
        {**ORDERS, "broker": 1, "measure": "high_watermark", "at_us": 2_500_000, "value": 3},
    ],
    "isr": ROLES,
    "latency": [
        {"acks": -1, "share": 0.5, "latency_us": 2_000, "batches": 2, "at_us": 1_500_000},
        {"acks": -1, "share": 1.0, "latency_us": 9_000, "batches": 2, "at_us": 1_600_000},
        {"acks": 1, "share": 1.0, "latency_us": 5_000, "batches": 1, "at_us": 1_700_000},
    ],
    "rpcs": [
        {"api": "Fetch", "at_us": 0, "bucket_us": 500_000, "messages": 7},
        {"api": "Produce", "at_us": 500_000, "bucket_us": 500_000, "messages": 2},
    ],
    "lag": [{**ORDERS, "at_us": 1_000_000, "max": 3}, {**ORDERS, "broker": 2, "at_us": 2_000_000, "max": 7}],
    "failovers": [
        {**ORDERS, "leader_epoch": 1, "from_broker": 1, "to_broker": 2, "at_us": 5_000_000, "lost_us": 2_000_000,
         "noticed_us": 4_000_000, "elected_us": 5_000_000, "leads_us": 5_100_000, "first_append_us": None,
         "unclean": True},
    ],
    "isr_churn": [{**ORDERS, "shrinks": 2, "expands": 1, "refused": 0, "flaps": 1, "at_us": 3_000_000}],
    "consumer_lag": [{**ORDERS, "group": "g", "at_us": 1_000_000, "max": 9}],
    "throughput": [
        {**ORDERS, "at_us": 0, "bucket_us": 500_000, "bytes": 1_000, "records": 10},
        {"topic": None, "partition": None, "at_us": 0, "bucket_us": 500_000, "bytes": None, "fetch_requests": 4},
    ],
    "batch_fill": [{"client": "p1", "at_us": 1_000_000, "batches": 2, "mean_records": 4.5, "closed_by": "linger"}],
    "produce_stages": [
        {"acks": acks, "stage": stage, "stage_no": number, "at_us": 1_000_000, "bucket_us": 500_000, "batches": 3,
         "p50_us": 1_000 * acks * acks + number, "p99_us": 9_000}
        for acks in (-1, 1) for number, stage in enumerate(("accumulator", "wire", "replication", "answer"))
    ],
    "rebalances": [
        {"group": "g", "at_us": 1_000_000, "stop_the_world_us": 600_000, "stopped_us": 800_000, "by_member": [MEMBER]},
    ],
    "transactions": [{"transactional_id": "t", "at_us": 1_000_000, "open_us": 250_000, "result": "ABORT"}],
    "rpc_timings": [{"api": "Fetch", "at_us": 0, "messages": 5, "network_p99_us": 900, "parked_p99_us": 500_000}],
    "disk_growth": [
        {"broker": 1, "topic": "orders", "at_us": 0, "bucket_us": 500_000, "why": "appended", "appended_bytes": 70,
         "removed_bytes": 0},
        {"broker": 1, "topic": "orders", "at_us": 500_000, "bucket_us": 500_000, "why": "power lost",
         "appended_bytes": None, "removed_bytes": 30},
    ],
}  # fmt: skip


def rows_of(name: str) -> list[dict[str, Any]]:
    """With all columns that the chart reads."""
    return [{**dict.fromkeys(STORED[name].columns), **row} for row in ROWS[name]]


def made(
    name: str, rows: list[dict[str, Any]], roles: list[dict[str, Any]] = ROLES, *, internal: bool = False
) -> dict[str, Any]:
    figure = figure_of(STORED[name], rows, WORDS, *(roles for _ in STORED[name].beside), internal=internal)
    assert figure is not None
    shown: dict[str, Any] = json.loads(json.dumps(figure, allow_nan=False))
    return shown


@pytest.mark.parametrize("name", STORED)
def test_each_chart_draws_its_rows_and_lists_them(name: str) -> None:
    figure = made(name, rows_of(name))
    assert figure["data"] and all(trace["name"] for trace in figure["data"])
    assert figure["table"]["columns"] == list(STORED[name].columns)
    assert figure["table"]["count"] == len(figure["table"]["rows"]) == len(ROWS[name])
    assert figure_of(STORED[name], [], WORDS, internal=False) is None
    for language in ("en", "zh-CN"):
        texts = json.loads(merged(language))
        assert {f"analytics.{name}", f"analytics.{name}_unit", f"analytics.{name}_said"} <= texts.keys()


@pytest.mark.parametrize("name", STORED)
def test_points_carry_an_instant_that_a_click_seeks(name: str) -> None:
    at = {row["at_us"] for row in (*ROWS[name], *ROLES)} | {MEMBER["from_us"], ROLES[0]["to_us"], 800_000}
    for trace in made(name, rows_of(name))["data"]:
        assert len(trace["customdata"]) == len(trace["x"]) == len(trace["y"])
        found = {point[0] if isinstance(point, list) else point for point in trace["customdata"]} - {None}
        assert found and found <= at


def test_stages_of_a_failover_and_of_a_produce_match_the_rows() -> None:
    stages = {trace["name"]: trace["x"] for trace in made("failovers", rows_of("failovers"))["data"]}
    assert list(stages.values()) == [[2000.0], [1000.0], [100.0], [0.0]]
    drawn = made("produce_stages", rows_of("produce_stages"))["data"]
    lines = {trace["name"]: (trace["y"], trace["text"]) for trace in drawn}
    assert list(lines)[:2] == ["acks=all · accumulator", "acks=all · wire and append"] and len(lines) == 8
    assert lines["acks=all · replication"] == ([1.002], ["p99 9.000 ms"])
    (written,) = made("throughput", rows_of("throughput"))["data"]
    assert written["y"] == [2000.0]


def test_loss_undetected_before_the_election_is_in_the_bar() -> None:
    rows = [{**row, "noticed_us": None} for row in rows_of("failovers")]
    assert [trace["x"] for trace in made("failovers", rows)["data"]] == [[0.0], [3000.0], [100.0], [0.0]]


def test_loss_without_a_successor_is_drawn_to_the_end() -> None:
    [row] = rows_of("failovers")
    lost = dict.fromkeys(("to_broker", "leader_epoch", "noticed_us", "elected_us", "leads_us"))
    drawn = made("failovers", [row, {**row, **lost, "at_us": 2_000_000, "unavailable_us": 9_000_000}])["data"]
    assert [trace["x"][0] for trace in drawn] == [0.0, 0.0, 0.0, 0.0, 9000.0]
    assert drawn[-1]["name"] == "until the end, without a leader"
    assert drawn[-1]["y"] == ["orders-0 b1→ 2.000 s", "orders-0 e1 b1→b2 !"]


def test_topics_of_one_name_are_drawn_apart() -> None:
    again = {"incarnation": 2}
    rows = [{**row, **more} for row in rows_of("failovers") for more in ({"incarnation": 1}, again)]
    assert made("failovers", rows)["data"][0]["y"] == ["orders-0 e1 b1→b2 !", "orders-0 (2) e1 b1→b2 !"]
    steps = [{**rows_of("offsets")[1], "seq": 5}, {**rows_of("offsets")[1], **again, "at_us": 4_000_000, "value": 0}]
    roles = [*ROLES, {**ROLES[0], **again, "at_us": 3_900_000, "from_us": 3_900_000, "to_us": 5_000_000}]
    first, second = (one for one in made("offsets", steps, roles)["data"] if one["legendgroup"] == "hw")
    assert (first["x"], first["y"]) == ([2.5, 3.0], [3, 3])
    assert (second["x"], second["y"]) == ([4.0, 5.0], [0, 0])


def test_damage_before_a_fork_is_reported_with_the_fork() -> None:
    def lost(from_seq: int, to_seq: int) -> Damage:
        return Damage("0.log", 1, 9, from_seq, to_seq, "crc", "")

    ledger = {
        "r/main": BranchEntry("r/main", "r", "", last_seq=90, damage=(lost(5, 7), lost(38, 44), lost(60, 70))),
        "r/fork": BranchEntry("r/fork", "r", "", parent="r/main", own_from_seq=40, last_seq=80, damage=(lost(50, 51),)),
        "r/deeper": BranchEntry("r/deeper", "r", "", parent="r/fork", own_from_seq=45, last_seq=60),
    }
    assert gold_reader.damage_of("r/fork", ledger) == [(5, 7, "crc"), (38, 40, "crc"), (50, 51, "crc")]
    assert gold_reader.damage_of("r/deeper", ledger) == [(5, 7, "crc"), (38, 40, "crc")]
    assert gold_reader.damage_of("r/main", ledger) == [(5, 7, "crc"), (38, 44, "crc"), (60, 70, "crc")]
    # Nothing can be read after damage at the end of a segment.
    ledger["r/main"] = BranchEntry("r/main", "r", "", last_seq=90, damage=(lost(30, 0), lost(50, 0)))
    assert gold_reader.damage_of("r/fork", ledger) == [(30, 40, "crc"), (50, 51, "crc")]


def test_many_partitions_are_stacked_to_their_sum() -> None:
    rows = [{**rows_of("throughput")[0], "partition": number, "bytes": 10 * (1 + number)} for number in range(12)]
    traces = made("throughput", rows)["data"]
    assert len(traces) == 9 and traces[-1]["name"] == "others"
    assert sum(trace["y"][0] for trace in traces) == sum(row["bytes"] for row in rows) * 2


def test_topics_of_brokers_are_left_out_unless_asked_for_or_alone() -> None:
    internal = [{**row, "topic": "__consumer_offsets"} for row in rows_of("lag")]
    both = [*rows_of("lag"), *internal]
    assert made("lag", both)["table"]["count"] == 2
    assert made("lag", both, internal=True)["table"]["count"] == 4
    assert made("lag", internal)["table"]["count"] == 2


def test_long_tables_are_truncated_and_show_their_length() -> None:
    rows = [{**row, "at_us": at} for row in rows_of("lag") for at in range(ROWS_SHOWN)]
    table = made("lag", rows)["table"]
    assert (len(table["rows"]), table["count"]) == (ROWS_SHOWN, 2 * ROWS_SHOWN)


@pytest.mark.parametrize("stored", [*STORED.values(), *OF_CLASS.values(), *OF_LESSON.values(), *OWN.values()])
def test_heads_of_tables_are_phrases_in_the_language_of_the_reader(stored: Stored) -> None:
    for language in ("en", "zh-CN"):
        heads = heads_of(stored, language)
        assert len(heads) == len(stored.columns) and all(heads)
        if language == "zh-CN":
            assert {head for head in heads if not re.search(r"[\u4e00-\u9fff]", head)} <= {"API", "broker", "follower"}


def test_transactions_that_hold_back_readers_are_hatched() -> None:
    (row,) = rows_of("transactions")
    rows = [row, {**row, "transactional_id": "u", "held_us": 120_000}]
    (bar,) = made("transactions", rows)["data"]
    assert bar["marker"]["pattern"]["shape"] == ["", "/"]
    assert bar["text"] == [
        "readers of committed records were not held back",
        "readers were held back for up to 120.000 ms",
    ]
    assert "%{text}" in bar["hovertemplate"]


def test_heads_of_tables_have_units() -> None:
    heads = dict(zip(STORED["throughput"].columns, heads_of(STORED["throughput"], "zh-CN"), strict=True))
    assert heads["at_us"].endswith("（µs）") and heads["bytes"].endswith("（字节）")
    assert heads["partition"] == "分区号"


def test_values_of_tables_and_hovers_are_in_the_language_of_the_reader() -> None:
    def cells(name: str, column: str) -> list[Any]:
        stored = STORED[name]
        beside = (ROLES for _ in stored.beside)
        figure = figure_of(stored, rows_of(name), Words("zh-CN"), *beside, internal=False)
        assert figure is not None
        return [row[stored.columns.index(column)] for row in figure["table"]["rows"]]

    assert cells("isr", "role") == ["首领", "ISR 内", "ISR 外"]
    assert cells("offsets", "measure") == ["日志末端位移", "高水位"]
    assert cells("produce_stages", "stage")[:2] == ["累加器", "网络与追加"]
    assert cells("disk_growth", "why") == ["追加", "断电"]
    assert cells("batch_fill", "closed_by") == ["linger.ms 到期"]
    assert cells("rebalances", "by_member")[0][0]["phase"] not in ("joining", "")
    figure = figure_of(STORED["batch_fill"], rows_of("batch_fill"), Words("zh-CN"), internal=False)
    assert figure is not None and figure["data"][0]["text"] == ["linger.ms 到期"]


def test_unchanged_isr_is_stated() -> None:
    quiet = [{**row, "shrinks": 0, "expands": 0, "flaps": 0} for row in rows_of("isr_churn")]
    figure = made("isr_churn", quiet)
    assert figure["data"] == [] and "never changed" in figure["layout"]["annotations"][0]["text"]


def test_hue_of_a_log_is_its_role_at_that_time() -> None:
    follower = [{**row, "broker": 2} for row in rows_of("offsets")]
    lines = [trace for trace in made("offsets", follower)["data"] if trace["name"].startswith("LEO")]
    assert [(trace["line"]["color"], trace["x"]) for trace in lines] == [
        ("--isr", [1.5, 2.0, None]),
        ("--outisr", [2.0, 3.0, None]),
    ]


def test_internal_partitions_are_counted_separately() -> None:
    internal = [{**row, "topic": "__consumer_offsets", "partition": number} for row in ROLES for number in range(50)]
    assert internal_partitions([*internal, *ROLES]) == 50
    assert internal_partitions(internal) == internal_partitions(ROLES) == 0
    drawn = made("isr", [*internal, *ROLES])
    assert {label for trace in drawn["data"] for label in trace["y"]} == {"orders-0 · b1", "orders-0 · b2"}
    assert "annotations" not in drawn["layout"]
    more = made("isr", [*internal, *ROLES], internal=True)["layout"]["annotations"]
    assert "39 more partitions" in more[0]["text"]


def test_colours_are_tokens_of_the_design() -> None:
    tokens = set(re.findall(r"(--[a-z0-9-]+):", (ROOT / "static/lab/css/base/tokens.css").read_text()))
    drawn = json.dumps([made(name, rows_of(name)) for name in STORED])
    named = set(re.findall(r'"color": "(--[^"]+)"', drawn))
    assert {"--leader", "--isr", "--hw", "--fetch"} <= named <= tokens


@pytest.mark.parametrize(
    ("name", "count", "said"),
    [
        ("failovers", 31, "The newest 30 of 31 are drawn"),
        ("rebalances", 41, "The newest 40 of 41 are drawn"),
        ("transactions", 161, "The newest 160 of 161 are drawn"),
    ],
)
def test_omitted_rows_are_reported(name: str, count: int, said: str) -> None:
    rows = [{**row, "at_us": row["at_us"] + number} for row in rows_of(name) for number in range(count)]
    assert said in made(name, rows)["note"]
    assert "note" not in made(name, rows[1:])
    instants = {row["at_us"] for row in rows_of(name)}
    drawn = [point for trace in made(name, rows)["data"] for point in trace["customdata"]]
    assert not instants & {point[0] if isinstance(point, list) else point for point in drawn} - {800_000, 1_000_000}


def test_omitted_partitions_and_series_are_reported() -> None:
    many = [{**row, "partition": number} for row in rows_of("isr_churn") for number in range(21)]
    assert "The 20 of 21 with the most changes" in made("isr_churn", many)["note"]
    lags = [{**rows_of("lag")[0], "partition": number} for number in range(9)]
    assert "The largest 8 of 9 are drawn" in made("lag", lags)["note"]


def test_stop_begins_with_the_gap() -> None:
    hatched = [trace for trace in made("rebalances", rows_of("rebalances"))["data"] if "pattern" in trace["marker"]]
    assert [(trace["base"], trace["x"]) for trace in hatched] == [([0.8], [pytest.approx(0.6)])]


def test_phases_of_members_are_named_in_the_language_of_the_page() -> None:
    members = [{**MEMBER, "phase": phase} for phase in ("syncing", "finding the coordinator", "of a later version")]
    rows = [{**rows_of("rebalances")[0], "by_member": members}]
    figure = figure_of(STORED["rebalances"], rows, Words("zh-CN"), internal=False)
    assert figure is not None
    assert [trace["name"] for trace in figure["data"]][:3] == ["查找协调者", "of a later version", "同步中"]


def test_shades_of_one_colour_are_also_in_the_legend() -> None:
    rows = [{**rows_of("rpcs")[0], "api": api} for api in ("Fetch", "ListOffsets")]
    shades = {(trace["marker"]["color"], trace["opacity"]) for trace in made("rpcs", rows)["data"]}
    assert len(shades) == 2 and all("opacity" not in trace["marker"] for trace in made("rpcs", rows)["data"])


def test_charts_over_time_share_one_axis() -> None:
    figures = {name: made(name, rows_of(name)) for name in STORED}
    share_axis(figures.values(), 9_500_000, WORDS)
    ends = {name: figure["layout"]["xaxis"].get("range") for name, figure in figures.items()}
    assert {name for name, end in ends.items() if end != [0, 9.5]} == {"latency", "failovers", "isr_churn"}


def test_csv_has_no_formulas() -> None:
    table = pa.table({"client": ["=1+1", "-x", "@y", "plain", None], "lag": [-1, 2, 3, 4, 5]})
    assert as_csv(table).splitlines() == ["client,lag", "'=1+1,-1", "'-x,2", "'@y,3", "plain,4", ",5"]


def test_build_deleted_by_vacuum_during_a_read_is_replaced_by_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = [1, 2]
    monkeypatch.setattr(gold_reader, "_newest", lambda: (None, builds[0]))

    def read(_: object, build: object) -> object:
        if build == 1:
            builds.pop(0)
            raise FileNotFoundError
        return build

    assert gold_reader.of_newest(read) == 2


# Faults behind the charts


def fault(what: str, subject: str, from_us: int, to_us: int | None, seq: int, other: str = "") -> dict[str, Any]:
    return {
        "fault": what, "subject": subject, "other": other, "from_seq": seq, "from_us": from_us, "to_us": to_us,
    }  # fmt: skip


def test_bands_name_brokers_that_were_down_and_links_that_were_cut() -> None:
    rows = [
        # The run begins: brokers start, and nothing is down.
        fault("starting", "1", 0, 100, 1), fault("starting", "2", 0, 120, 2),
        # One is stopped by the controller's leave, and comes back.
        fault("exiting", "1", 1_000, 1_500, 30), fault("stopped", "1", 1_500, 4_000, 40),
        fault("starting", "1", 4_000, 4_700, 60),
        # The other stays away.
        fault("stopped", "2", 6_000, None, 90),
        fault("link cut", "b1", 2_000, 3_000, 50, "b3"), fault("link cut one way", "b3", 5_000, 5_500, 70, "b2"),
        fault("power lost", "2", 6_000, 6_000, 89),
    ]  # fmt: skip
    found = bands(rows, 9_000, WORDS)
    assert [(one["said"], one["tone"], one["from_us"], one["to_us"], one["seq"], one["is_open"]) for one in found] == [
        ("b1 down", "down", 1_500, 4_700, 40, False),
        ("link b1 – b3 cut", "links", 2_000, 3_000, 50, False),
        ("link b3 → b2 cut one way", "links", 5_000, 5_500, 70, False),
        ("b2 down", "down", 6_000, 9_000, 90, True),
    ]
    assert bands([], 9_000, WORDS) == []


@pytest.mark.parametrize("name", [one for one in STORED if one not in ("rebalances", "isr", "offsets")])
def test_a_click_leads_to_the_event_of_its_row(name: str) -> None:
    rows = [{**row, "seq": 100 + number} for number, row in enumerate(rows_of(name))]
    seqs = {row["seq"] for row in rows}
    drawn = [point for trace in made(name, rows)["data"] for point in trace["customdata"]]
    assert drawn and {point[1] for point in drawn} <= seqs


def test_click_distinguishes_events_of_one_instant() -> None:
    first, second = ({**rows_of("offsets")[0], "at_us": 1_600_000, "value": value} for value in (5, 6))
    rows = [{**first, "seq": 7}, {**second, "seq": 8}]
    (line,) = [trace for trace in made("offsets", rows)["data"] if trace["name"] == "LEO · leader"]
    assert [point[1] for point in line["customdata"] if point][:2] == [7, 8]
