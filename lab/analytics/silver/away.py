"""When participants of a class could not work by themselves: it was paused or held, or they followed a presenter."""

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from lab.analytics.silver.acts import CLASS, LEARNER
from lab.analytics.tables import BIGINT, STRING, Table, Tables, c, one_of, ordered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATES = {
    "paused": (("AllPaused",), ("AllResumed",)),
    "held": (("Held",), ("Released", "HoldLeft")),
    "follows": (("LeadTaken", "Rejoined"), ("LeadEnded", "Detached")),
}
"""The states, each with the kinds that begin and that end it."""
_OWN = ("HoldLeft", "Rejoined", "Detached")
"""Kinds about one participant; all others are about everyone."""
_END = "ClassEnded"
_EVERYONE = [
    kind for begin, end in _STATES.values() for kind in (*begin, *end) if kind not in _OWN
] + [_END]  # fmt: skip


def away(t: Tables) -> "DataFrame":
    acts = t.acts.where("class_us is not null").select("class", "learner", "seq", "at_ms", "kind")
    participants = acts.where("learner is not null and learner <> 'room'").select("class", "learner").distinct()
    everyone = acts.where(F.col("kind").isin(*_EVERYONE)).drop("learner")
    # Taking over the lead does not make participants follow again.
    leads = F.col("kind").isin("LeadTaken", "LeadEnded")
    before = F.lag("kind").over(Window.partitionBy("class", leads).orderBy("seq"))
    everyone = everyone.withColumn("is_over", leads & (F.col("kind") == "LeadTaken") & before.eqNullSafe("LeadTaken"))
    events = everyone.where("not is_over").drop("is_over").join(participants, "class")
    events = events.unionByName(acts.where(F.col("kind").isin(*_OWN)))
    own = Window.partitionBy("class", "learner").orderBy("seq")
    rows = events.withColumns({name: _is_in(*kinds).over(own) for name, kinds in _STATES.items()})
    why = reduce(lambda then, name: then.when(F.col(name), name), list(_STATES)[1:], F.when(F.col("paused"), "paused"))
    rows = rows.select("class", "learner", F.col("at_ms").alias("from_ms"), F.lead("at_ms").over(own).alias("to_ms"),
                       why.alias("why"))  # fmt: skip
    return rows.where("why is not null and (to_ms is null or to_ms > from_ms)")


def _is_in(begin: tuple[str, ...], end: tuple[str, ...]) -> Column:
    """Whether the last event about a state began it."""
    kind = F.col("kind")
    return F.last(F.when(kind.isin(*begin), True).when(kind.isin(*end, _END), False), ignorenulls=True)


AWAY = Table(
    name="silver.away",
    unit="class",
    key=("class", "learner", "from_ms"),
    needs=("silver.acts",),
    small=True,
    columns=(
        CLASS, LEARNER, c("from_ms", BIGINT, "wall time of its start"),
        c("to_ms", BIGINT, "wall time of its end; null: not ended"),
        c("why", STRING, "paused, held, or follows: a presenter is followed"),
    ),
    checks=(one_of("why", "paused", "held", "follows"), ordered("from_ms", "to_ms")),
    make=away,
    doc="A span of time in which a participant of a class could not work alone.",
)  # fmt: skip
