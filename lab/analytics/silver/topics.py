"""Topics, and their partitions and replicas in ZooKeeper and at the controller."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, of_replica, rows, stacked, word
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, array, c, ordered
from lab.analytics.tables.table import AT_US, SEQ

_TOPICS = "/brokers/topics/"
_ASSIGNMENT = "partitions map<string, array<int>>"
_STATE = "leader int, leader_epoch int, controller_epoch int, isr array<int>"
_NEVER = 2**62
_NO_REPLICAS = "cast(array() as array<struct<partition: int, broker: int>>)"

_ZNODES = ("ZnodeCreated", "ZnodeChanged", "ZnodeDeleted")


def _topic_in(path: Value) -> Value:
    return F.substring_index(F.substring_index(path, "/", 4), "/", -1)


def _of_topics(frame: DataFrame) -> DataFrame:
    """Changes of the znodes that hold the assignments of topics, with the topic."""
    path = F.col("path")
    is_topic = path.startswith(_TOPICS) & (F.substring_index(path, "/", 4) == path)
    return frame.where(is_topic).withColumn("topic", _topic_in(path))


def _of_states(frame: DataFrame) -> DataFrame:
    """Changes of the znodes that hold the states of partitions."""
    path = F.col("path")
    return frame.where(path.startswith(_TOPICS) & path.endswith("/state") & (F.substring_index(path, "/", 7) == path))


TOPIC_COLUMNS = (
    c("topic", STRING, "the topic's name"),
    c("incarnation", INT, "1 for the first topic of this name, one more for each created after it was deleted"),
    c("partitions", INT, "partitions, after the last change"),
    c("replication", INT, "maximum number of replicas of a partition"),
    c("created_seq", BIGINT, "the event that created it"),
    c("created_us", BIGINT, "when it was created"),
    c("deleted_seq", BIGINT, "the event that deleted it; null while it exists"),
    c("deleted_us", BIGINT, "when it was deleted; null while it exists"),
)


def topics(t: Tables) -> DataFrame:
    """Topics by creation: offsets of a deleted topic are not mixed with those of a recreated one."""
    in_order = Window.partitionBy(BRANCH, "topic").orderBy("seq")
    created, deleted = F.col("kind") == "ZnodeCreated", F.col("kind") == "ZnodeDeleted"
    counted = _of_topics(t.kind(*_ZNODES)).select(
        BRANCH, "topic", "seq", "at_us", "kind", F.from_json("data", _ASSIGNMENT)["partitions"].alias("assignment"),
        F.count(F.when(created, 1)).over(in_order).cast("int").alias("incarnation"),
    )  # fmt: skip
    last = F.max_by("assignment", F.when(F.col("assignment").isNotNull(), F.col("seq")))
    return (
        counted.where("incarnation > 0")
        .groupBy(BRANCH, "topic", "incarnation")
        .agg(
            last.alias("assignment"),
            F.min(F.when(created, F.col("seq"))).alias("created_seq"),
            F.min(F.when(created, F.col("at_us"))).alias("created_us"),
            F.min(F.when(deleted, F.col("seq"))).alias("deleted_seq"),
            F.min(F.when(deleted, F.col("at_us"))).alias("deleted_us"),
        )
        .select(
            BRANCH,
            "topic",
            "incarnation",
            F.coalesce(F.size("assignment"), F.lit(0)).alias("partitions"),
            F.coalesce(F.array_max(F.transform(F.map_values("assignment"), F.size)), F.lit(0)).alias("replication"),
            "created_seq",
            "created_us",
            "deleted_seq",
            "deleted_us",
        )
    )


TOPICS = Table(
    name="silver.topics", unit="branch", key=("topic", "incarnation"), columns=TOPIC_COLUMNS, kinds=_ZNODES,
    make=topics, doc="A topic, from its creation to its deletion.",
)  # fmt: skip


def with_incarnation(frame: DataFrame, topics: DataFrame, seq: str = "seq") -> DataFrame:
    """Rows that have a topic, with its incarnation at `seq`; null if no znode shows that the topic existed."""
    own = Window.partitionBy(BRANCH, "topic").orderBy("incarnation")
    spans = topics.select(
        F.col(BRANCH).alias("_branch"),
        F.col("topic").alias("_topic"),
        "incarnation",
        F.col("created_seq").alias("_from"),
        F.coalesce(F.lead("created_seq").over(own), F.lit(_NEVER)).alias("_to"),
    )
    same = (F.col(BRANCH) == F.col("_branch")) & (F.col("topic") == F.col("_topic"))
    within = (F.col(seq) >= F.col("_from")) & (F.col(seq) < F.col("_to"))
    return frame.join(F.broadcast(spans), same & within, "left").drop("_branch", "_topic", "_from", "_to")


PARTITION_STATE_COLUMNS = (
    SEQ,
    AT_US,
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("source", STRING, "its source: a created, changed or deleted znode, or the controller"),
    c("leader", INT, "the leader in ZooKeeper, -1: none"),
    c("leader_epoch", INT, "its leader epoch"),
    c("isr", array(INT), "the ISR in ZooKeeper; empty when the znode was deleted"),
    c("controller_epoch", INT, "the epoch of the controller that wrote it last"),
    c("partition_epoch", INT, "the version of the znode"),
    c("state", STRING, "the state in the controller's own state machine"),
)


def partition_states(t: Tables) -> DataFrame:
    """Each state of a partition: in ZooKeeper, and in a controller's state machine."""
    deleted = F.col("kind") == "ZnodeDeleted"
    created = F.col("kind") == "ZnodeCreated"
    said = _of_states(t.kind(*_ZNODES)).withColumn("said", F.from_json("data", _STATE))
    written = rows(
        said.where(deleted | (F.col("said.isr").isNotNull() & F.col("said.leader").isNotNull())),
        PARTITION_STATE_COLUMNS,
        topic=_topic_in(F.col("path")),
        partition=F.substring_index(F.substring_index("path", "/", 6), "/", -1).try_cast("int"),
        # Not `lower`: a JVM spends two seconds on the first use of it, for the tables of all of Unicode.
        source=F.when(created, "created").when(deleted, "deleted").otherwise("changed"),
        leader=F.when(deleted, -1).otherwise(F.col("said.leader")),
        isr=F.when(deleted, F.array()).otherwise(F.col("said.isr")),
        **{name: F.col(f"said.{name}") for name in ("leader_epoch", "controller_epoch")},
        partition_epoch=F.when(created, 0).otherwise(F.col("version")),
    )
    machine = rows(
        t.kind("PartitionStateChanged"),
        PARTITION_STATE_COLUMNS,
        **of_partition(F.col("partition")),
        source=word("controller"),
        state=F.col("state"),
    )
    return written.union(machine)


PARTITION_STATES = Table(
    name="silver.partition_states", unit="branch", key=("seq",), columns=PARTITION_STATE_COLUMNS, per_event=True,
    kinds=(*_ZNODES, "PartitionStateChanged"), make=partition_states, doc="A state of a partition.",
)  # fmt: skip

REPLICA_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "a broker that is assigned a replica of it"),
    c("from_seq", BIGINT, "the event with which this starts"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended"),
    c("state", STRING, "the state of the replica in the controller's state machine; null: it has none yet"),
)


def replicas(t: Tables) -> DataFrame:
    """Spans in which a broker is assigned a replica, split where the controller's state of it changes."""
    assigned = _assigned(t)
    states = t.kind("ReplicaStateChanged").select(
        BRANCH,
        "seq",
        "at_us",
        *(value.alias(name) for name, value in of_replica(F.col("replica")).items()),
        F.lit(None).cast("boolean").alias("is_assigned"),
        F.when(F.col("state").startswith("NonExistent"), "").otherwise(F.col("state")).alias("state"),
    )
    each = Window.partitionBy(BRANCH, "topic", "partition", "broker").orderBy("seq")
    spans = stacked([assigned, states]).select(
        BRANCH,
        "topic",
        "partition",
        "broker",
        F.col("seq").alias("from_seq"),
        F.col("at_us").alias("from_us"),
        F.lead("at_us").over(each).alias("to_us"),
        F.last("is_assigned", ignorenulls=True).over(each).alias("is_assigned"),
        F.nullif(F.last("state", ignorenulls=True).over(each), F.lit("")).alias("state"),
    )
    lasts = F.col("to_us").isNull() | (F.col("to_us") > F.col("from_us"))
    return spans.where(F.col("is_assigned") & lasts).drop("is_assigned")


def _assigned(t: Tables) -> DataFrame:
    """Each assignment or removal of a replica."""
    said, none = F.from_json("data", _ASSIGNMENT)["partitions"], F.expr(_NO_REPLICAS)
    changes = _of_topics(t.kind(*_ZNODES)).select(
        BRANCH, "seq", "at_us", "topic",
        F.when(F.col("kind") == "ZnodeDeleted", none).otherwise(_replicas_in(said)).alias("now"),
    ).where("now is not null")  # fmt: skip
    in_order = Window.partitionBy(BRANCH, "topic").orderBy("seq")
    each = changes.select("*", F.coalesce(F.lag("now").over(in_order), none).alias("before"))
    changed = F.array_union(F.array_except("now", "before"), F.array_except("before", "now"))
    return each.select(BRANCH, "seq", "at_us", "topic", "now", F.explode(changed).alias("one")).select(
        BRANCH, "seq", "at_us", "topic", "one.partition", "one.broker",
        F.array_contains("now", F.col("one")).alias("is_assigned"), F.lit(None).cast("string").alias("state"),
    )  # fmt: skip


def _replicas_in(assignment: Value) -> Value:
    """The pairs of partition and broker of an assignment."""
    one = F.transform(
        F.map_entries(assignment),
        lambda entry: F.transform(
            entry["value"],
            lambda broker: F.struct(entry["key"].try_cast("int").alias("partition"), broker.alias("broker")),
        ),
    )
    return F.flatten(one)


REPLICAS = Table(
    name="silver.replicas", unit="branch", key=("topic", "partition", "broker", "from_seq"), columns=REPLICA_COLUMNS,
    kinds=(*_ZNODES, "ReplicaStateChanged"), make=replicas, checks=(ordered("from_us", "to_us"),),
    doc="A span of time in which a broker is assigned a replica.",
)  # fmt: skip

LEADER_EPOCH_COLUMNS = (
    SEQ,
    AT_US,
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the broker of the replica; of an election the new leader, -1: none"),
    c("role", STRING, "elected, leads, follows, offline, checkpoint, or fetch failed"),
    c("leader_epoch", INT, "the leader epoch"),
    c("leader", INT, "the leader of a follower"),
    c("start_offset", BIGINT, "start offset of the epoch in the log"),
    c("isr", array(INT), "the ISR after the election"),
    c("strategy", STRING, "election strategy of the controller"),
    c("unclean", "boolean", "the leader was not in the ISR"),
    c("why", STRING, "why a fetch failed"),
)


def leader_epochs(t: Tables) -> DataFrame:
    """Leader decisions of the controller, and the replicas' reactions."""
    replica = of_replica(F.col("replica"))
    columns = LEADER_EPOCH_COLUMNS
    # A checkpoint may be empty.
    last = F.try_element_at(F.try_variant_get("entries", "$", "array<array<bigint>>"), F.lit(-1))
    return stacked(
        [
            rows(
                t.kind("LeaderElected"), columns, **of_partition(F.col("partition")), role=word("elected"),
                broker=F.col("leader"), leader_epoch=F.col("leader_epoch"), strategy=F.col("strategy"),
                unclean=F.col("unclean"), isr=F.col("isr"),
            ),
            rows(
                t.kind("ReplicaBecameLeader"), columns, **replica, role=word("leads"),
                leader_epoch=F.col("leader_epoch"), start_offset=F.col("leader_epoch_start_offset"), isr=F.col("isr"),
            ),
            rows(
                t.kind("ReplicaBecameFollower"), columns, **replica, role=word("follows"),
                leader_epoch=F.col("leader_epoch"), leader=F.col("leader"),
            ),
            rows(t.kind("ReplicaWentOffline"), columns, **replica, role=word("offline")),
            rows(
                t.kind("LeaderEpochsChanged"), columns, **replica, role=word("checkpoint"),
                leader_epoch=F.get(last, F.lit(0)).try_cast("int"), start_offset=F.get(last, F.lit(1)),
            ),
            rows(
                t.kind("FetcherFailed"), columns, **replica, role=word("fetch failed"), leader=F.col("leader"),
                why=F.col("why"),
            ),
        ]
    )  # fmt: skip


LEADER_EPOCHS = Table(
    name="silver.leader_epochs", unit="branch", key=("seq",), columns=LEADER_EPOCH_COLUMNS, per_event=True,
    kinds=(
        "LeaderElected", "ReplicaBecameLeader", "ReplicaBecameFollower", "ReplicaWentOffline", "LeaderEpochsChanged",
        "FetcherFailed",
    ),
    make=leader_epochs, doc="An election, or a change of a replica's role or epoch.",
)  # fmt: skip

ISR_CHANGE_COLUMNS = (
    SEQ,
    AT_US,
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the leader"),
    c("change", STRING, "proposed, shrunk, expanded, or refused"),
    c("from_isr", array(INT), "the previous ISR; null for a proposal"),
    c("to_isr", array(INT), "the new or proposed ISR"),
    c("partition_epoch", INT, "the version of the partition's state"),
    c("error", STRING, "why it was refused"),
)


def isr_changes(t: Tables) -> DataFrame:
    """Changes of the ISR by leaders."""
    replica = of_replica(F.col("replica"))
    columns = ISR_CHANGE_COLUMNS
    done = [
        rows(
            t.kind(kind), columns, **replica, change=word(change), from_isr=F.col("from_isr"), to_isr=F.col("to_isr"),
            partition_epoch=F.col("partition_epoch"),
        )
        for kind, change in (("IsrShrunk", "shrunk"), ("IsrExpanded", "expanded"))
    ]  # fmt: skip
    proposed = rows(t.kind("IsrChangeProposed"), columns, **replica, change=word("proposed"), to_isr=F.col("isr"))
    refused = rows(
        t.kind("IsrChangeRefused"), columns, **replica, change=word("refused"), to_isr=F.col("isr"),
        error=F.col("error"),
    )  # fmt: skip
    return stacked([*done, proposed, refused])


ISR_CHANGES = Table(
    name="silver.isr_changes", unit="branch", key=("seq",), columns=ISR_CHANGE_COLUMNS, per_event=True,
    kinds=("IsrChangeProposed", "IsrShrunk", "IsrExpanded", "IsrChangeRefused"), make=isr_changes,
    doc="A change of an ISR that its leader makes or proposes.",
)  # fmt: skip
