"""Consumer groups: their states at the coordinator, their members, and their assignments."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, pairs, rows, stacked, word
from lab.analytics.tables import BIGINT, BOOLEAN, BRANCH, INT, STRING, Table, Tables, array, c, ordered
from lab.analytics.tables.table import AT_US, SEQ

GROUP_GENERATION_COLUMNS = (
    c("group", STRING, "the group"),
    c("broker", STRING, "the coordinator's node; two while a replaced coordinator is not yet aware of it"),
    c("generation_id", INT, "the generation"),
    c("state", STRING, "Empty, PreparingRebalance, CompletingRebalance, Stable, or Dead"),
    c("from_seq", BIGINT, "the event with which the state starts"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended"),
    c("protocol", STRING, "the assignor"),
    c("leader", STRING, "the member that assigns"),
    c("why", STRING, "reason of the transition"),
    c("members", INT, "number of members at the start of the state"),
)

_GROUP = (BRANCH, "group", "broker")


def group_generations(t: Tables) -> DataFrame:
    """The states of groups, each until the next one, or until its coordinator unloads the group or stops."""
    states = t.kind("GroupTransitioned").select(
        *_GROUP, "seq", "at_us", F.lit(0).alias("joins"), F.col("to_state").alias("state"),
        F.struct("generation_id", "protocol", "leader", "why").alias("said"),
    )  # fmt: skip
    nothing = F.lit(None).cast(states.schema["said"].dataType).alias("said")
    members = [
        t.kind(kind).select(*_GROUP, "seq", "at_us", F.lit(joins).alias("joins"), word("").alias("state"), nothing)
        for kind, joins in (("GroupMemberAdded", 1), ("GroupMemberRemoved", -1))
    ]
    forgotten = t.kind("GroupsUnloaded").select(
        BRANCH, F.explode("groups").alias("group"), "broker", "seq", "at_us", F.lit(0).alias("joins"),
        word("ended").alias("state"), nothing,
    )  # fmt: skip
    known = states.select(*_GROUP).distinct()
    stopped = t.kind("BrokerStopped").join(known, [BRANCH, "broker"]).select(
        *_GROUP, "seq", "at_us", F.lit(0).alias("joins"), word("ended").alias("state"), nothing
    )  # fmt: skip
    in_order = Window.partitionBy(*_GROUP).orderBy("seq")
    counted = stacked([states, *members, forgotten, stopped]).withColumn(
        "life", F.count(F.when(F.col("state").isin("ended", "Dead"), 1)).over(in_order)
    )
    in_life = Window.partitionBy(*_GROUP, "life").orderBy("seq")
    changes = counted.withColumn("members", F.sum("joins").over(in_life).cast("int")).where("state != ''")
    timed = changes.withColumn("to_us", F.lead("at_us").over(in_order)).where("state != 'ended'")
    return timed.select(
        *_GROUP, "said.*", "state", F.col("seq").alias("from_seq"), F.col("at_us").alias("from_us"), "to_us",
        F.greatest("members", F.lit(0)).alias("members"),
    )  # fmt: skip


GROUP_GENERATIONS = Table(
    name="silver.group_generations", unit="branch", key=("group", "broker", "from_seq"),
    columns=GROUP_GENERATION_COLUMNS, make=group_generations, checks=(ordered("from_us", "to_us"),),
    kinds=("GroupTransitioned", "GroupMemberAdded", "GroupMemberRemoved", "GroupsUnloaded", "BrokerStopped"),
    doc="A state of a group at a coordinator.",
)  # fmt: skip

GROUP_MEMBER_COLUMNS = (
    SEQ,
    AT_US,
    c("group", STRING, "the group"),
    c("broker", STRING, "the coordinator's node"),
    c("member", STRING, "the member's id"),
    c("change", STRING, "added, updated, replaced, or removed"),
    c("client", STRING, "the client"),
    c("instance", STRING, "of a static member: its group.instance.id"),
    c("old_member", STRING, "of a restarted static member: its previous id"),
    c("session_timeout_ms", BIGINT, "time without a heartbeat after which it is removed"),
    c("rebalance_timeout_ms", BIGINT, "time that a rebalance waits for it"),
    c("protocols", array(STRING), "its assignors, the preferred one first"),
    c("why", STRING, "why it was removed"),
)


def group_members(t: Tables) -> DataFrame:
    """Members according to coordinators."""
    same = {name: F.col(name) for name in ("group", "broker", "member")}
    protocols = F.transform(pairs(F.col("protocols")), lambda one: F.get(one, F.lit(0)))
    timeouts = {name: F.col(name) for name in ("session_timeout_ms", "rebalance_timeout_ms")}
    identity = {name: F.col(name) for name in ("client", "instance")}
    columns = GROUP_MEMBER_COLUMNS
    return stacked(
        [
            rows(
                t.kind("GroupMemberAdded"), columns, **same, **timeouts, **identity, change=word("added"),
                protocols=protocols,
            ),
            rows(
                t.kind("GroupMemberUpdated"), columns, **same, **timeouts, change=word("updated"), protocols=protocols
            ),
            rows(
                t.kind("GroupMemberReplaced"), columns, **same, **identity, change=word("replaced"),
                old_member=F.col("old_member"),
            ),
            rows(t.kind("GroupMemberRemoved"), columns, **same, change=word("removed"), why=F.col("why")),
        ]
    )  # fmt: skip


GROUP_MEMBERS = Table(
    name="silver.group_members", unit="branch", key=("seq",), columns=GROUP_MEMBER_COLUMNS, per_event=True,
    kinds=("GroupMemberAdded", "GroupMemberUpdated", "GroupMemberReplaced", "GroupMemberRemoved"),
    make=group_members, doc="A change of a group's members.",
)  # fmt: skip

GROUP_ASSIGNMENT_COLUMNS = (
    SEQ,
    AT_US,
    c("group", STRING, "the group; null for an event of a consumer, which names none"),
    c("broker", STRING, "of an assignment by a coordinator: its node"),
    c("generation_id", INT, "the generation"),
    c("member", STRING, "the member that the coordinator assigns to"),
    c("client", STRING, "the consumer that owns or revokes it"),
    c("topic", STRING, "the topic; null: no partition"),
    c("partition", INT, "the partition's number"),
    c("change", STRING, "assigned: by the coordinator; owned, revoked: by the consumer; twice, nobody: assigned to "
      "several members or to none by a custom assignor; defined: a custom assignor was defined"),
    c("assignor", STRING, "the custom assignor"),
    c("is_empty", BOOLEAN, "no partition"),
)  # fmt: skip


def group_assignments(t: Tables) -> DataFrame:
    """Assignments, one row per partition."""
    columns = GROUP_ASSIGNMENT_COLUMNS
    each = t.kind("GroupAssigned").withColumn(
        "one", F.explode(F.try_variant_get("assignments", "$", "array<array<variant>>"))
    )
    member = F.try_variant_get(F.get("one", F.lit(0)), "$", "string")
    given = F.try_variant_get(F.get("one", F.lit(1)), "$", "array<string>")
    found = [
        _partitions(
            each, given, group=F.col("group"), broker=F.col("broker"), generation_id=F.col("generation_id"),
            member=member, change=word("assigned"),
        ),
        _partitions(t.kind("ConsumerAssigned"), F.col("partitions"), client=F.col("client"), change=word("owned")),
        _partitions(
            t.kind("ConsumerAssigned").where(F.size("revoked") > 0), F.col("revoked"), client=F.col("client"),
            change=word("revoked"),
        ),
        *(
            _partitions(
                t.kind("AssignmentPlanned").where(F.size(wrong) > 0), F.col(wrong), client=F.col("client"),
                group=F.col("group"), generation_id=F.col("generation_id"), assignor=F.col("assignor"),
                change=word(wrong),
            )
            for wrong in ("twice", "nobody")
        ),
        rows(t.kind("AssignorDefined"), columns, assignor=F.col("assignor"), change=word("defined")),
    ]  # fmt: skip
    return stacked(found)


def _partitions(frame: DataFrame, names: Value, **values: Value) -> DataFrame:
    """A row for each partition, or one row without a partition."""
    each = frame.withColumn("_name", F.explode_outer(names))
    name = F.col("_name")
    return rows(each, GROUP_ASSIGNMENT_COLUMNS, **of_partition(name), is_empty=name.isNull(), **values)


GROUP_ASSIGNMENTS = Table(
    name="silver.group_assignments", unit="branch", key=("seq", "change", "member", "topic", "partition"),
    columns=GROUP_ASSIGNMENT_COLUMNS, per_event=True,
    kinds=("GroupAssigned", "ConsumerAssigned", "AssignmentPlanned", "AssignorDefined"), make=group_assignments,
    doc="A partition that a member is assigned, owns or revokes.",
)  # fmt: skip
