"""Messages between nodes: requests, responses and watches, and how long requests waited."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, one_of, ordered

RPC_COLUMNS = (
    c("rpc", STRING, "the message's name, unique in the branch"),
    c("rpc_no", BIGINT, "its number"),
    c("api", STRING, "the API"),
    c("message", STRING, "request, response, or watch"),
    c("source", STRING, "who sent it"),
    c("destination", STRING, "to whom"),
    c("correlation", BIGINT, "the number of the request: a response carries that of its request"),
    c("acks", INT, "of a Produce request: 0, 1, or -1 for all"),
    c("cause_seq", BIGINT, "the event that led to it"),
    c("sent_seq", BIGINT, "the event that sent it"),
    c("sent_us", BIGINT, "when it was sent"),
    c("due_us", BIGINT, "when it is to arrive, as it was scheduled last"),
    c("arrived_seq", BIGINT, "the event of its arrival"),
    c("arrived_us", BIGINT, "when it arrived"),
    c("outcome", STRING, "delivered, dropped, held, or in flight"),
    c("why", STRING, "why it was dropped or held"),
    c("parked_us", BIGINT, "of a request: when it began to wait in a purgatory"),
    c("completed_us", BIGINT, "when that ended"),
    c("completed_why", STRING, "satisfied, expired, superseded, or the name of an error"),
    c("response", STRING, "of a request: the response to it"),
    c("answered_us", BIGINT, "when the response was sent"),
)

_KEY = (BRANCH, "rpc_no")
_KINDS = (
    "RpcSent", "RpcDelivered", "RpcDropped", "RpcHeld", "RpcRescheduled", "RequestParked", "RequestCompleted",
)  # fmt: skip


def rpcs(t: Tables) -> DataFrame:
    """Each message with its whole fate, in one row."""
    first = F.try_variant_get("fields", "$[0][0]", "string")
    acks = F.when(
        (F.col("api") == "Produce") & (F.col("kind") == "request") & (first == "acks"),
        F.try_variant_get("fields", "$[0][1]", "int"),
    )
    sent = _numbered(t, "RpcSent", "rpc").select(
        *_KEY,
        "rpc",
        "api",
        F.col("kind").alias("message"),
        "source",
        "destination",
        "correlation",
        acks.alias("acks"),
        "cause_seq",
        F.col("seq").alias("sent_seq"),
        F.col("at_us").alias("sent_us"),
        "due_us",
    )
    arrived = _numbered(t, "RpcDelivered", "rpc").select(
        *_KEY, F.col("seq").alias("arrived_seq"), F.col("at_us").alias("arrived_us")
    )
    answered = (
        t.kind("RpcSent")
        .where("kind = 'response'")
        .groupBy(BRANCH, F.col("correlation").alias("rpc_no"))
        .agg(F.min(F.struct("seq", "at_us", "rpc")).alias("answer"))
        .select(*_KEY, F.col("answer.rpc").alias("response"), F.col("answer.at_us").alias("answered_us"))
    )
    is_request = F.col("message") == "request"
    whole = sent.join(arrived, [*_KEY], "left").join(answered, [*_KEY], "left").join(_fates(t), [*_KEY], "left")
    outcome = (
        F.when(F.col("arrived_seq").isNotNull(), "delivered")
        .when(F.col("dropped_why").isNotNull(), "dropped")
        .when(F.col("held_seq") > F.coalesce(F.col("rescheduled.seq"), F.lit(0)), "held")
        .otherwise("in flight")
    )
    return whole.select(
        BRANCH, "rpc", "rpc_no", "api", "message", "source", "destination", "correlation", "acks", "cause_seq",
        "sent_seq",
        "sent_us", F.coalesce("rescheduled.due_us", "due_us").alias("due_us"), "arrived_seq", "arrived_us",
        outcome.alias("outcome"), F.coalesce("dropped_why", "held_why").alias("why"), "parked_us", "completed_us",
        "completed_why", F.when(is_request, F.col("response")).alias("response"),
        F.when(is_request, F.col("answered_us")).alias("answered_us"),
    )  # fmt: skip


def _numbered(t: Tables, kind: str, name: str) -> DataFrame:
    """Events with the number of the message `r7` that they are about."""
    return t.kind(kind).withColumn(
        "rpc_no", F.substring(F.col(name), F.lit(2), F.length(F.col(name))).try_cast("bigint")
    )


def _fates(t: Tables) -> DataFrame:
    """What happens to few messages: they are dropped, held, scheduled anew, or wait at their destination."""
    step = F.lit(None)
    each = None
    for kind, name in (
        ("RpcDropped", "rpc"), ("RpcHeld", "rpc"), ("RpcRescheduled", "rpc"), ("RequestParked", "request"),
        ("RequestCompleted", "request"),
    ):  # fmt: skip
        found = _numbered(t, kind, name)
        own = found.select(
            *_KEY, "seq", "at_us", F.lit(kind).alias("step"),
            (F.col("why") if "why" in found.columns else step).cast("string").alias("why"),
            (F.col("due_us") if "due_us" in found.columns else step).cast("bigint").alias("due_us"),
        )  # fmt: skip
        each = own if each is None else each.union(own)
    assert each is not None

    def of(kind: str, value: str) -> Value:
        return F.when(F.col("step") == kind, F.col(value))

    return each.groupBy(*_KEY).agg(
        F.max(of("RpcDropped", "why")).alias("dropped_why"),
        F.max(of("RpcHeld", "why")).alias("held_why"),
        F.max(of("RpcHeld", "seq")).alias("held_seq"),
        F.max(F.when(F.col("step") == "RpcRescheduled", F.struct("seq", "due_us"))).alias("rescheduled"),
        F.min(of("RequestParked", "at_us")).alias("parked_us"),
        F.max(of("RequestCompleted", "at_us")).alias("completed_us"),
        F.max(of("RequestCompleted", "why")).alias("completed_why"),
    )


RPCS = Table(
    name="silver.rpcs", unit="branch", key=("rpc",), order=("sent_seq",), columns=RPC_COLUMNS, kinds=_KINDS, make=rpcs,
    checks=(
        ordered("sent_us", "arrived_us"), one_of("outcome", "delivered", "dropped", "held", "in flight"),
        ordered("arrived_us", "parked_us", "completed_us"),
    ),
    doc="A message between two nodes.",
)  # fmt: skip
