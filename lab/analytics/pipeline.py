"""From a recording to the rows of the charts, chart by chart."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lab.analytics import bronze, chart_gold, chart_silver
from lab.analytics.orders import CHARTS, Rows, Task

AT_A_TIME = 2

_MAKERS: dict[str, Callable[[DataFrame, int], DataFrame]] = {
    "isr": lambda events, end_us: chart_gold.isr(chart_silver.states(events), chart_silver.assignments(events), end_us),
    "offsets": lambda events, end_us: chart_gold.offsets(chart_silver.offsets(events), end_us),
    "rpcs": lambda events, end_us: chart_gold.rpcs(chart_silver.messages(events), end_us),
    "latency": lambda events, end_us: chart_gold.latency(chart_silver.produces(events), chart_silver.commits(events)),
}


def run(spark: SparkSession, task: Task) -> Iterator[tuple[str, Rows]]:
    """The name and the rows of one chart after the other, as they are done.

    The first one reads the recording for all; of the others two run at a time, as planning a query keeps one core as
    busy as running it does.
    """
    events = bronze.events(spark, Path(task.folder), task.last_seq, chart_silver.KINDS).cache()

    def chart(name: str) -> tuple[str, Rows]:
        return name, [list(row) for row in _MAKERS[name](events, task.end_us).collect()]

    try:
        first, *others = CHARTS
        yield chart(first)
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            for done in as_completed([pool.submit(chart, name) for name in others]):
                yield done.result()
    finally:
        events.unpersist()
