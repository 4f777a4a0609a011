"""Leaders, ISR members, and their changes."""

from functools import reduce

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import share_of, with_end
from lab.analytics.silver.parts import last, spans
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BRANCH, DOUBLE, INT, STRING, Table, Tables, between, c, one_of, ordered

_PARTITION = (BRANCH, "topic", "partition")
_END = 2**62

ROLE_SPAN_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "a broker that is assigned a replica"),
    c("role", STRING, "leader, isr, or outisr"),
    c("seq", BIGINT, "the event with which this starts"),
    c("at_us", BIGINT, "its time"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; if it lasts until the end, the last instant of the run"),
)


def role_spans(t: Tables) -> DataFrame:
    """Spans in which a broker leads a partition, is in its ISR, or is out of it, in ZooKeeper.

    Only while it is assigned a replica; adjacent spans with the same role are merged.
    """
    in_order = Window.partitionBy(*_PARTITION).orderBy("seq")
    states = t.partition_states.where("source != 'controller'").select(
        *_PARTITION,
        "seq",
        "at_us",
        "leader",
        "isr",
        F.coalesce(F.lead("at_us").over(in_order), F.lit(_END)).alias("end"),
    )
    replicas = t.replicas.select(
        *_PARTITION, "broker", F.col("from_seq").alias("assigned_seq"), F.col("from_us").alias("assigned_us"),
        F.coalesce("to_us", F.lit(_END)).alias("gone_us"),
    )  # fmt: skip
    role = (
        F.when(F.col("leader") == F.col("broker"), "leader")
        .when(F.array_contains("isr", F.col("broker")), "isr")
        .otherwise("outisr")
    )
    seq = F.when(F.col("assigned_us") > F.col("at_us"), F.col("assigned_seq")).otherwise(F.col("seq"))
    from_us, to_us = F.greatest("at_us", "assigned_us"), F.least("end", "gone_us")
    # A deleted partition has neither an ISR nor roles.
    spans = (
        states.where(F.size("isr") > 0)
        .join(replicas, [*_PARTITION])
        .select(
            *_PARTITION, "broker", role.alias("role"), seq.alias("seq"), from_us.alias("from_us"), to_us.alias("to_us")
        )
        .where("to_us > from_us")
    )
    each = Window.partitionBy(*_PARTITION, "broker").orderBy("from_us")
    begins = (F.lag("role").over(each) != F.col("role")) | (F.lag("to_us").over(each) != F.col("from_us"))
    numbered = spans.withColumn("begins", F.coalesce(begins, F.lit(True)).cast("int")).withColumn(
        "number", F.sum("begins").over(each)
    )
    merged = numbered.groupBy(*_PARTITION, "broker", "role", "number").agg(
        F.min("seq").alias("seq"), F.min("from_us").alias("from_us"), F.max("to_us").alias("to_us")
    )
    return (
        with_end(with_incarnation(merged, t.topics), t)
        .withColumn("to_us", F.when(F.col("to_us") == _END, F.col("end_us")).otherwise(F.col("to_us")))
        .withColumn("at_us", F.col("from_us"))
        .where("to_us > from_us")
    )


ROLE_SPANS = Table(
    name="gold.role_spans", unit="branch", key=("topic", "partition", "broker", "from_us"), columns=ROLE_SPAN_COLUMNS,
    needs=("silver.partition_states", "silver.replicas", "silver.topics"), make=role_spans, small=True,
    checks=(ordered("from_us", "to_us"), one_of("role", "leader", "isr", "outisr")),
    doc="A span of time in which a replica has one role in ZooKeeper.",
)  # fmt: skip

ISR_CHURN_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("shrinks", BIGINT, "number of times that its leader removed replicas from the ISR"),
    c("expands", BIGINT, "number of times that its leader added replicas to the ISR"),
    c("refused", BIGINT, "number of refused ISR changes"),
    c("flaps", BIGINT, "number of removed replicas that returned within replica.lag.time.max.ms"),
    c("under_min_us", BIGINT, "time in which the ISR was smaller than min.insync.replicas"),
    c("leaderless_us", BIGINT, "time in which the partition had no leader"),
    c("full_share", DOUBLE, "share of its time in which all its replicas were in the ISR"),
    c("smallest", INT, "the size of the smallest ISR"),
    c("seq", BIGINT, "the first of these shrinks and expansions; null: there was none"),
    c("at_us", BIGINT, "its time"),
)

_CREATED = (BRANCH, "topic", "incarnation", "partition")
_CHANGES = {"shrunk": "shrinks", "expanded": "expands", "refused": "refused"}
_MIN_ISR, _LAG_TIME = "min.insync.replicas", "replica.lag.time.max.ms"
_USUAL_LAG_TIME_MS = 30_000


def isr_churn(t: Tables) -> DataFrame:
    """Stability of the ISR of each partition, in ZooKeeper and at its leaders."""
    states = _isr_states(t)
    lasts = F.col("to_us") - F.col("from_us")

    def lasted(condition: Value) -> Value:
        return F.sum(F.when(condition, lasts).otherwise(0))

    in_sync = F.size("isr")
    steady = states.groupBy(*_CREATED).agg(
        lasted(in_sync < F.col("min_isr")).alias("under_min_us"),
        lasted(F.col("leader") < 0).alias("leaderless_us"),
        F.sum(lasts).alias("whole_us"),
        F.min(in_sync).alias("smallest"),
    )
    changed = F.col("change").isin("shrunk", "expanded")
    counts = (
        with_incarnation(t.isr_changes, t.topics)
        .groupBy(*_CREATED)
        .agg(
            *(F.count(F.when(F.col("change") == change, 1)).alias(name) for change, name in _CHANGES.items()),
            F.min(F.when(changed, F.col("seq"))).alias("seq"),
            F.min(F.when(changed, F.col("at_us"))).alias("at_us"),
        )
    )
    others = (_full(t), counts, _flaps(t))
    whole = reduce(lambda one, other: one.join(other, [*_CREATED], "left"), others, steady)
    full_us = F.col("whole_us") - F.coalesce("out_us", F.lit(0))
    whole = whole.withColumn("full_share", share_of(full_us, F.col("whole_us")))
    return whole.withColumns({name: F.coalesce(name, F.lit(0)) for name in (*_CHANGES.values(), "flaps")})


def _isr_states(t: Tables) -> DataFrame:
    """Spans of an ISR in ZooKeeper, with the number of replicas that have to be in sync."""
    written = with_incarnation(t.partition_states.where("source != 'controller'"), t.topics)
    states = written.select(
        *_CREATED, "seq", "at_us", F.struct("leader", "isr").alias("state"),
        F.when(F.col("leader") >= 0, F.col("leader")).alias("led_by"),
    )  # fmt: skip
    changes = _min_isr(t).join(F.broadcast(states.select(*_CREATED).distinct()), [BRANCH])
    of_it = changes.where("topic_of is null or topic_of = topic").drop("topic_of")
    in_order = Window.partitionBy(*_CREATED).orderBy("seq")
    known = states.unionByName(of_it, allowMissingColumns=True).select(
        *_CREATED, "seq", "at_us",
        *(last(name).over(in_order).alias(name) for name in ("state", "led_by", "of_topic", "of_brokers")),
    )  # fmt: skip
    timed = with_end(spans(known, *_CREATED), t)

    def of(entity: Value) -> Value:
        return F.try_element_at(F.filter("of_brokers", lambda one: one["entity"] == entity), F.lit(-1))["value"]

    leader = F.col("led_by").cast("string")
    min_isr = F.coalesce(
        "of_topic.value", of(F.concat(F.lit("brokers/"), leader)), of(F.lit("brokers/<default>")),
        of(F.concat(F.lit("b"), leader)), F.lit(1),
    )  # fmt: skip
    return timed.where(F.size("state.isr") > 0).select(
        *_CREATED, "from_us", F.coalesce("to_us", "end_us").alias("to_us"), "state.leader", "state.isr",
        min_isr.alias("min_isr"),
    )  # fmt: skip


def _min_isr(t: Tables) -> DataFrame:
    """Each change of what min.insync.replicas is: of a topic, or of brokers, with their settings so far."""
    value = F.try_element_at("settings", F.lit(_MIN_ISR)).try_cast("int")
    said = t.settings.where("source != 'applied'").select(
        BRANCH, "seq", "at_us", "source", "entity", value.alias("value")
    )
    topics = said.where("source = 'zookeeper' and startswith(entity, 'topics/')").select(
        BRANCH, "seq", "at_us", F.substring_index("entity", "/", -1).alias("topic_of"),
        F.struct("value").alias("of_topic"),
    )  # fmt: skip
    so_far = F.collect_list(F.struct("entity", "value")).over(Window.partitionBy(BRANCH).orderBy("seq"))
    brokers = said.where("startswith(entity, 'brokers/') or source = 'node' and value is not null").select(
        BRANCH, "seq", "at_us", so_far.alias("of_brokers")
    )
    return topics.unionByName(brokers, allowMissingColumns=True)


def _full(t: Tables) -> DataFrame:
    """How long a replica of a partition was out of its ISR, times of several counted once."""
    before = Window.partitionBy(*_CREATED).orderBy("from_us").rowsBetween(Window.unboundedPreceding, -1)
    begins = F.greatest("from_us", F.coalesce(F.max("to_us").over(before), F.lit(0)))
    out = t.role_spans.where("role = 'outisr'").withColumn("lasts", F.greatest(F.col("to_us") - begins, F.lit(0)))
    return out.groupBy(*_CREATED).agg(F.sum("lasts").alias("out_us"))


def _of_brokers(t: Tables, setting: str, name: str) -> DataFrame:
    """A setting with which the brokers of each branch were started."""
    value = F.try_element_at("settings", F.lit(setting)).try_cast("bigint")
    return t.settings.where("source = 'node'").groupBy(BRANCH).agg(F.max(value).alias(name))


def _flaps(t: Tables) -> DataFrame:
    """Number of times a replica was removed from the ISR and added again soon after."""
    out, back = F.array_except("from_isr", "to_isr"), F.array_except("to_isr", "from_isr")
    changed = F.when(F.col("change") == "shrunk", out).when(F.col("change") == "expanded", back)
    each = with_incarnation(t.isr_changes, t.topics).select(
        *_CREATED, "seq", "at_us", "change", F.explode(changed).alias("replica")
    )
    follows = Window.partitionBy(*_CREATED, "replica").orderBy("seq")
    pairs = each.select(
        *_CREATED, "change", F.lead("change").over(follows).alias("then"),
        (F.lead("at_us").over(follows) - F.col("at_us")).alias("out_us"),
    ).join(F.broadcast(_of_brokers(t, _LAG_TIME, "patience_ms")), BRANCH, "left")  # fmt: skip
    soon = F.col("out_us") <= F.coalesce("patience_ms", F.lit(_USUAL_LAG_TIME_MS)) * 1000
    flapped = pairs.where((F.col("change") == "shrunk") & (F.col("then") == "expanded") & soon)
    return flapped.groupBy(*_CREATED).agg(F.count("*").alias("flaps"))


ISR_CHURN = Table(
    name="gold.isr_churn", unit="branch", key=("topic", "incarnation", "partition"), columns=ISR_CHURN_COLUMNS,
    small=True,
    needs=(
        "silver.partition_states", "silver.isr_changes", "silver.settings", "silver.topics", "gold.role_spans",
    ),
    make=isr_churn,
    checks=(between("full_share", 0, 1),), doc="ISR changes of a partition.",
)  # fmt: skip
