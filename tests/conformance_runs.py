"""Recorded conversations with a real broker, played against a cluster in memory.

A case is a list of steps: a request with its answer, in the field names of the protocol (tests/data/conformance). Here
requests become bodies of the core, and answers trees of the same shape, as far as the bodies carry what is asked.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from broker_core.errors import KafkaError
from broker_core.records.record_batch import SimpleRecord, build_batch, iterate_batches
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.kernel import Message
from broker_core.wire import messages as m
from broker_core.zk.memory_store import MemoryStore

FOLDER = Path(__file__).parent / "data" / "conformance"
BROKERS = (0, 1, 2)
CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
DEFAULT_TIMESTAMP = 1_700_000_000_000
PATIENCE_US = 20_000_000
AGAIN = ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
Tree = Any


def cases(name: str) -> dict[str, Tree]:
    """The cases of a file by name."""
    return {case["name"]: case for case in json.loads((FOLDER / f"{name}.json").read_text())}


class Conversation:
    """A client of a cluster of its own; one case after the other."""

    name = "kit"

    def __init__(self) -> None:
        config = RunConfig(brokers=BROKERS, broker_config=CONFIG, latency_us=500, jitter_us=0)
        self.run = Run(config, disk=SimulatedDisk(), zk=MemoryStore())
        self.kernel = self.run._kernel
        self.kernel.add(self)
        self.answer: Any = None
        self.is_done = True
        self.captured: dict[str, Any] = {}
        self.count = 0
        self.run.advance(5_000_000)
        for key, key_type in (("g", 0), ("x", 1)):
            while self.coordinator(key, key_type) is None:
                self.run.advance(self.run.now_us + 100_000)

    # as a node

    def on_response(self, api: str, body: Any, context: Any) -> None:
        self.answer, self.is_done = body, True

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        self.answer, self.is_done = None, True

    def on_request(self, message: Message) -> None: ...

    def on_timer(self, name: str, data: Any) -> None: ...

    def on_watch(self, kind: str, path: str) -> None: ...

    def ask(self, broker: int, api: str, body: Any) -> Any:
        self.is_done = False
        self.kernel.request(self.name, f"b{broker}", api, body, label=api, context=0)
        deadline_us = self.run.now_us + PATIENCE_US
        while not self.is_done and self.run.now_us < deadline_us:
            self.run.advance(self.run.now_us + 1_000)
        assert self.is_done, f"{api} is not answered"
        return self.answer

    def coordinator(self, key: str, key_type: int) -> int | None:
        found = self.ask(0, "FindCoordinator", m.FindCoordinatorRequest(key, key_type))
        return found.node_id if found.error is KafkaError.NONE else None

    # a case

    def play(self, case: Tree) -> Iterator[tuple[Tree, Tree]]:
        """Pairs of what was answered and what a real broker answered."""
        self.count += 1
        self.captured = {"run": f"r{self.count}"}
        specs = []
        for name, spec in case.get("topics", {}).items():
            assignment = tuple(
                tuple(int(broker.removeprefix("${b").removesuffix("}")) for broker in replicas)
                for replicas in spec.get("assign", [["${b0}", "${b1}", "${b2}"]])
            )
            specs.append(m.CreateTopicSpec(self.fill(name), assignment=assignment))
        if specs:
            created = self.ask(0, "CreateTopics", m.CreateTopicsRequest(tuple(specs)))
            assert all(result.error is KafkaError.NONE for result in created.topics)
            self.run.advance(self.run.now_us + 1_000_000)
        for step in case["steps"]:
            yield self.step(step)

    def fill(self, tree: Tree) -> Tree:
        """Variables with their values."""
        if isinstance(tree, dict):
            return {key: self.fill(value) for key, value in tree.items()}
        if isinstance(tree, list):
            return [self.fill(value) for value in tree]
        if isinstance(tree, str):
            for name, value in self.captured.items():
                if tree == f"${{{name}}}":
                    return value
                tree = tree.replace(f"${{{name}}}", str(value))
        return tree

    def step(self, step: Tree) -> tuple[Tree, Tree]:
        api = step["api"]
        request = self.fill(step["request"])
        retried = {*AGAIN, *step.get("retry", ())}
        if step.get("to", "").startswith("not:") or api == "WriteTxnMarkers":
            retried = {"COORDINATOR_LOAD_IN_PROGRESS"}
        deadline_us = self.run.now_us + 15_000_000
        while True:
            body = ENCODE[api](request, step["version"])
            found = DECODE[api](self.ask(self.destination(step), api, body), body)
            mine = step.get("only_mine")
            if mine is not None:
                found[mine] = [row for row in found[mine] if self.captured["run"] in json.dumps(row)]
            wanted = step.get("until")
            is_there = wanted is None or at(found, wanted[0]) == self.fill(wanted[1])
            if (is_there and not retried.intersection(errors(found))) or self.run.now_us > deadline_us:
                break
            self.run.advance(self.run.now_us + 50_000)
        for name, path in step.get("capture", {}).items():
            self.captured.setdefault(name, at(found, path))
        expected = self.fill(step["expect"])
        return matching(found, expected), matching(expected, expected)

    def destination(self, step: Tree) -> int:
        to = self.fill(step.get("to", "b0"))
        if to.startswith("b"):
            return int(to[1:])
        avoids = to.startswith("not:")
        kind, _, key = to.removeprefix("not:").partition(":")
        found = self.coordinator(key, 0 if kind == "group" else 1)
        assert found is not None
        return (found + 1) % len(BROKERS) if avoids else found


def at(tree: Tree, path: str) -> Tree:
    for part in path.split("."):
        tree = tree[int(part)] if part.isdigit() else tree[part]
    return tree


def errors(tree: Tree) -> set[str]:
    if isinstance(tree, dict):
        return {
            each
            for key, value in tree.items()
            for each in ([value] if key.endswith("error_code") and isinstance(value, str) else errors(value))
        }
    return {each for value in tree for each in errors(value)} if isinstance(tree, list) else set()


def matching(found: Tree, expected: Tree) -> Tree:
    """What was found, in the places that both speak of; masked values as the mask."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: matching(found[key], value) if key in found else value for key, value in expected.items()}
    if isinstance(found, list) and found and isinstance(found[0], dict) and "flags" in found[0]:
        # The recordings lack what lies behind the first marker of an answer.
        found = found[: len(expected)]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        found, expected = sorted(found, key=_place), sorted(expected, key=_place)
        return [matching(mine, theirs) for mine, theirs in zip(found, expected, strict=True)]
    is_mask = isinstance(expected, str) and expected.startswith("<")
    return expected if is_mask and isinstance(found, int) else found


def _place(row: Tree) -> tuple[Any, ...]:
    """Rows that are named come in the order of their names, others as they stand."""
    names = ("name", "topic", "transactional_id", "index", "partition_index")
    return tuple(row[name] for name in names if name in row) if isinstance(row, dict) else ()


def batch(spec: Tree) -> bytes:
    records = [
        SimpleRecord(DEFAULT_TIMESTAMP + number, None, value.encode(), ())
        for number, value in enumerate(spec["records"])
    ]
    return build_batch(
        records,
        producer_id=spec.get("pid", -1),
        producer_epoch=spec.get("epoch", -1),
        base_sequence=spec.get("seq", -1),
        is_transactional=spec.get("txn", False),
    )


def batches(data: bytes) -> list[Tree]:
    return [
        {
            "base_offset": header.base_offset,
            "epoch": header.producer_epoch,
            "seq": header.base_sequence,
            "count": header.record_count,
            "max_ts": header.max_timestamp,
            "flags": [
                *(["txn"] if header.is_transactional else []),
                *(["control"] if header.is_control else []),
            ],
        }
        for _, header in iterate_batches(data)
    ]


def _names(topics: Tree, topic: str, partitions: str) -> tuple[str, ...]:
    return tuple(f"{row[topic]}-{number}" for row in topics for number in row[partitions])


def _by_topic(rows: Any, topic: str, partitions: str, show: Callable[[int, Any], Tree]) -> list[Tree]:
    """(topic-partition, something) as topics with their partitions."""
    found: dict[str, list[Tree]] = {}
    for name, *rest in rows:
        found.setdefault(name.rpartition("-")[0], []).append(show(int(name.rpartition("-")[2]), rest))
    return [{topic: name, partitions: shown} for name, shown in found.items()]


def _partition_errors(rows: Any, index: str = "partition_index", error: str = "error_code") -> Callable[..., Tree]:
    return lambda number, rest: {index: number, error: rest[0].name}


def _produce(r: Tree, version: int) -> Any:
    rows = tuple(
        (f"{topic['name']}-{row['index']}", batch(row["records"]))
        for topic in r["topic_data"]
        for row in topic["partition_data"]
    )
    return m.ProduceRequest(r["acks"], r["timeout"], rows, r.get("transactional_id"), version)


def _produced(a: Any, b: Any) -> Tree:
    return {
        "responses": _by_topic(
            [(row.partition, row) for row in a.partitions],
            "name",
            "partition_responses",
            lambda number, rest: {
                "index": number,
                "error_code": rest[0].error.name,
                "base_offset": rest[0].base_offset,
                "log_append_time": rest[0].log_append_time_ms,
                "error_message": rest[0].message,
            },
        )
    }


def _fetch(r: Tree, version: int) -> Any:
    rows = tuple(
        m.FetchPartition(
            f"{topic['topic']}-{row['partition']}",
            row["fetch_offset"],
            partition_max_bytes=row["partition_max_bytes"],
        )
        for topic in r["topics"]
        for row in topic["partitions"]
    )
    return m.FetchRequest(-1, r["max_wait"], r["min_bytes"], 1 << 24, rows, isolation_level=r.get("isolation_level", 0))


def _fetched(a: Any, b: Any) -> Tree:
    def show(number: int, rest: Any) -> Tree:
        (row,) = rest
        aborted = row.aborted_transactions
        return {
            "partition_index": number,
            "error_code": row.error.name,
            "high_watermark": row.high_watermark,
            "last_stable_offset": row.last_stable_offset,
            "aborted_transactions": None
            if aborted is None
            else [{"producer_id": producer_id, "first_offset": first} for producer_id, first in aborted],
            "records": batches(row.records),
        }

    return {"responses": _by_topic([(row.partition, row) for row in a.partitions], "topic", "partitions", show)}


def _add_partitions(r: Tree, version: int) -> Any:
    if version >= 4:
        rows = tuple(
            m.AddPartitionsToTxnTransaction(
                row["transactional_id"],
                row["producer_id"],
                row["producer_epoch"],
                _names(row["topics"], "name", "partitions"),
                row["verify_only"],
            )
            for row in r["transactions"]
        )
        return m.AddPartitionsToTxnRequest(rows, version)
    old = "v3_and_below_"
    names = _names(r[old + "topics"], "name", "partitions")
    ids = (r[old + "transactional_id"], r[old + "producer_id"], r[old + "producer_epoch"])
    return m.AddPartitionsToTxnRequest((m.AddPartitionsToTxnTransaction(*ids, names),), version)


def _added(a: Any, b: Any) -> Tree:
    def topics(rows: Any) -> Tree:
        show = _partition_errors(rows, error="partition_error_code")
        return _by_topic(rows, "name", "results_by_partition", show)

    results = [{"transactional_id": name, "topic_results": topics(rows)} for name, rows in a.results_by_transaction]
    if b.version >= 4:
        return {"error_code": a.error.name, "results_by_transaction": results}
    return {"results_by_topic_v3_and_below": results[0]["topic_results"]}


def _offset_rows(r: Tree) -> tuple[tuple[str, int, int, str], ...]:
    return tuple(
        (f"{topic['name']}-{row['partition_index']}", row["committed_offset"], -1, row["committed_metadata"])
        for topic in r["topics"]
        for row in topic["partitions"]
    )


def _committed(a: Any, b: Any) -> Tree:
    return {"topics": _by_topic(a.partitions, "name", "partitions", _partition_errors(a.partitions))}


def _offsets(a: Any, b: Any) -> Tree:
    def show(number: int, rest: Any) -> Tree:
        offset, epoch, metadata, name = rest
        error = "UNSTABLE_OFFSET_COMMIT" if name in a.unstable else "NONE"
        return {
            "partition_index": number,
            "committed_offset": offset,
            "committed_leader_epoch": epoch,
            "metadata": metadata,
            "error_code": error,
        }

    rows = [(*row, row[0]) for row in a.partitions]
    return {"error_code": a.error.name, "topics": _by_topic(rows, "name", "partitions", show)}


def _described(a: Any, b: Any) -> Tree:
    return {
        "transaction_states": [
            {
                "error_code": row.error.name,
                "transactional_id": row.transactional_id,
                "transaction_state": row.transaction_state,
                "transaction_timeout": row.transaction_timeout_ms,
                "transaction_start_time": row.transaction_start_time_ms,
                "producer_id": row.producer_id,
                "producer_epoch": row.producer_epoch,
                "topics": [
                    {"topic": name.rpartition("-")[0], "partitions": [int(name.rpartition("-")[2])]}
                    for name in row.partitions
                ],
            }
            for row in a.transaction_states
        ]
    }


def _producers(a: Any, b: Any) -> Tree:
    def show(number: int, rest: Any) -> Tree:
        (row,) = rest
        fields = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch")
        return {
            "partition_index": number,
            "error_code": row.error.name,
            "error_message": row.message,
            "active_producers": [
                {
                    **{field: getattr(each, field) for field in fields},
                    "current_txn_start_offset": each.current_txn_start_offset,
                }
                for each in row.active_producers
            ],
        }

    return {"topics": _by_topic([(row.partition, row) for row in a.partitions], "name", "partitions", show)}


def _listed_offsets(a: Any, b: Any) -> Tree:
    def show(number: int, rest: Any) -> Tree:
        (row,) = rest
        fields = {"timestamp": row.timestamp, "offset": row.offset, "leader_epoch": row.leader_epoch}
        return {"partition_index": number, "error_code": row.error.name, **fields}

    return {"topics": _by_topic([(row.partition, row) for row in a.partitions], "name", "partitions", show)}


def _error(a: Any, b: Any) -> Tree:
    return {"error_code": a.error.name}


ENCODE: dict[str, Callable[[Tree, int], Any]] = {
    "InitProducerId": lambda r, v: m.InitProducerIdRequest(
        r["transactional_id"], r["transaction_timeout"], r.get("producer_id", -1), r.get("producer_epoch", -1), v
    ),
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": lambda r, v: m.ListOffsetsRequest(
        -1,
        tuple(
            (f"{topic['name']}-{row['partition_index']}", -1, row["timestamp"])
            for topic in r["topics"]
            for row in topic["partitions"]
        ),
        r.get("isolation_level", 0),
    ),
    "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": lambda r, v: m.AddOffsetsToTxnRequest(
        r["transactional_id"], r["producer_id"], r["producer_epoch"], r["group_id"], v
    ),
    "EndTxn": lambda r, v: m.EndTxnRequest(
        r["transactional_id"], r["producer_id"], r["producer_epoch"], r["committed"], v
    ),
    "TxnOffsetCommit": lambda r, v: m.TxnOffsetCommitRequest(
        r["transactional_id"],
        r["group_id"],
        r["producer_id"],
        r["producer_epoch"],
        _offset_rows(r),
        r.get("generation_id", -1),
        r.get("member_id", ""),
        version=v,
    ),
    "OffsetCommit": lambda r, v: m.OffsetCommitRequest(
        r["group_id"], _offset_rows(r), r["generation_id_or_member_epoch"], r["member_id"]
    ),
    "OffsetFetch": lambda r, v: m.OffsetFetchRequest(
        r["group_id"], _names(r["topics"], "name", "partition_indexes"), require_stable=r["require_stable"]
    ),
    "WriteTxnMarkers": lambda r, v: m.WriteTxnMarkersRequest(
        tuple(
            m.WritableTxnMarker(
                row["producer_id"],
                row["producer_epoch"],
                row["transaction_result"],
                _names(row["topics"], "name", "partition_indexes"),
                row["coordinator_epoch"],
            )
            for row in r["markers"]
        )
    ),
    "DescribeTransactions": lambda r, v: m.DescribeTransactionsRequest(tuple(r["transactional_ids"])),
    "ListTransactions": lambda r, v: m.ListTransactionsRequest(
        tuple(r.get("state_filters", ())), tuple(r.get("producer_id_filters", ())), r.get("duration_filter", -1)
    ),
    "DescribeProducers": lambda r, v: m.DescribeProducersRequest(_names(r["topics"], "name", "partition_indexes")),
    "JoinGroup": lambda r, v: m.JoinGroupRequest(
        r["group_id"],
        r["session_timeout"],
        r["rebalance_timeout"],
        r["member_id"],
        None,
        r["protocol_type"],
        tuple((row["name"], bytes.fromhex(row["metadata"])) for row in r["protocols"]),
        version=v,
    ),
    "SyncGroup": lambda r, v: m.SyncGroupRequest(
        r["group_id"],
        r["generation_id"],
        r["member_id"],
        None,
        r["protocol_type"],
        r["protocol_name"],
        tuple((row["member_id"], bytes.fromhex(row["assignment"])) for row in r["assignments"]),
    ),
}

DECODE: dict[str, Callable[[Any, Any], Tree]] = {
    "InitProducerId": lambda a, b: {
        "error_code": a.error.name,
        "producer_id": a.producer_id,
        "producer_epoch": a.producer_epoch,
    },
    "Produce": _produced,
    "Fetch": _fetched,
    "ListOffsets": _listed_offsets,
    "AddPartitionsToTxn": _added,
    "AddOffsetsToTxn": _error,
    "EndTxn": _error,
    "TxnOffsetCommit": _committed,
    "OffsetCommit": _committed,
    "OffsetFetch": _offsets,
    "WriteTxnMarkers": lambda a, b: {
        "markers": [
            {"producer_id": id, "topics": _by_topic(rows, "name", "partitions", _partition_errors(rows))}
            for id, rows in a.markers
        ]
    },
    "DescribeTransactions": _described,
    "ListTransactions": lambda a, b: {
        "error_code": a.error.name,
        "unknown_state_filters": list(a.unknown_state_filters),
        "transaction_states": [
            {"transactional_id": name, "producer_id": id, "transaction_state": state}
            for name, id, state in a.transaction_states
        ],
    },
    "DescribeProducers": _producers,
    "JoinGroup": lambda a, b: {
        "error_code": a.error.name,
        "generation_id": a.generation_id,
        "leader": a.leader,
        "member_id": a.member_id,
    },
    "SyncGroup": lambda a, b: {"error_code": a.error.name, "assignment": a.assignment.hex()},
}
