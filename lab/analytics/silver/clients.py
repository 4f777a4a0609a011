"""States of the lab's producers and consumers, and what consumers read."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, rows, stacked, word
from lab.analytics.tables import BIGINT, BOOLEAN, INT, STRING, Table, Tables, c
from lab.analytics.tables.table import AT_US, SEQ

CLIENT_STATE_COLUMNS = (
    SEQ,
    AT_US,
    c("client", STRING, "the client"),
    c("what", STRING, "send, stream, producer, consumer, pipeline, or read replica: what changed"),
    c("state", STRING, "the new state"),
    c("topic", STRING, "of a stream or a read replica: the topic"),
    c("partition", INT, "of a stream or a read replica: the partition, null: a partitioner chooses"),
    c("rate", INT, "of a stream: records a second; 0: it stopped"),
    c("replica", STRING, "the node that a consumer fetches from instead of the leader"),
    c("member", STRING, "of a consumer: its member id"),
    c("generation_id", INT, "of a consumer: its generation"),
    c("transactional_id", STRING, "of a producer"),
    c("producer_id", BIGINT, "of a producer; -1: none yet"),
    c("producer_epoch", INT, "of a producer; -1: none yet"),
    c("records", INT, "of a pipeline: records read but not yet written and committed; of a refused send: records"),
    c("handled", INT, "of a pipeline: records of the completed cycle"),
    c("is_rewinding", BOOLEAN, "of a pipeline: it returns to the committed offsets"),
    c("why", STRING, "the reason"),
)

_KINDS = (
    "ProducerBlocked", "ProducerUnblocked", "ProducerStreamChanged", "ProducerStateChanged", "ConsumerStateChanged",
    "PipelineStageChanged", "ReadReplicaNamed", "ReadReplicaCleared", "ProduceFailed",
)  # fmt: skip


def client_states(t: Tables) -> DataFrame:
    """Each change of a client's own state."""
    columns, client, state, why = CLIENT_STATE_COLUMNS, F.col("client"), F.col("state"), F.col("why")
    partition = of_partition(F.col("partition"))
    is_topic = F.col("is_topic")
    streamed = {
        "topic": F.when(is_topic, F.col("partition")).otherwise(partition["topic"]),
        "partition": F.when(~is_topic, partition["partition"]),
    }
    stream_state = F.when(F.col("rate") > 0, "streams").otherwise("stopped")
    return stacked(
        [
            rows(
                t.kind("ProducerBlocked"), columns, client=client, what=word("send"), state=word("blocked"), why=why
            ),
            rows(t.kind("ProducerUnblocked"), columns, client=client, what=word("send"), state=word("goes on")),
            rows(
                t.kind("ProduceFailed").where("sequence = 0"), columns, client=client, what=word("send"),
                state=word("refused"), records=F.col("count"), why=F.col("error"),
            ),
            rows(
                t.kind("ProducerStreamChanged"), columns, client=client, what=word("stream"), state=stream_state,
                rate=F.col("rate"), **streamed,
            ),
            rows(
                t.kind("ProducerStateChanged"), columns, client=client, what=word("producer"), state=state, why=why,
                **{name: F.col(name) for name in ("transactional_id", "producer_id", "producer_epoch")},
            ),
            rows(
                t.kind("ConsumerStateChanged"), columns, client=client, what=word("consumer"), state=state, why=why,
                member=F.col("member_id"), generation_id=F.col("generation_id"),
            ),
            rows(
                t.kind("PipelineStageChanged"), columns, client=client, what=word("pipeline"), state=state, why=why,
                records=F.col("in_hand"), handled=F.col("handled"), is_rewinding=F.col("rewinds"),
            ),
            rows(
                t.kind("ReadReplicaNamed"), columns, client=client, what=word("read replica"), state=word("named"),
                replica=F.col("replica"), **partition,
            ),
            rows(
                t.kind("ReadReplicaCleared"), columns, client=client, what=word("read replica"), state=word("cleared"),
                replica=F.col("replica"), why=why, **partition,
            ),
        ]
    )  # fmt: skip


CLIENT_STATES = Table(
    name="silver.client_states", unit="branch", key=("seq",), columns=CLIENT_STATE_COLUMNS, per_event=True,
    kinds=_KINDS, make=client_states, doc="A change of a client's own state.",
)  # fmt: skip

CONSUME_COLUMNS = (
    SEQ,
    AT_US,
    c("client", STRING, "the consumer"),
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("from_offset", BIGINT, "of a reset: its position before"),
    c("position", BIGINT, "the offset that it reads next"),
    c("high_watermark", BIGINT, "the high watermark in the broker's response"),
    c("records", INT, "number of records read"),
    c("why", STRING, "of a reset: the reason; null: records were read"),
)


def consumes(t: Tables) -> DataFrame:
    """Reads and position resets of consumers, without the records."""
    partition = of_partition(F.col("partition"))
    client = F.col("client")
    # A count, if the records themselves are not kept.
    count = F.coalesce(
        F.try_variant_get("records", "$", "int"), F.size(F.try_variant_get("records", "$", "array<variant>"))
    )
    read = rows(
        t.kind("RecordsConsumed"), CONSUME_COLUMNS, client=client, **partition, position=F.col("position"),
        high_watermark=F.col("high_watermark"), records=count,
    )  # fmt: skip
    reset = rows(
        t.kind("ConsumerPositionReset"), CONSUME_COLUMNS, client=client, **partition, from_offset=F.col("from_offset"),
        position=F.col("to_offset"), why=F.col("why"),
    )  # fmt: skip
    return stacked([read, reset])


CONSUMES = Table(
    name="silver.consumes", unit="branch", key=("seq",), columns=CONSUME_COLUMNS, per_event=True,
    kinds=("RecordsConsumed", "ConsumerPositionReset"), make=consumes,
    doc="Records that a consumer read, or a reset of its position.",
)  # fmt: skip
