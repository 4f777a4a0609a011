"""Settings: with which nodes were started, those in ZooKeeper, and those applied by brokers."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import pairs, rows, stacked, word
from lab.analytics.tables import STRING, Table, Tables, c, map_of
from lab.analytics.tables.table import AT_US, SEQ

_CONFIG = "/config/"
_CHANGES = "/config/changes"

SETTING_COLUMNS = (
    SEQ,
    AT_US,
    c(
        "source",
        STRING,
        "node: at its start; zookeeper: as configured; applied: by a broker",
    ),
    c("entity", STRING, "the entity: topics/orders, brokers/1, brokers/<default>, users/alice; of a node its name"),
    c("broker", STRING, "the broker that applied it"),
    c("settings", map_of(STRING, STRING), "all of them, by name; empty: none are set"),
)


def settings(t: Tables) -> DataFrame:
    """All settings of an entity, whenever they change."""
    held = F.from_json("data", "config map<string, string>")["config"]
    path = F.col("path")
    entity = F.substring(path, F.lit(len(_CONFIG) + 1), F.length(path))
    is_config = path.startswith(_CONFIG) & ~path.startswith(_CHANGES)
    written = [
        rows(
            t.kind(kind).where(is_config).withColumn("held", held).where("held is not null"), SETTING_COLUMNS,
            source=word("zookeeper"), entity=entity, settings=F.col("held"),
        )
        for kind in ("ZnodeCreated", "ZnodeChanged")
    ]  # fmt: skip
    deleted = rows(
        t.kind("ZnodeDeleted").where(is_config), SETTING_COLUMNS, source=word("zookeeper"), entity=entity,
        settings=F.create_map(),
    )  # fmt: skip
    started = rows(
        t.kind("NodeAdded"), SETTING_COLUMNS, source=word("node"), entity=F.col("node"), settings=_map("settings")
    )
    applied = rows(
        t.kind("ConfigurationApplied"), SETTING_COLUMNS, source=word("applied"), entity=F.col("entity"),
        broker=F.col("broker"), settings=_map("configs"),
    )  # fmt: skip
    return stacked([*written, deleted, started, applied])


def _map(name: str) -> Value:
    """A list of pairs of name and value as a map."""
    listed = F.filter(pairs(F.col(name)), lambda one: F.get(one, F.lit(0)).isNotNull())
    # A name that is there twice would fail the whole job: the last one counts.
    names = F.array_distinct(F.transform(listed, lambda one: F.get(one, F.lit(0))))
    values = F.transform(
        names,
        lambda each: F.get(F.element_at(F.filter(listed, lambda one: F.get(one, F.lit(0)) == each), -1), F.lit(1)),
    )
    return F.coalesce(F.map_from_arrays(names, values), F.create_map().cast("map<string,string>"))


SETTINGS = Table(
    name="silver.settings", unit="branch", key=("seq",), columns=SETTING_COLUMNS, per_event=True, make=settings,
    kinds=("NodeAdded", "ZnodeCreated", "ZnodeChanged", "ZnodeDeleted", "ConfigurationApplied"),
    doc="The settings of an entity, from this event on.",
)  # fmt: skip
