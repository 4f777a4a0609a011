"""Rebalances of consumer groups."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import with_end
from lab.analytics.silver.parts import stacked
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, array, c, ordered, struct

REBALANCE_COLUMNS = (
    c("group", STRING, "the group"),
    c("generation_id", INT, "the generation after the rebalance, or the previous one if there is none; null in 0.8"),
    c("broker", STRING, "the coordinator's node; empty in 0.8, where groups have none"),
    c("seq", BIGINT, "the event that began it"),
    c("at_us", BIGINT, "when it began"),
    c("why", STRING, "the reason"),
    c("prepared_us", BIGINT, "when the group started to wait for its members, in 0.8 when the first of them began"),
    c("completed_us", BIGINT, "when all had joined, and the group leader was asked for the assignment; null: never"),
    c("stable_us", BIGINT, "when the members received their assignment, in 0.8 when all were done; null: never"),
    c("members", INT, "members of the new generation, in 0.8 those that rebalanced"),
    c("moved_partitions", INT, "partitions that its plan gives to another member than the last plan that had them; a "
      "static member that restarts is the same one"),
    c("stop_the_world_us", BIGINT, "the longest time in which a partition of the group had no owner; each such time "
      "belongs to the last rebalance that it overlaps"),
    c("stopped_us", BIGINT, "start of that time"),
    c("unowned_us", BIGINT, "the time without an owner, of all its partitions together"),
    c("by_member", array(struct(member=STRING, phase=STRING, from_us=BIGINT, to_us=BIGINT)),
      "states of each consumer during the rebalance"),
)  # fmt: skip

_REBALANCE = (BRANCH, "group", "broker", "seq")
_FOREVER = 2**62
_GAP = (BRANCH, "group", "topic", "incarnation", "partition")


def rebalances(t: Tables) -> DataFrame:
    """Each rebalance, from the first waiting state of the group to the stable one."""
    waits = _waits(t).unionByName(_of_members(t))
    return (
        waits.join(_moved(t, waits).union(_moved_by_members(t, waits)), [*_REBALANCE], "left")
        .join(_unowned(t, waits), [*_REBALANCE], "left")
        .join(_by_member(t, waits), [*_REBALANCE], "left")
        .withColumn("at_us", F.col("prepared_us"))
        .withColumns(
            {name: F.coalesce(name, F.lit(0)) for name in ("moved_partitions", "stop_the_world_us", "unowned_us")}
        )
    )


def _waits(t: Tables) -> DataFrame:
    """Rebalances with the times of their states at the coordinator."""
    in_order = Window.partitionBy(BRANCH, "group", "broker").orderBy("from_seq")

    def following(name: str, count: int) -> Value:
        return F.lead(name, count).over(in_order)

    states = t.group_generations.select(
        BRANCH, "group", "broker", F.col("from_seq").alias("seq"), "state", "why",
        F.col("from_us").alias("prepared_us"), "to_us",
        F.col("generation_id").alias("before"),
        *(
            following(name, count).alias(f"{name}_{count}")
            for count in (1, 2)
            for name in ("state", "from_seq", "from_us", "to_us", "generation_id", "members")
        ),
    )  # fmt: skip
    began = states.where("state = 'PreparingRebalance'")
    # A coordinator that stopped in between may have loaded the previous generation again.
    completes = (F.col("state_1") == "CompletingRebalance") & (F.col("from_us_1") == F.col("to_us"))
    stable = completes & (F.col("state_2") == "Stable") & (F.col("from_us_2") == F.col("to_us_1"))
    # Of the whole group: after a coordinator has been replaced, what follows is the new one's.
    next_us = F.lead("prepared_us").over(Window.partitionBy(BRANCH, "group").orderBy("seq"))
    return began.select(
        *_REBALANCE, "why", "prepared_us",
        F.when(completes, F.col("generation_id_1")).otherwise(F.col("before")).alias("generation_id"),
        F.when(completes, F.col("from_us_1")).alias("completed_us"),
        F.when(stable, F.col("from_us_2")).alias("stable_us"),
        F.when(completes, F.col("members_1")).otherwise(F.lit(0)).alias("members"),
        F.when(stable, F.col("from_seq_2")).alias("stable_seq"), next_us.alias("next_us"),
        F.when(completes, F.col("to_us_1")).otherwise(F.col("to_us")).alias("over_us"),
    )  # fmt: skip


def _of_members(t: Tables) -> DataFrame:
    """Rebalances of groups without a coordinator: what their members do after a change, until all of them are done."""
    in_order = Window.partitionBy(BRANCH, "group").orderBy("from_seq")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    done_us = F.max(F.coalesce("to_us", F.lit(_FOREVER))).over(before)
    begins = (F.col("from_us") > done_us) & (F.col("change_seq") != F.lag("change_seq").over(in_order))
    spans = t.member_rebalances.withColumn("begins", F.coalesce(begins, F.lit(True)).cast("int"))
    numbered = spans.withColumn("number", F.sum("begins").over(in_order))
    of_client = numbered.groupBy(BRANCH, "group", "number", "client").agg(
        F.min("from_seq").alias("seq"), F.min("from_us").alias("prepared_us"),
        F.min_by("why", "from_seq").alias("why"), F.max_by(F.struct("to_us", "ends"), "from_seq").alias("last"),
    )  # fmt: skip
    whole = of_client.groupBy(BRANCH, "group", "number").agg(
        F.min("seq").alias("seq"), F.min("prepared_us").alias("prepared_us"), F.min_by("why", "seq").alias("why"),
        F.count("*").cast("int").alias("members"),
        F.when(F.bool_and(F.col("last.to_us").isNotNull()), F.max("last.to_us")).alias("over_us"),
        F.bool_and(F.coalesce(F.col("last.ends") == "stable", F.lit(False))).alias("is_stable"),
    )  # fmt: skip
    nothing = F.lit(None).cast("bigint")
    of_group = Window.partitionBy(BRANCH, "group").orderBy("seq")
    return whole.select(
        BRANCH, "group", F.lit("").alias("broker"), "seq", "why", "prepared_us",
        F.lit(None).cast("int").alias("generation_id"), nothing.alias("completed_us"),
        F.when(F.col("is_stable"), F.col("over_us")).alias("stable_us"), "members",
        nothing.alias("stable_seq"), F.lead("prepared_us").over(of_group).alias("next_us"), "over_us",
    )  # fmt: skip


def _moved_by_members(t: Tables, waits: DataFrame) -> DataFrame:
    """Number of partitions that a consumer takes during a rebalance without a coordinator, of another one."""
    consumers = t.partition_owners.where("client is not null")
    of_partition = Window.partitionBy(*_GAP).orderBy("from_seq")
    taken = consumers.withColumn("before", F.lag("client").over(of_partition)).where("client != before")
    return (
        waits.where("broker = ''")
        .select(*_REBALANCE, "prepared_us", "over_us")
        .join(taken.select(BRANCH, "group", "from_seq", "from_us"), [BRANCH, "group"])
        .where("from_seq > seq and from_us <= coalesce(over_us, from_us)")
        .groupBy(*_REBALANCE)
        .agg(F.count("*").alias("moved_partitions"))
    )


def _moved(t: Tables, waits: DataFrame) -> DataFrame:
    """Number of partitions that the plan of a rebalance gives to another member than the last plan that had them."""
    of_partition = Window.partitionBy(BRANCH, "group", "topic", "incarnation", "partition").orderBy("seq")
    planned = with_incarnation(t.group_assignments.where("change = 'assigned' and not is_empty"), t.topics)
    owner = F.struct(F.isnull("instance"), F.coalesce("instance", "member"))
    # A custom assignor may give a partition to several members.
    assigned = (
        planned.join(F.broadcast(_instances(t)), [BRANCH, "group", "member"], "left")
        .groupBy(BRANCH, "group", "broker", "seq", "topic", "incarnation", "partition")
        .agg(F.array_sort(F.collect_set(owner)).alias("owners"))
        .withColumn("before", F.lag("owners").over(of_partition))
        .where("owners != before")
        .select(BRANCH, "group", "broker", F.col("seq").alias("assigned_seq"))
    )
    # Not by generation: a group that was deleted, or lost with its coordinator, starts its generations again.
    return (
        waits.select(*_REBALANCE, "stable_seq")
        .join(assigned, [BRANCH, "group", "broker"])
        .where("assigned_seq > seq and assigned_seq < stable_seq")
        .groupBy(*_REBALANCE)
        .agg(F.count("*").alias("moved_partitions"))
    )


def _instances(t: Tables) -> DataFrame:
    """The ids of static members, with their group.instance.id: each process of one has another id."""
    named = t.group_members.where("instance != ''").select(BRANCH, "group", "member", "instance")
    replaced = t.group_members.where("change = 'replaced'")
    ids = (
        replaced.select(BRANCH, "group", F.col(name).alias("member"), "instance") for name in ("member", "old_member")
    )
    return stacked([named, *ids]).groupBy(BRANCH, "group", "member").agg(F.max("instance").alias("instance"))


def _unowned(t: Tables, waits: DataFrame) -> DataFrame:
    """How long partitions had no owner around a rebalance.

    A time without an owner counts as a whole, for the last rebalance that it overlaps: it begins before the rebalance
    is over, and ends after it began.
    """
    gaps = with_end(t.partition_owners.where("client is null"), t).select(
        *_GAP, F.col("from_us").alias("gap_us"), F.coalesce("to_us", "end_us").alias("owned_us")
    )
    last = Window.partitionBy(*_GAP, "gap_us").orderBy(F.desc("seq"))
    overlaps = (F.col("owned_us") >= F.col("prepared_us")) & (F.col("gap_us") <= F.coalesce("over_us", "owned_us"))
    lasted = F.col("owned_us") - F.col("gap_us")
    return (
        gaps.join(F.broadcast(waits.select(*_REBALANCE, "prepared_us", "over_us")), [BRANCH, "group"])
        .where(overlaps)
        .withColumn("place", F.row_number().over(last))
        .where("place = 1")
        .groupBy(*_REBALANCE)
        .agg(
            F.max(lasted).alias("stop_the_world_us"),
            F.max_by("gap_us", lasted).alias("stopped_us"),
            F.sum(lasted).alias("unowned_us"),
        )
    )


def _by_member(t: Tables, waits: DataFrame) -> DataFrame:
    """The states of the group's consumers during the rebalance."""
    in_order = Window.partitionBy(BRANCH, "client").orderBy("seq")
    consumers = t.nodes.where("node_kind = 'consumer'").select(
        BRANCH, F.col("node").alias("client"), "group", F.col("from_us").alias("opened_us"),
        F.col("to_us").alias("closed_us"),
    )  # fmt: skip
    phases = t.client_states.where("what = 'consumer'").select(
        BRANCH, "client", F.col("state").alias("phase"), F.col("at_us").alias("phase_us"),
        F.lead("at_us").over(in_order).alias("left_us"),
    )  # fmt: skip
    of_group = phases.join(F.broadcast(consumers), [BRANCH, "client"]).where(
        (F.col("phase_us") >= F.col("opened_us")) & (F.coalesce("closed_us", "phase_us") >= F.col("phase_us"))
    )
    ends = F.coalesce("stable_us", "next_us", "end_us")
    from_us = F.greatest("phase_us", "prepared_us")
    # Another consumer of the same name may have come since: `left_us` is its first state then.
    to_us = F.least("left_us", "closed_us", "end_us", "ends_us")
    during = (
        with_end(waits, t)
        .select(*_REBALANCE, "prepared_us", ends.alias("ends_us"), "end_us")
        .join(of_group, [BRANCH, "group"])
        .select(*_REBALANCE, F.struct(
            F.col("client").alias("member"), "phase", from_us.alias("from_us"), to_us.alias("to_us")
        ).alias("one"))
        .where("one.to_us > one.from_us")
    )  # fmt: skip
    return during.groupBy(*_REBALANCE).agg(F.array_sort(F.collect_list("one")).alias("by_member"))


REBALANCES = Table(
    name="gold.rebalances", unit="branch", key=("group", "broker", "seq"), columns=REBALANCE_COLUMNS, small=True,
    needs=(
        "silver.group_generations", "silver.group_assignments", "silver.group_members", "silver.partition_owners",
        "silver.client_states", "silver.nodes", "silver.topics", "silver.member_rebalances",
    ),
    make=rebalances, order=("seq",), checks=(ordered("prepared_us", "completed_us", "stable_us"),),
    doc="A rebalance of a group; in 0.8 what its members do by themselves after a change.",
)  # fmt: skip
