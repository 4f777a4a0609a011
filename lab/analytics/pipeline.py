"""From a recording to the rows of the charts, chart by chart."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lab.analytics import bronze, gold, silver
from lab.analytics.orders import CHARTS, Rows, Task

_MAKERS: dict[str, Callable[[DataFrame, int], DataFrame]] = {
    "isr": lambda events, end_us: gold.isr(silver.states(events), silver.assignments(events), end_us),
    "offsets": lambda events, end_us: gold.offsets(silver.offsets(events), end_us),
    "rpcs": lambda events, end_us: gold.rpcs(silver.messages(events), end_us),
    "latency": lambda events, end_us: gold.latency(silver.produces(events), silver.commits(events)),
}


def run(spark: SparkSession, task: Task) -> Iterator[tuple[str, Rows]]:
    """The name and the rows of one chart after the other. The recording is read once."""
    events = bronze.events(spark, Path(task.folder), task.last_seq).cache()
    try:
        for name in CHARTS:
            yield name, [list(row) for row in _MAKERS[name](events, task.end_us).collect()]
    finally:
        events.unpersist()
