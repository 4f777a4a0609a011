"""The control plane: sessions, watches, the controller, and what it propagates to brokers."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import broker_id, rows, stacked, word
from lab.analytics.tables import BIGINT, INT, STRING, Table, Tables, array, c
from lab.analytics.tables.table import AT_US, SEQ

CONTROL_COLUMNS = (
    SEQ,
    AT_US,
    c("broker", INT, "the broker; null of other nodes"),
    c("node", STRING, "the node"),
    c("what", STRING, "session opened, session closed, asked, watch armed, watch fired, processed, elected, resigned, "
      "metadata, groups load started, groups loaded, or groups unloaded"),
    c("session", BIGINT, "the ZooKeeper session"),
    c("name", STRING, "the processed event; the watched path; the kind of change"),
    c("about", STRING, "its path, partition or broker"),
    c("epoch", INT, "the controller's epoch; of a load the leader epoch"),
    c("controller", INT, "the broker that sent the metadata"),
    c("brokers", array(INT), "of metadata: the live brokers"),
    c("count", BIGINT, "requests sent at once; partitions in the metadata; groups loaded or unloaded"),
    c("why", STRING, "why a session was closed or a controller resigned"),
)  # fmt: skip


def control(t: Tables) -> DataFrame:
    """What happens between brokers, ZooKeeper and the controller."""
    return stacked([*_of_zookeeper(t), *_of_controllers(t), *_of_coordinators(t)])


def _rows(t: Tables, kind: str, what: str, actor: str, **values: Value) -> DataFrame:
    named = {"node": F.col(actor), "broker": broker_id(F.col(actor))}
    return rows(t.kind(kind), CONTROL_COLUMNS, what=word(what), **{**named, **values})


def _of_zookeeper(t: Tables) -> list[DataFrame]:
    session, path = F.col("session"), F.col("path")
    return [
        _rows(t, "SessionOpened", "session opened", "owner", session=session),
        _rows(t, "SessionClosed", "session closed", "owner", session=session, why=F.col("why")),
        _rows(t, "ZooKeeperAsked", "asked", "client", count=F.col("count")),
        _rows(t, "WatchArmed", "watch armed", "owner", name=F.col("of"), about=path),
        _rows(t, "WatchFired", "watch fired", "owner", name=F.col("change"), about=path),
    ]


def _of_controllers(t: Tables) -> list[DataFrame]:
    by_id = {"node": F.concat(F.lit("b"), F.col("broker")), "broker": F.col("broker")}
    return [
        _rows(t, "ControllerEventProcessed", "processed", "broker", name=F.col("name"), about=F.col("about"), **by_id),
        _rows(t, "ControllerElected", "elected", "broker", epoch=F.col("controller_epoch"), **by_id),
        _rows(t, "ControllerResigned", "resigned", "broker", why=F.col("why"), **by_id),
        _rows(
            t, "MetadataUpdated", "metadata", "broker", controller=F.col("controller"), brokers=F.col("live_brokers"),
            count=F.col("partitions"),
        ),
    ]  # fmt: skip


def _of_coordinators(t: Tables) -> list[DataFrame]:
    about, epoch = F.col("partition"), F.col("leader_epoch")
    return [
        _rows(t, "GroupsLoadStarted", "groups load started", "broker", about=about, epoch=epoch),
        _rows(t, "GroupsLoaded", "groups loaded", "broker", about=about, epoch=epoch, count=F.col("group_count")),
        _rows(t, "GroupsUnloaded", "groups unloaded", "broker", about=about, count=F.size("groups")),
    ]


CONTROL = Table(
    name="silver.control", unit="branch", key=("seq",), columns=CONTROL_COLUMNS, per_event=True, make=control,
    kinds=(
        "SessionOpened", "SessionClosed", "ZooKeeperAsked", "WatchArmed", "WatchFired", "ControllerEventProcessed",
        "ControllerElected", "ControllerResigned", "MetadataUpdated", "GroupsLoadStarted", "GroupsLoaded",
        "GroupsUnloaded",
    ),
    doc="An event between brokers, ZooKeeper and the controller.",
)  # fmt: skip
