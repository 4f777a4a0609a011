"""Nodes, and the commands of the console."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import stacked
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, ordered

NODE_COLUMNS = (
    c("node", STRING, "the node's name"),
    c("node_no", INT, "number among the nodes of that name, from 1"),
    c(
        "node_kind",
        STRING,
        "broker, zookeeper, shell, producer, consumer, or client: a connection by TCP; run: the run",
    ),
    c("broker", INT, "of a broker: its id"),
    c("group", STRING, "of a consumer: its group"),
    c("from_seq", BIGINT, "the event that added it"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended"),
    c("software", STRING, "client software, as sent by the connection"),
    c("refused_why", STRING, "why a connection was closed for an unreadable or unsupported request"),
    c("era", STRING, "of the run: the era of Kafka"),
    c("seed", BIGINT, "of the run: its seed"),
)

_KINDS = ("RunStarted", "NodeAdded", "NodeRemoved", "ClientRefused", "ClientIdentified")


def nodes(t: Tables) -> DataFrame:
    """Nodes from start to end, and the run itself."""
    added = t.kind("NodeAdded")
    settings = F.try_variant_get("settings", "$", "array<array<string>>")
    group = F.get(F.filter(settings, lambda one: F.get(one, F.lit(0)) == "group.id"), F.lit(0))
    begun = F.struct(
        F.col("node_kind"), F.when(F.col("broker_id") >= 0, F.col("broker_id")).alias("broker"),
        F.nullif(F.get(group, F.lit(1)), F.lit("")).alias("group"), F.col("seq").alias("from_seq"),
        F.col("at_us").alias("from_us"),
    )  # fmt: skip
    name = F.concat_ws(" ", F.nullif("software_name", F.lit("")), F.nullif("software_version", F.lit("")))
    first = added.select(BRANCH, "node", "seq", begun.alias("begun"))
    empty = F.lit(None)
    shape = first.schema["begun"].dataType
    steps = stacked(
        [
            first.select("*", *(empty.cast(type).alias(name) for name, type in
                                (("ended_us", BIGINT), ("software", STRING), ("refused_why", STRING)))),
            t.kind("NodeRemoved").select(
                BRANCH, "node", "seq", empty.cast(shape), F.col("at_us"), empty.cast("string"), empty.cast("string")
            ),
            t.kind("ClientIdentified").select(
                BRANCH, "node", "seq", empty.cast(shape), empty.cast("bigint"), name, empty.cast("string")
            ),
            t.kind("ClientRefused").select(
                BRANCH, "node", "seq", empty.cast(shape), empty.cast("bigint"), empty.cast("string"), F.col("why")
            ),
        ]
    )  # fmt: skip
    in_order = Window.partitionBy(BRANCH, "node").orderBy("seq")
    numbered = steps.withColumn("node_no", F.count("begun").over(in_order).cast("int")).where("node_no > 0")
    whole = numbered.groupBy(BRANCH, "node", "node_no").agg(
        F.max("begun").alias("begun"), F.max("ended_us").alias("to_us"), F.max("software").alias("software"),
        F.max("refused_why").alias("refused_why"),
    )  # fmt: skip
    found = whole.select(
        BRANCH, "node", "node_no", "begun.*", "to_us", F.nullif("software", F.lit("")).alias("software"),
        "refused_why", empty.cast("string").alias("era"), empty.cast("bigint").alias("seed"),
    )  # fmt: skip
    return stacked([found, _run(t).select(*found.columns)])


def _run(t: Tables) -> DataFrame:
    """The run as a node that exists from start to end."""
    started = t.kind("RunStarted")
    values = {
        "node": F.lit("lab"), "node_no": F.lit(1), "node_kind": F.lit("run"), "from_seq": F.col("seq"),
        "from_us": F.col("at_us"), "era": F.col("era"), "seed": F.col("seed"),
    }  # fmt: skip
    return started.select(
        BRANCH,
        *(values.get(column.name, F.lit(None)).cast(column.type).alias(column.name) for column in NODE_COLUMNS),
    )


NODES = Table(
    name="silver.nodes", unit="branch", key=("node", "node_no"), columns=NODE_COLUMNS, kinds=_KINDS, make=nodes,
    small=True, checks=(ordered("from_us", "to_us"),), doc="A node, from its start to its end.",
)  # fmt: skip

COMMAND_COLUMNS = (
    c("command", BIGINT, "its number in the branch"),
    c("learner", STRING, "pseudonym of the person who sent it; null if no person did, or one who was erased",
      personal=True),
    c("source", STRING, "learner, play, or exercise"),
    c("verb", STRING, "its first word"),
    c("line", STRING, "the whole line; of a person who was erased its first word", personal=True),
    c("received_seq", BIGINT, "the event that received it"),
    c("received_us", BIGINT, "when it was received"),
    c("completed_us", BIGINT, "when it completed; null: not yet"),
    c("exit_code", INT, "its exit code"),
    c("printed_lines", BIGINT, "number of printed lines"),
)  # fmt: skip

_ENGINE_SOURCES = ("play", "exercise")


def commands(t: Tables) -> DataFrame:
    """Commands and their results."""
    source = F.col("source")
    is_learner = ~source.isin(*_ENGINE_SOURCES)
    received = t.kind("CommandReceived").select(
        BRANCH, "command", F.when(is_learner, F.nullif(source, F.lit(""))).alias("learner"),
        F.when(is_learner, "learner").otherwise(source).alias("source"),
        F.substring_index(F.trim("line"), " ", 1).alias("verb"), "line", F.col("seq").alias("received_seq"),
        F.col("at_us").alias("received_us"),
    )  # fmt: skip
    printed = t.kind("CommandPrinted").groupBy(BRANCH, "command").agg(F.sum(F.size("lines")).alias("printed_lines"))
    completed = t.kind("CommandCompleted").select(BRANCH, "command", F.col("at_us").alias("completed_us"), "exit_code")
    key = [BRANCH, "command"]
    return (
        received.join(printed, key, "left")
        .join(completed, key, "left")
        .withColumn("printed_lines", F.coalesce("printed_lines", F.lit(0)))
    )


COMMANDS = Table(
    name="silver.commands", unit="branch", key=("command",), columns=COMMAND_COLUMNS, make=commands,
    kinds=("CommandReceived", "CommandPrinted", "CommandCompleted"), checks=(ordered("received_us", "completed_us"),),
    doc="A command of the console.",
)  # fmt: skip
