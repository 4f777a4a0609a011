"""Transactions: decisions of coordinators, markers in logs, and the coordinators themselves."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, of_replica, rows, stacked, word
from lab.analytics.tables import BIGINT, INT, STRING, Table, Tables, array, c
from lab.analytics.tables.table import AT_US, SEQ

TRANSACTION_COLUMNS = (
    SEQ,
    AT_US,
    c("transactional_id", STRING, "the transactional id"),
    c("step", STRING, "transitioned, marker, allocated, expired, load started, loaded, or unloaded"),
    c("producer_id", BIGINT, "the producer's id; of a block of ids the first one"),
    c("producer_epoch", INT, "the producer's epoch"),
    c("from_state", STRING, "the previous state at the coordinator; empty: the id was unknown"),
    c("to_state", STRING, "the state at the coordinator"),
    c("timeout_ms", BIGINT, "time after which it is aborted"),
    c("partitions", array(STRING), "its partitions, as topic-number"),
    c("broker", STRING, "the coordinator's node; of a marker the node of the log"),
    c("topic", STRING, "of a marker and of a load: the topic"),
    c("partition", INT, "of a marker and of a load: the partition's number"),
    c("offset", BIGINT, "of a marker: its offset; of a block of ids the last one"),
    c("first_offset", BIGINT, "of a marker: first offset of the transaction in this log; -1: none"),
    c("result", STRING, "of a marker: COMMIT or ABORT"),
    c("count", BIGINT, "of a load: transactional ids found; of an expiry: producers"),
    c("why", STRING, "reason of the transition"),
)


def transactions(t: Tables) -> DataFrame:
    """Each step of a transaction, and what it depends on."""
    columns, broker = TRANSACTION_COLUMNS, F.col("broker")
    transitioned = rows(
        t.kind("TransactionTransitioned"), columns, step=word("transitioned"), broker=broker,
        **{
            name: F.col(name)
            for name in (
                "transactional_id", "producer_id", "producer_epoch", "from_state", "to_state", "timeout_ms",
                "partitions", "why",
            )
        },
    )  # fmt: skip
    replica = of_replica(F.col("replica"))
    place = {**replica, "broker": F.substring_index("replica", "@", -1)}
    marker = rows(
        t.kind("TransactionMarkerAppended"), columns, **place, step=word("marker"),
        **{name: F.col(name) for name in ("producer_id", "producer_epoch", "offset", "first_offset", "result")},
    )  # fmt: skip
    allocated = rows(
        t.kind("ProducerIdsAllocated"), columns, step=word("allocated"), broker=broker, producer_id=F.col("first"),
        offset=F.col("last"),
    )  # fmt: skip
    expired = rows(t.kind("ProducersExpired"), columns, **place, step=word("expired"), count=F.size("producer_ids"))
    counts = {"TransactionsLoaded": F.col("count"), "TransactionsUnloaded": F.size("transactional_ids")}
    loads = [
        rows(
            t.kind(kind), columns, step=word(step), broker=broker, **of_partition(F.col("partition")),
            **({"count": counts[kind]} if kind in counts else {}),
        )
        for kind, step in (
            ("TransactionsLoadStarted", "load started"), ("TransactionsLoaded", "loaded"),
            ("TransactionsUnloaded", "unloaded"),
        )
    ]  # fmt: skip
    return stacked([transitioned, marker, allocated, expired, *loads])


TRANSACTIONS = Table(
    name="silver.transactions", unit="branch", key=("seq",), columns=TRANSACTION_COLUMNS, per_event=True,
    kinds=(
        "TransactionTransitioned", "TransactionMarkerAppended", "ProducerIdsAllocated", "ProducersExpired",
        "TransactionsLoadStarted", "TransactionsLoaded", "TransactionsUnloaded",
    ),
    make=transactions, doc="A transition of a transaction, its marker in a log, or a change of the coordinator.",
)  # fmt: skip
