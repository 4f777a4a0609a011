"""Failovers: from the moment a leader stops answering to the first append at its successor."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import with_end
from lab.analytics.silver.parts import broker_id, last
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BOOLEAN, BRANCH, INT, STRING, Table, Tables, between, c, not_null, ordered

FAILOVER_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("leader_epoch", INT, "the epoch of the new leader; null: none was elected"),
    c("strategy", STRING, "election strategy of the controller"),
    c("from_broker", INT, "the previous leader"),
    c("to_broker", INT, "the new leader; null: none was elected"),
    c("fault_seq", BIGINT, "the event that stopped the last leader that had taken over; null: it did not stop"),
    c("seq", BIGINT, "the election; if there was none, that which found no leader, or the event that stopped the "
      "previous one"),
    c("at_us", BIGINT, "its time"),
    c("lost_us", BIGINT, "when the last leader that had taken over stopped responding, or the partition was found to "
      "have none"),
    c("noticed_us", BIGINT, "when the previous leader's ZooKeeper session ended"),
    c("elected_us", BIGINT, "when the controller elected the new leader; null: never"),
    c("leads_us", BIGINT, "when the new leader took over; null: never"),
    c("first_append_us", BIGINT, "the first batch that it appended as the leader; null: none"),
    c("unavailable_us", BIGINT, "from the loss, or the election without one, until the new leader took over; if none "
      "did, until the end of the run or of the topic; null: a later election of the partition has it"),
    c("unclean", BOOLEAN, "the new leader was not in the ISR"),
    c("truncated_records", BIGINT, "records truncated by replicas until the next election"),
)  # fmt: skip

_PARTITION = (BRANCH, "topic", "incarnation", "partition")
_TURN = (*_PARTITION, "seq")
_FOREVER = 2**62
_LEADERLESS = ("OfflinePartition", "UncleanPartition")
"""Elections that find no leader where there is none. Others leave the leader that there is."""
_DOWN = ("stopped", "exiting", "frozen", "starting")


def failovers(t: Tables) -> DataFrame:
    """Each election of a leader for a partition that had one before, and each loss after which there was none."""
    turns = _turns(t)
    known = (
        turns.join(_losses(t, turns), [*_TURN], "left")
        .join(_takes_over(t, turns), [*_TURN], "left")
        .join(_truncated(t, turns), [*_TURN], "left")
    )
    is_led = F.col("leads_us").isNotNull()
    own_loss = F.coalesce("lost_us", F.when(~F.col("finds"), F.col("went_us")))
    in_order = Window.partitionBy(*_PARTITION).orderBy("seq")
    # Leaders that never led do not end the time without a leader.
    carried = known.select(
        "*",
        F.when(is_led, F.struct("fault_seq", own_loss.alias("lost_us"), "went_us")).alias("loss"),
        F.when(F.row_number().over(in_order) == 1, F.col("at_us")).alias("first_us"),
    ).select("*", last("loss").over(in_order).alias("last_loss"), last("first_us").over(in_order).alias("began_us"))
    begin_us = F.when(F.col("last_loss").isNull(), F.col("began_us")).otherwise(
        F.coalesce("last_loss.lost_us", "last_loss.went_us")
    )
    after = F.struct(
        F.col("broker").alias("from_broker"), F.col("last_loss.fault_seq").alias("fault_seq"),
        F.col("last_loss.lost_us").alias("lost_us"), "noticed_us", begin_us.alias("begin_us"),
    )  # fmt: skip
    lost = carried.withColumn("after", after).withColumn("before", F.lag("after").over(in_order))
    return _elected(lost.where("before is not null")).unionByName(_without(lost))


def _elected(turns: DataFrame) -> DataFrame:
    """Elections after another leader."""
    is_over = F.coalesce("leads_us", F.when(~F.col("is_followed"), F.col("ends_us")))
    return _shown(
        turns, "before", seq=F.col("seq"), at_us=F.col("at_us"), leader_epoch=F.col("leader_epoch"),
        to_broker=F.col("broker"), elected_us=F.col("at_us"),
        **{
            name: F.col(name)
            for name in ("strategy", "leads_us", "first_append_us", "unclean", "truncated_records")
        },
        unavailable_us=is_over - F.col("before.begin_us"),
    )  # fmt: skip


def _without(turns: DataFrame) -> DataFrame:
    """Losses of the last leader. If that one never led, its own election has the time without a leader."""
    is_last = ~F.col("is_followed") & (F.col("leads_us").isNotNull() | F.col("before").isNull())
    is_lost = ~F.col("finds") | F.col("is_down")
    seq = F.coalesce(F.when(~F.col("finds"), F.col("went_seq")), "after.fault_seq", "seq")
    at_us = F.coalesce(F.when(~F.col("finds"), F.col("went_us")), "after.lost_us", "at_us")
    return _shown(
        turns.where(is_last & is_lost), "after", seq=seq, at_us=at_us,
        unavailable_us=F.col("ends_us") - F.col("after.begin_us"),
    )  # fmt: skip


def _shown(turns: DataFrame, loss: str, **values: Value) -> DataFrame:
    """The columns of the table; those of the loss are in a struct."""
    usual = {
        **{name: F.col(f"{loss}.{name}") for name in ("from_broker", "fault_seq", "lost_us", "noticed_us")},
        **{name: F.col(name) for name in ("topic", "incarnation", "partition")},
        "truncated_records": F.lit(0), **values,
    }  # fmt: skip
    columns = (usual.get(column.name, F.lit(None)).cast(column.type).alias(column.name) for column in FAILOVER_COLUMNS)
    found = turns.select(BRANCH, *columns)
    return found.withColumn("truncated_records", F.coalesce("truncated_records", F.lit(0).cast("bigint")))


def _turns(t: Tables) -> DataFrame:
    """Elections that found a leader, each with what follows.

    `went_seq`, `went_us`: the next decision, or the end; `finds`: it found a leader, or there was none. `until_seq`:
    the next election that found one (`is_followed`), or the end.
    """
    decides = (F.col("broker") >= 0) | F.col("strategy").isin(*_LEADERLESS)
    elected = with_incarnation(t.leader_epochs.where("role = 'elected'").where(decides), t.topics)
    in_order = Window.partitionBy(*_PARTITION).orderBy("seq")
    following = F.lead(F.struct("seq", "at_us", "broker")).over(in_order)
    own = Window.partitionBy(BRANCH, "topic").orderBy("incarnation")
    lives = t.topics.select(
        BRANCH, "topic", "incarnation", "deleted_us",
        F.coalesce("deleted_seq", F.lead("created_seq").over(own)).alias("end_seq"),
    )  # fmt: skip
    timed = with_end(elected.withColumn("next", following).where("broker >= 0"), t)
    ends_us = F.coalesce("deleted_us", "end_us")
    next_seq = F.lead("seq").over(in_order)
    return timed.join(F.broadcast(lives), [BRANCH, "topic", "incarnation"], "left").select(
        *_TURN, "at_us", "broker", "leader_epoch", "strategy", "unclean", ends_us.alias("ends_us"),
        F.coalesce("next.seq", "end_seq", F.lit(_FOREVER)).alias("went_seq"),
        F.coalesce("next.at_us", ends_us).alias("went_us"),
        (F.col("next").isNull() | (F.col("next.broker") >= 0)).alias("finds"),
        next_seq.isNotNull().alias("is_followed"), F.coalesce(next_seq, "end_seq", F.lit(_FOREVER)).alias("until_seq"),
    )  # fmt: skip


def _stops(t: Tables) -> DataFrame:
    """Times in which brokers do not respond, and the ends of their sessions.

    A broker is down from when it is frozen, stops or exits until it is resumed or has started.
    """
    faults = t.faults.select(
        BRANCH, broker_id(F.col("subject")).alias("broker"), "fault", "from_seq", "from_us", "to_us"
    ).where("broker is not null")
    of_broker = Window.partitionBy(BRANCH, "broker").orderBy("from_seq")
    begins = F.coalesce(F.lag("to_us").over(of_broker) != F.col("from_us"), F.lit(True))
    down = faults.where(F.col("fault").isin(*_DOWN)).withColumn("number", F.sum(begins.cast("int")).over(of_broker))
    whole = (
        down.groupBy(BRANCH, "broker", "number")
        .agg(F.min(F.struct("from_seq", "from_us", "fault")).alias("first"),
             F.max(F.struct("from_seq", "to_us")).alias("last"))
        .where("first.fault != 'starting'")
        .select(BRANCH, "broker", F.lit("down").alias("fault"), "first.from_seq", "first.from_us", "last.to_us")
    )  # fmt: skip
    return whole.union(faults.where("fault = 'session closed'"))


def _losses(t: Tables, turns: DataFrame) -> DataFrame:
    """When a leader stopped, and when its session ended, between its election and the next decision.

    A stop that had ended by then, such as that of a broker resumed in time, is not a loss, unless the session ended
    after it. `is_down`: the broker is down in the end.
    """
    fault = F.struct("from_seq", "from_us")
    is_closed, is_down = F.col("fault") == "session closed", F.col("fault") == "down"
    is_within = (F.col("from_seq") > F.col("seq")) & (F.col("from_seq") < F.col("went_seq"))
    closed_seq = F.max(F.when(is_closed & is_within, F.col("from_seq"))).over(Window.partitionBy(*_TURN))
    lasts = F.col("to_us").isNull() | (F.col("to_us") >= F.col("went_us")) | (F.col("closed_seq") > F.col("from_seq"))
    is_stop = is_within & lasts
    is_unended = F.col("to_us").isNull() | (F.col("to_us") >= F.col("ends_us"))
    return (
        turns.select(*_TURN, "broker", "went_seq", "went_us", "ends_us")
        .join(F.broadcast(_stops(t)), [BRANCH, "broker"])
        .withColumn("closed_seq", closed_seq)
        .groupBy(*_TURN)
        .agg(
            F.max(F.when(is_down & is_stop, fault)).alias("stopped"),
            F.max(F.when(is_closed & is_within, fault)).alias("closed"),
            F.max(is_down & is_unended & (F.col("from_us") < F.col("ends_us"))).alias("is_down"),
        )
        .select(
            *_TURN, "is_down", F.col("stopped.from_seq").alias("fault_seq"),
            F.coalesce("stopped.from_us", "closed.from_us").alias("lost_us"),
            F.when(F.col("stopped").isNull() | (F.col("closed.from_seq") > F.col("stopped.from_seq")),
                   F.col("closed.from_us")).alias("noticed_us"),
        )
    )  # fmt: skip


def _takes_over(t: Tables, turns: DataFrame) -> DataFrame:
    """When the new leader leads, and when it first appends."""
    ours = ("topic", "partition", "broker")
    nothing, epoch = F.lit(None).cast("bigint"), F.col("leader_epoch").alias("then_epoch")
    leads = t.leader_epochs.where("role = 'leads'").select(
        BRANCH, *ours, epoch, F.col("seq").alias("then_seq"), F.col("at_us").alias("leads_us"),
        nothing.alias("first_append_us"),
    )  # fmt: skip
    appends = t.batches.select(
        BRANCH, *ours, epoch, F.col("seq").alias("then_seq"), nothing.alias("leads_us"),
        F.col("at_us").alias("first_append_us"),
    )  # fmt: skip
    known = turns.select(*_TURN, "leader_epoch", "broker", "until_seq")
    return (
        leads.union(appends)
        .join(F.broadcast(known), [BRANCH, *ours])
        # A changed ISR has a later epoch under the same leader.
        .where("then_seq > seq and then_seq < until_seq and then_epoch >= leader_epoch")
        .groupBy(*_TURN)
        .agg(F.min("leads_us").alias("leads_us"), F.min("first_append_us").alias("first_append_us"))
    )


def _truncated(t: Tables, turns: DataFrame) -> DataFrame:
    """Number of records truncated by replicas between an election and the next one."""
    cuts = t.replica_offsets.where("measure = 'log_end' and lowered").select(
        BRANCH, "topic", "partition", F.col("seq").alias("then_seq"), (F.col("previous") - F.col("value")).alias("cut")
    )
    return (
        turns.select(*_TURN, "until_seq")
        .join(F.broadcast(cuts), [BRANCH, "topic", "partition"])
        .where("then_seq > seq and then_seq < until_seq")
        .groupBy(*_TURN)
        .agg(F.sum("cut").alias("truncated_records"))
    )


FAILOVERS = Table(
    name="gold.failovers", unit="branch", key=("topic", "incarnation", "partition", "seq"), small=True,
    columns=FAILOVER_COLUMNS, order=("seq", "topic", "partition"), make=failovers,
    needs=("silver.leader_epochs", "silver.faults", "silver.batches", "silver.replica_offsets", "silver.topics"),
    checks=(
        ordered("lost_us", "elected_us", "leads_us", "first_append_us"), not_null("from_broker"),
        between("unavailable_us", 0, 2**62),
    ),
    doc="An election of a leader for a partition that had one before, or the loss of a leader after which none was "
    "elected.",
)  # fmt: skip
