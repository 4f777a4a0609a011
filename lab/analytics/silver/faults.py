"""Faults of nodes, links and disks, and other failures, as spans of time."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import stacked, word
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, ordered

FAULT_COLUMNS = (
    c("fault", STRING, "stopped, starting, exiting, frozen, link cut, link cut one way, link quality, disk slow, "
      "fsync slow, power lost, session closed, or foreign change"),
    c("subject", STRING, "the node, the sending end of the link, or the path of the znode"),
    c("other", STRING, "of a link: its other end"),
    c("from_seq", BIGINT, "the event with which it starts"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended; equal to the start: it has no duration"),
    c("latency_us", BIGINT, "of links and disks: added latency"),
    c("loss_percent", INT, "of a link: percentage of lost messages"),
    c("reorder_percent", INT, "of a link: percentage of reordered messages"),
    c("how", STRING, "how a broker stopped, why a session was closed, or what was changed"),
    c("by", STRING, "learner: from outside of the cluster, such as a command; engine: caused within the cluster"),
)  # fmt: skip

_NODES = {
    "BrokerStarting": ("broker", "starting"), "BrokerStarted": ("broker", ""), "BrokerStopped": ("broker", "stopped"),
    "BrokerExiting": ("broker", "exiting"), "BrokerFrozen": ("broker", "frozen"), "BrokerThawed": ("broker", ""),
    "ClientFrozen": ("client", "frozen"), "ClientThawed": ("client", ""), "NodeRemoved": ("node", ""),
}  # fmt: skip
_KINDS = (
    *_NODES, "LinkCut", "LinkCutOneWay", "LinkRestored", "LinkQualityChanged", "DiskSlowed", "FsyncSlowed",
    "PowerLost", "SessionClosed", "ForeignZnodeChanged", "CommandReceived",
)  # fmt: skip


def faults(t: Tables) -> DataFrame:
    """Each fault with its end: the next event about the same thing."""
    lasting = stacked([*_of_nodes(t), *_of_links(t), *_of_disks(t)])
    same = Window.partitionBy(BRANCH, "about", "subject", "other").orderBy("from_seq")
    ended = lasting.withColumn("to_us", F.lead("from_us").over(same))
    found = stacked([ended, *_at_once(t)]).where("fault != ''").drop("about")
    commands = t.kind("CommandReceived").select(BRANCH, F.col("seq").alias("cause_seq"), F.lit(True).alias("typed"))
    by = F.when((F.col("cause_seq") == 0) | F.col("typed"), "learner").otherwise("engine")
    return found.join(F.broadcast(commands), [BRANCH, "cause_seq"], "left").withColumn("by", by)


def _row(frame: DataFrame, about: str, fault: Value, subject: Value, **more: Value) -> DataFrame:
    values = {
        "about": word(about), "fault": fault, "subject": subject, "from_seq": F.col("seq"), "from_us": F.col("at_us"),
        "cause_seq": F.col("cause_seq"), **more,
    }  # fmt: skip
    shown = (
        ("about", STRING), ("cause_seq", BIGINT),
        *((column.name, column.type) for column in FAULT_COLUMNS if column.name != "by"),
    )  # fmt: skip
    usual = {"other": F.lit("")}
    return frame.select(
        BRANCH, *({**usual, **values}.get(name, F.lit(None)).cast(type).alias(name) for name, type in shown)
    )


def _of_nodes(t: Tables) -> list[DataFrame]:
    found = []
    for kind, (node, fault) in _NODES.items():
        how = {"BrokerStopped": "how", "BrokerExiting": "why"}.get(kind)
        more = {"how": F.col(how)} if how else {}
        found.append(_row(t.kind(kind), "node", word(fault), F.col(node), **more))
    return found


def _of_links(t: Tables) -> list[DataFrame]:
    """A restored link delivers messages in both directions again."""
    restored = t.kind("LinkRestored")
    ends = F.sort_array(F.array("a", "b"))
    one_way = t.kind("LinkCutOneWay").withColumns({"a": F.col("source"), "b": F.col("destination")})
    quality = t.kind("LinkQualityChanged")
    is_good = (F.col("latency_us") == 0) & (F.col("loss_percent") == 0) & (F.col("reorder_percent") == 0)
    both = {"other": ends[1]}
    return [
        _row(t.kind("LinkCut"), "link", word("link cut"), ends[0], **both),
        _row(restored, "link", word(""), ends[0], **both),
        *(
            _row(restored, "one way", word(""), F.col(source), other=F.col(other))
            for source, other in (("a", "b"), ("b", "a"))
        ),
        _row(one_way, "one way", word("link cut one way"), F.col("a"), other=F.col("b")),
        _row(
            quality, "quality", F.when(is_good, "").otherwise("link quality"), F.col("source"),
            other=F.col("destination"),
            **{name: F.col(name) for name in ("latency_us", "loss_percent", "reorder_percent")},
        ),
    ]  # fmt: skip


def _of_disks(t: Tables) -> list[DataFrame]:
    return [
        _row(
            t.kind(kind), fault, F.when(F.col("latency_us") == 0, "").otherwise(fault), F.col("broker"),
            latency_us=F.col("latency_us"),
        )
        for kind, fault in (("DiskSlowed", "disk slow"), ("FsyncSlowed", "fsync slow"))
    ]  # fmt: skip


def _at_once(t: Tables) -> list[DataFrame]:
    return [
        _row(t.kind("PowerLost"), "", word("power lost"), F.col("broker"), to_us=F.col("at_us")),
        _row(
            t.kind("SessionClosed"),
            "",
            word("session closed"),
            F.col("owner"),
            to_us=F.col("at_us"),
            how=F.col("why"),
        ),
        _row(
            t.kind("ForeignZnodeChanged"),
            "",
            word("foreign change"),
            F.col("path"),
            to_us=F.col("at_us"),
            how=F.col("change"),
        ),
    ]


FAULTS = Table(
    name="silver.faults", unit="branch", key=("fault", "subject", "other", "from_seq"), columns=FAULT_COLUMNS,
    kinds=_KINDS, make=faults, checks=(ordered("from_us", "to_us"),), small=True, order=("from_seq",),
    doc="A fault, from its start to its end.",
)  # fmt: skip
