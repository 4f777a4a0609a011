"""Groups of before 0.9, which have no coordinator: what their members do after a change in ZooKeeper."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import last, stacked, word
from lab.analytics.tables import BIGINT, BRANCH, STRING, Table, Tables, c, ordered

MEMBER_REBALANCE_COLUMNS = (
    c("group", STRING, "the group"),
    c("client", STRING, "the consumer"),
    c("from_seq", BIGINT, "the event with which this starts"),
    c("from_us", BIGINT, "start"),
    c("to_seq", BIGINT, "the event with which it ends; null: not ended"),
    c("to_us", BIGINT, "end; null: not ended"),
    c("ends", STRING, "the consumer's next state; removed: it ended; null: not ended"),
    c("change_seq", BIGINT, "the last change before it of the group's members, of a topic, or of the brokers; 0: none"),
    c("why", STRING, "the reason"),
)

_CLIENT = (BRANCH, "client")
_GROUP = (BRANCH, "group")
_REBALANCING = "rebalancing"


def member_rebalances(t: Tables) -> DataFrame:
    """Spans in which a consumer rebalances by itself, with the change that it reacts to."""
    said = t.kind("ConsumerStateChanged").select(*_CLIENT, "seq", "at_us", "state", "why")
    gone = t.kind("NodeRemoved").select(
        BRANCH, F.col("node").alias("client"), "seq", "at_us", word("removed").alias("state"), word("").alias("why")
    )
    in_order = Window.partitionBy(*_CLIENT).orderBy("seq")
    is_in = F.col("state") == _REBALANCING
    # A further attempt is a state of its own.
    turns = (
        stacked([said, gone])
        .withColumn("before", F.lag("state").over(in_order))
        .where(is_in != F.coalesce(F.col("before") == _REBALANCING, F.lit(False)))
        .withColumn("next", F.lead(F.struct("seq", "at_us", "state")).over(in_order))
        .where(is_in)
    )
    consumers = t.nodes.where("node_kind = 'consumer'").select(
        BRANCH, F.col("node").alias("client"), "group", F.struct("from_seq", "to_us").alias("life")
    )
    alive = (F.col("life.from_seq") <= F.col("seq")) & (F.coalesce("life.to_us", "at_us") >= F.col("at_us"))
    spans = turns.join(F.broadcast(consumers), [*_CLIENT]).where(alive).select(
        *_GROUP, "seq", F.struct(
            "client", F.col("at_us").alias("from_us"), F.col("next.seq").alias("to_seq"),
            F.col("next.at_us").alias("to_us"), F.col("next.state").alias("ends"), "why",
        ).alias("span"),
        F.lit(None).cast("bigint").alias("change"),
    )  # fmt: skip
    groups = spans.select(*_GROUP).distinct()
    changes = _changes(t).join(F.broadcast(groups), [BRANCH]).where("of_group is null or of_group = group").select(
        *_GROUP, "seq", F.lit(None).cast(spans.schema["span"].dataType).alias("span"), F.col("seq").alias("change")
    )  # fmt: skip
    known = spans.union(changes).withColumn(
        "change_seq", F.coalesce(last("change").over(Window.partitionBy(*_GROUP).orderBy("seq")), F.lit(0))
    )
    return known.where("span is not null").select(*_GROUP, "span.*", F.col("seq").alias("from_seq"), "change_seq")


def _changes(t: Tables) -> DataFrame:
    """Changes that members of groups watch for. `of_group`: the group of a member that is registered or leaves."""
    path = F.col("path")
    parent = F.substring_index(path, "/", 4)
    kinds = t.kind("ZnodeCreated", "ZnodeChanged", "ZnodeDeleted")
    is_member = path.startswith("/consumers/") & (F.substring_index(F.substring_index(path, "/", 4), "/", -1) == "ids")
    is_member &= F.substring_index(path, "/", 5) == path
    is_other = (path.startswith("/brokers/topics/") | path.startswith("/brokers/ids/")) & (parent == path)
    group = F.when(is_member, F.substring_index(F.substring_index(path, "/", 3), "/", -1))
    return kinds.where((is_member & (parent != path)) | is_other).select(BRANCH, "seq", group.alias("of_group"))


MEMBER_REBALANCES = Table(
    name="silver.member_rebalances", unit="branch", key=("group", "client", "from_seq"), order=("from_seq",),
    columns=MEMBER_REBALANCE_COLUMNS, needs=("silver.nodes",), make=member_rebalances,
    kinds=("ConsumerStateChanged", "NodeRemoved", "ZnodeCreated", "ZnodeChanged", "ZnodeDeleted"),
    checks=(ordered("from_us", "to_us"),),
    doc="A span of time in which a consumer of a group without a coordinator (0.8) rebalances by itself.",
)  # fmt: skip
