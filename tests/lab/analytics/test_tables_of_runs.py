"""The tables of small recordings against the core's own view at the same instants, and against a plain reader of their
dumps.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from pyspark.sql import SparkSession

from broker_core.events import KINDS
from broker_core.events.client import RecordsConsumed
from broker_core.events.control import ZnodeChanged, ZnodeDeleted
from broker_core.events.group import ConsumerAssigned, GroupsLoaded
from broker_core.events.rpc import RpcSent
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.events.world import BrokerFrozen, BrokerStopped, NodeRemoved
from broker_core.partitions import ReplicaId, TopicPartition
from lab.analytics.tables import Table
from lab.analytics.tables.registry import TABLES
from tests.support.analytics.plain import PlainTables
from tests.support.analytics.plain.compared import differences
from tests.support.analytics.recorded_runs import MadeTables, RecordedRun
from tests.support.analytics.recordings import RECORDINGS
from tests.support.analytics.spans import during, grouped

NAMES = tuple(RECORDINGS)
INSTANTS = 60
NEVER_UP = 5
"""Number of events of a run when its nodes exist and none has started."""
OF_RUNS = [table for table in TABLES.values() if table.unit == "branch" and table.layer in ("silver", "gold")]
each_recording = pytest.mark.parametrize("name", NAMES)


@cache
def run_of(name: str) -> RecordedRun:
    return RECORDINGS[name]()


@pytest.fixture(scope="module")
def made(session: SparkSession) -> MadeTables:
    """Of all recordings; then of a run without an event, one with a single event, and one that was never up."""
    begun = run_of("steady").envelopes[:NEVER_UP]
    tiny = [RecordedRun.with_events(events) for events in ([], begun[:1], begun)]
    return MadeTables(session, [*(run_of(name) for name in NAMES), *tiny])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PlainTables]:
    return {name: PlainTables(run_of(name).dump(tmp_path_factory.mktemp(name))) for name in NAMES}


class Tables:
    """The tables of one recording."""

    def __init__(self, made: MadeTables, name: str) -> None:
        self.run = run_of(name)
        self._made, self._branch = made, NAMES.index(name)

    def __getitem__(self, table: str) -> list[dict[str, Any]]:
        return self._made.rows(table, self._branch)


def instants(run: RecordedRun) -> Iterator[tuple[int, int, Any]]:
    """Some instants, when all that happens in them has happened: seq, at_us and the view."""
    times = [envelope[1] for envelope in run.envelopes]
    last = [place for place, at_us in enumerate(times) if place + 1 == len(times) or times[place + 1] > at_us]
    wanted = {last[place * len(last) // INSTANTS] for place in range(INSTANTS)} | {last[-1]}
    for place, (seq, at_us, view) in enumerate(run.views()):
        if place in wanted:
            yield seq, at_us, view


@cache
def end_of(name: str) -> tuple[int, Any]:
    """The last instant of a recording and its view."""
    *_, (_, at_us, view) = run_of(name).views()
    return at_us, view


# against the core's own view


@each_recording
def test_offsets_are_those_of_the_replicas(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    changes = grouped(tables["silver.replica_offsets"], "topic", "partition", "broker", "measure")
    shown = {
        "log_start": "log_start_offset", "log_end": "log_end_offset", "high_watermark": "high_watermark",
        "first_unstable": "first_unstable_offset",
    }  # fmt: skip
    for seq, _, view in instants(tables.run):
        for replica, state in view["replicas"].items():
            partition, broker = ReplicaId.parse(replica)
            where = (*TopicPartition.parse(partition), broker)
            for measure, field in shown.items():
                known = [row for row in changes.get((*where, measure), []) if row["seq"] <= seq]
                if not known:
                    assert (measure, state[field]) == ("first_unstable", -1)
                elif known[-1]["value"] is None:
                    assert state["role"] == "offline"
                else:
                    assert known[-1]["value"] == state[field], (replica, measure, seq)


@each_recording
def test_roles_are_those_of_zookeeper(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    roles = grouped(tables["gold.role_spans"], "topic", "partition")
    for _, at_us, view in instants(tables.run):
        if at_us == tables.run.end_us:
            # the last spans end there
            continue
        for partition, state in view["partitions"].items():
            found = {
                row["broker"]: row["role"] for row in during(roles.get(TopicPartition.parse(partition), []), at_us)
            }
            assert found == {
                broker: "leader" if broker == state["leader"] else "isr" if broker in state["isr"] else "outisr"
                for broker in state["replicas"]
                if state["isr"]
            }, (partition, at_us)
        gone = {key for key in roles if f"{key[0]}-{key[1]}" not in view["partitions"]}
        assert not [row for key in gone for row in during(roles[key], at_us)]


@each_recording
def test_replicas_have_the_states_that_the_controller_gives_them(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    replicas = tables["silver.replicas"]
    at_us, view = end_of(name)
    now = {f"{row['topic']}-{row['partition']}@b{row['broker']}": row["state"] for row in during(replicas, at_us)}
    partitions = view["partitions"].items()
    assert set(now) == {f"{partition}@b{broker}" for partition, state in partitions for broker in state["replicas"]}
    # a new controller starts with what it is sent
    known = {one: state for one, state in view["controller_replicas"].items() if one in now}
    assert known == {one: now[one] for one in known}
    assert known


@each_recording
def test_messages_in_flight_have_not_arrived(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    messages = tables["silver.rpcs"]
    assert len(messages) == len({row["rpc"] for row in messages})
    _, view = end_of(name)
    under_way = {row["rpc"]: row for row in messages if row["outcome"] in ("in flight", "held")}
    assert set(under_way) == set(view["rpcs"])
    for rpc, shown in view["rpcs"].items():
        row = under_way[rpc]
        assert (row["api"], row["message"], row["source"], row["destination"]) == (
            shown["api"], shown["kind"], shown["source"], shown["destination"],
        )  # fmt: skip
        assert (row["due_us"], row["outcome"] == "held") == (shown["due_us"], bool(shown["held"]))
    assert all(row["acks"] is not None for row in messages if (row["api"], row["message"]) == ("Produce", "request"))


@each_recording
def test_requests_wait_and_are_answered_as_recorded(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    parked: dict[str, int] = {}
    completed: dict[str, tuple[int, str]] = {}
    answered: dict[int, tuple[int, str]] = {}
    for _, at_us, event in tables.run.of(RequestParked):
        parked.setdefault(event.request, at_us)
    for _, at_us, event in tables.run.of(RequestCompleted):
        completed[event.request] = (at_us, event.why)
    for _, at_us, event in tables.run.of(RpcSent):
        if event.kind == "response":
            answered[event.correlation] = (at_us, event.rpc)
    for row in tables["silver.rpcs"]:
        if row["message"] == "request":
            assert row["parked_us"] == parked.get(row["rpc"])
            assert (row["completed_us"], row["completed_why"]) == completed.get(row["rpc"], (None, None))
            assert (row["answered_us"], row["response"]) == answered.get(row["rpc_no"], (None, None))


@each_recording
def test_producer_states_match_the_table(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    _, view = end_of(name)
    batches = grouped(tables["silver.produces"], "client")
    for client, node in view["nodes"].items():
        if node["kind"] == "producer":
            own = batches.get((client,), [])
            counts = {
                state: sum(row["records"] for row in own if row["state"] == state)
                for state in ("acknowledged", "failed")
            }
            assert counts == {"acknowledged": node["acknowledged"], "failed": node["failed"]}
            assert sum(max(row["attempts"] - 1, 0) for row in own) <= node["retried"]
            assert {row["sequence"] for row in own if row["state"] == "open"} == set(map(int, node["batches"]))
    for row in tables["silver.produces"]:
        if row["acks"] == -1 and row["state"] == "acknowledged" and row["base_offset"] >= 0:
            assert row["started_us"] < row["appended_us"] < row["acknowledged_us"]
            # where the leader that appended it was replaced, another one committed it
            assert row["committed_us"] is None or row["appended_us"] <= row["committed_us"] <= row["acknowledged_us"]
        if row["acks"] == 0:
            assert row["started_us"] == row["acknowledged_us"]


def test_consumed_records_match_the_events(made: MadeTables) -> None:
    for name in ("steady", "rebalanced"):
        tables = Tables(made, name)
        read = [len(event.records) for _, _, event in tables.run.of(RecordsConsumed)]
        assert [row["records"] for row in tables["silver.consumes"] if row["why"] is None] == read
        assert sum(read) > 0


def test_groups_match_their_coordinator(made: MadeTables) -> None:
    tables = Tables(made, "rebalanced")
    generations, lags = tables["silver.group_generations"], tables["silver.lag"]
    states = set()
    for _, at_us, view in instants(tables.run):
        now = {f"{row['group']}@{row['broker']}": row for row in during(generations, at_us)}
        assert set(now) == set(view["groups"])
        for key, group in view["groups"].items():
            row = now[key]
            assert (row["state"], row["generation_id"], row["protocol"]) == (
                group["state"], group["generation_id"], group["protocol"],
            )  # fmt: skip
            states.add(row["state"])
            for partition, offset in group["offsets"].items():
                leader = view["partitions"][partition]["leader"]
                replica = view["replicas"][f"{partition}@b{leader}"]
                [lag] = during(grouped(lags, "topic", "partition")[TopicPartition.parse(partition)], at_us)
                assert (lag["committed"], lag["lag"]) == (offset, replica["high_watermark"] - offset)
    assert states == {"Empty", "PreparingRebalance", "Stable"}
    assert [row["moved_partitions"] for row in tables["gold.rebalances"]] == [0, 1, 2, 0]


def test_static_member_that_restarts_is_in_no_rebalance(made: MadeTables) -> None:
    """Neither is the member of the other group that dies in the end. The coordinator dies in between."""
    tables = Tables(made, "restarted")
    rebalances = tables["gold.rebalances"]
    assert [(row["group"], row["moved_partitions"]) for row in rebalances] == [("g", 0), ("g", 1), ("h", 0), ("g", 2)]
    assert len({row["broker"] for row in rebalances}) == 2
    [stopped_us, other_us] = [at_us for _, at_us, event in tables.run.of(NodeRemoved) if event.node in ("s1", "other")]
    back_us, held = next(
        (at_us, len(event.partitions)) for _, at_us, event in tables.run.of(ConsumerAssigned)
        if event.client == "s1" and at_us > stopped_us
    )  # fmt: skip
    [run] = tables["gold.run_summary"]
    apart_us = run["unowned_us"] - sum(row["unowned_us"] for row in rebalances)
    assert apart_us == held * (back_us - stopped_us) + 3 * (tables.run.end_us - other_us)
    assert run["stop_the_world_us"] == tables.run.end_us - other_us


def test_groups_without_a_coordinator_rebalance_and_commit(made: MadeTables) -> None:
    """Three members join, one is killed, the topic grows, and one leaves."""
    tables = Tables(made, "old_group")
    found = [(row["members"], row["moved_partitions"]) for row in tables["gold.rebalances"]]
    assert found == [(1, 0), (2, 1), (3, 0), (2, 2), (2, 1), (1, 2)]
    assert tables["gold.run_summary"][0]["rebalances"] == len(found)
    *_, last = (row for row in tables["silver.lag"] if (row["partition"], row["to_us"]) == (0, None))
    written = [int(event.data) for _, _, event in tables.run.of(ZnodeChanged)
               if event.path == "/consumers/g/offsets/orders/0"]  # fmt: skip
    assert (last["committed"], last["lag"]) == (written[-1], last["high_watermark"] - written[-1])


def test_loss_lasts_over_a_leader_that_never_leads_and_to_the_end(made: MadeTables) -> None:
    tables = Tables(made, "never_back")
    stopped = {event.broker: at_us for _, at_us, event in tables.run.of(BrokerStopped)}
    [frozen_us] = [at_us for _, at_us, _ in tables.run.of(BrokerFrozen)]
    end_us = tables.run.end_us
    rows = {(row["topic"], row["from_broker"], row["to_broker"]): row for row in tables["gold.failovers"]}
    assert {key: row["unavailable_us"] for key, row in rows.items() if row["leads_us"] is None} == {
        ("orders", 1, 2): None, ("orders", 3, None): end_us - stopped["b3"], ("lone", 2, None): end_us - frozen_us,
    }  # fmt: skip
    third = rows["orders", 2, 3]
    assert (third["lost_us"], third["unavailable_us"]) == (stopped["b1"], third["leads_us"] - stopped["b1"])
    [run] = tables["gold.run_summary"]
    assert run["unavailable_us"] == 2 * end_us - stopped["b3"] - frozen_us + third["unavailable_us"]


def test_deleted_topic_has_no_owner_to_miss(made: MadeTables) -> None:
    tables = Tables(made, "deleted_in_use")
    [deleted_us] = [at_us for _, at_us, event in tables.run.of(ZnodeDeleted) if event.path == "/brokers/topics/orders"]
    [gap] = [row for row in tables["silver.partition_owners"] if row["client"] is None]
    assert (gap["incarnation"], gap["to_us"]) == (1, deleted_us)
    assert {row["incarnation"] for row in tables["gold.consumer_lag"]} == {1, 2}
    assert min(row["lag"] for row in tables["silver.lag"]) >= 0


def test_offsets_that_a_coordinator_has_lost_are_not_committed(made: MadeTables) -> None:
    tables = Tables(made, "forgotten")
    *_, (_, loaded_us, _) = tables.run.of(GroupsLoaded)
    lags = tables["silver.lag"]
    before = max(row["committed"] for row in lags if row["from_us"] < loaded_us)
    assert {row["committed"] for row in lags if row["from_us"] >= loaded_us} == {lags[-1]["committed"]}
    assert lags[-1]["committed"] < before


def test_transactions_match_their_coordinator(made: MadeTables) -> None:
    tables = Tables(made, "transactional")
    spans = tables["gold.transaction_spans"]
    assert [row["result"] for row in spans] == ["COMMIT", "ABORT", "open"]
    assert [row["partitions"] for row in spans] == [2, 1, 1]
    for _, at_us, view in instants(tables.run):
        is_open = any(
            one["state"] in ("Ongoing", "PrepareCommit", "PrepareAbort") for one in view["transactions"].values()
        )
        now = [row for row in spans if row["begun_us"] <= at_us and not (row["completed_us"] or at_us + 1) <= at_us]
        assert bool(now) == is_open, at_us
    assert all(0 < row["held_us"] <= row["open_us"] for row in spans)


# against a plain reader of the dumped log


@pytest.mark.parametrize("table", OF_RUNS, ids=lambda table: table.name)
def test_tables_match_a_plain_reader(made: MadeTables, plain: dict[str, PlainTables], table: Table) -> None:
    found = {name: differences(table, Tables(made, name)[table.name], plain[name][table.name]) for name in NAMES}
    assert {name: lines[:5] for name, lines in found.items() if lines} == {}


def test_measures_of_recordings_can_be_compared(plain: dict[str, PlainTables]) -> None:
    """Empty tables are also equal."""
    empty = [table.name for table in OF_RUNS if not any(plain[name][table.name] for name in NAMES)]
    assert empty == []
    assert {row["result"] for name in NAMES for row in plain[name]["gold.transaction_spans"]} == {
        "COMMIT", "ABORT", "open",
    }  # fmt: skip
    assert any(row["unclean"] for row in plain["truncated"]["gold.failovers"])
    assert sum(row["unowned_us"] for row in plain["rebalanced"]["gold.rebalances"]) > 0
    assert any(row["lag"] > 0 for row in plain["rebalanced"]["silver.lag"])


@each_recording
def test_log_sizes_are_bytes_added_minus_bytes_removed(made: MadeTables, name: str) -> None:
    tables = Tables(made, name)
    grown: Counter[tuple[int, str | None]] = Counter()
    for row in tables["gold.disk_growth"]:
        grown[row["broker"], row["topic"]] += row["appended_bytes"] - row["removed_bytes"]
    _, view = end_of(name)
    sizes: Counter[tuple[int, str | None]] = Counter()
    for replica, state in view["replicas"].items():
        partition, broker = ReplicaId.parse(replica)
        sizes[broker, TopicPartition.parse(partition).topic] += sum(size for size, *_ in state["segments"].values())
    # A power loss is that of a broker, whatever it takes of which topic.
    lost = {broker for broker, topic in grown if topic is None}
    assert {key: size for key, size in grown.items() if size and key[0] not in lost} == {
        key: size for key, size in sizes.items() if size and key[0] not in lost
    }


# what is expected of all tables alike


def test_each_kind_of_event_is_a_source_of_a_table() -> None:
    assert {kind for table in OF_RUNS for kind in table.kinds} == set(KINDS)


def test_gold_is_made_of_tables_alone() -> None:
    assert not [table.name for table in OF_RUNS if table.layer == "gold" and table.kinds]


def test_each_column_has_a_description() -> None:
    assert not [f"{table.name}.{column.name}" for table in OF_RUNS for column in table.columns if not column.doc]


@pytest.mark.parametrize("table", OF_RUNS, ids=lambda table: table.name)
def test_keys_are_unique_and_checks_hold(made: MadeTables, table: Table) -> None:
    assert made.columns(table.name) == [column.name for column in table.columns]
    for number in range(len(made.runs)):
        keys = Counter(tuple(row[column] for column in table.key) for row in made.rows(table.name, number))
        assert [key for key, count in keys.items() if count > 1] == []
    assert made.broken(table.name) == []


@pytest.mark.parametrize("table", OF_RUNS, ids=lambda table: table.name)
def test_recordings_of_few_events_are_built(made: MadeTables, table: Table) -> None:
    found = [len(made.rows(table.name, len(NAMES) + number)) for number in range(3)]
    expected = {"gold.run_summary": [1, 1, 1], "silver.nodes": [0, 1, NEVER_UP]}.get(table.name)
    assert found == expected if expected else not found[0]


def test_each_row_that_a_chart_draws_has_its_instant(made: MadeTables) -> None:
    for table in OF_RUNS:
        if table.layer == "gold" and "at_us" in {column.name for column in table.columns}:
            for number, run in enumerate(made.runs):
                for row in made.rows(table.name, number):
                    assert row["at_us"] is None or 0 <= row["at_us"] <= run.end_us
