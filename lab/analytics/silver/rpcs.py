"""Messages between nodes: requests, responses and watches, and how long requests waited."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import stacked
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, one_of, ordered

RPC_COLUMNS = (
    c("rpc", STRING, "the message's name, unique in the branch"),
    c("rpc_no", BIGINT, "its number"),
    c("api", STRING, "the API"),
    c("message", STRING, "request, response, or watch"),
    c("source", STRING, "the sender"),
    c("destination", STRING, "the destination"),
    c("correlation", BIGINT, "number of the request, also in its response"),
    c("acks", INT, "of a Produce request: 0, 1, or -1 for all"),
    c("cause_seq", BIGINT, "the event that led to it"),
    c("sent_seq", BIGINT, "the event that sent it"),
    c("sent_us", BIGINT, "when it was sent"),
    c("due_us", BIGINT, "when it is due, as scheduled last"),
    c("arrived_seq", BIGINT, "the event of its arrival"),
    c("arrived_us", BIGINT, "when it arrived"),
    c("outcome", STRING, "delivered, dropped, held, or in flight"),
    c("why", STRING, "why it was dropped or held"),
    c("parked_us", BIGINT, "of a request: start of its wait in a purgatory"),
    c("completed_us", BIGINT, "end of that wait"),
    c("completed_why", STRING, "satisfied, expired, superseded, or the name of an error"),
    c("response", STRING, "of a request: the response to it"),
    c("answered_us", BIGINT, "when the response was sent"),
)

_KEY = (BRANCH, "rpc_no")
#: the usual end of a wait
_ENDS = ("satisfied", "expired", "superseded")
_KINDS = (
    "RpcSent", "RpcDelivered", "RpcDropped", "RpcHeld", "RpcRescheduled", "RequestParked", "RequestCompleted",
)  # fmt: skip


def rpcs(t: Tables) -> DataFrame:
    """Each message with everything that happened to it, in one row."""
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
    whole = sent.join(_times(t), [*_KEY], "left").join(_fates(t), [*_KEY], "left")
    is_request = F.col("message") == "request"
    outcome = (
        F.when(F.col("arrived_seq").isNotNull(), "delivered")
        .when(F.col("dropped_why").isNotNull(), "dropped")
        .when(F.col("held_seq") > F.coalesce(F.col("rescheduled.seq"), F.lit(0)), "held")
        .otherwise("in flight")
    )
    ended = F.get(F.array(*map(F.lit, _ENDS)), F.col("ended").cast("int") - 1)
    response = F.concat(F.lit("r"), F.col("answer_no"))
    return whole.select(
        BRANCH, "rpc", "rpc_no", "api", "message", "source", "destination", "correlation", "acks", "cause_seq",
        "sent_seq", "sent_us", F.coalesce("rescheduled.due_us", "due_us").alias("due_us"), "arrived_seq", "arrived_us",
        outcome.alias("outcome"), F.coalesce("dropped_why", "held_why").alias("why"), "parked_us", "completed_us",
        F.coalesce("completed_why", ended).alias("completed_why"), F.when(is_request, response).alias("response"),
        F.when(is_request, F.col("answered_us")).alias("answered_us"),
    )  # fmt: skip


def _times(t: Tables) -> DataFrame:
    """The common events of messages: they arrive, wait, and are answered. Keyed by number, which Spark groups by
    hashing.
    """
    shown = ("arrived_seq", "arrived_us", "answer_no", "answered_us", "parked_us", "completed_us", "ended")

    def times(frame: DataFrame, **values: Value) -> DataFrame:
        columns = (values.get(name, F.lit(None)).cast("bigint").alias(name) for name in shown)
        return frame.select(*_KEY, *columns)

    at_us, number = F.col("at_us"), _number(F.col("rpc"))
    answers = t.kind("RpcSent").where("kind = 'response'").withColumn("rpc_no", F.col("correlation"))
    ended = F.nullif(F.array_position(F.array(*map(F.lit, _ENDS)), F.col("why")), F.lit(0).cast("bigint"))
    each = [
        times(_numbered(t, "RpcDelivered", "rpc"), arrived_seq=F.col("seq"), arrived_us=at_us),
        times(answers, answer_no=number, answered_us=at_us),
        times(_numbered(t, "RequestParked", "request"), parked_us=at_us),
        times(_numbered(t, "RequestCompleted", "request"), completed_us=at_us, ended=ended),
    ]
    last = ("completed_us", "ended")
    return stacked(each).groupBy(*_KEY).agg(*((F.max if name in last else F.min)(name).alias(name) for name in shown))


def _number(name: Value) -> Value:
    """7 of `r7`."""
    return F.substring(name, F.lit(2), F.length(name)).try_cast("bigint")


def _numbered(t: Tables, kind: str, name: str) -> DataFrame:
    """Events with the number of the message that they are about."""
    return t.kind(kind).withColumn("rpc_no", _number(F.col(name)))


def _fates(t: Tables) -> DataFrame:
    """The rare events of messages: they are dropped, held, rescheduled, or their wait ends with an error."""
    each = []
    for kind, name in (
        ("RpcDropped", "rpc"), ("RpcHeld", "rpc"), ("RpcRescheduled", "rpc"), ("RequestCompleted", "request"),
    ):  # fmt: skip
        found = _numbered(t, kind, name)
        why = F.col("why") if "why" in found.columns else F.lit(None)
        due_us = F.col("due_us") if "due_us" in found.columns else F.lit(None)
        own = found.where(~F.col("why").isin(*_ENDS)) if kind == "RequestCompleted" else found
        each.append(
            own.select(
                *_KEY, "seq", F.lit(kind).alias("step"), why.cast("string").alias("why"),
                due_us.cast("bigint").alias("due_us"),
            )
        )  # fmt: skip

    def of(kind: str, value: str) -> Value:
        return F.when(F.col("step") == kind, F.col(value))

    return (
        stacked(each)
        .groupBy(*_KEY)
        .agg(
            F.max_by("why", of("RpcDropped", "seq")).alias("dropped_why"),
            F.max_by("why", of("RpcHeld", "seq")).alias("held_why"),
            F.max(of("RpcHeld", "seq")).alias("held_seq"),
            F.max(F.when(F.col("step") == "RpcRescheduled", F.struct("seq", "due_us"))).alias("rescheduled"),
            F.max_by("why", of("RequestCompleted", "seq")).alias("completed_why"),
        )
    )


RPCS = Table(
    name="silver.rpcs", unit="branch", key=("rpc",), order=("sent_seq",), columns=RPC_COLUMNS, kinds=_KINDS, make=rpcs,
    checks=(
        ordered("sent_us", "arrived_us"), one_of("outcome", "delivered", "dropped", "held", "in flight"),
        ordered("arrived_us", "parked_us", "completed_us"),
    ),
    doc="A message between two nodes.",
)  # fmt: skip
