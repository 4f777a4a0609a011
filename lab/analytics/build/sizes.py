"""Session settings that depend on the size of a build. On a cluster, its own settings are not changed."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lab.analytics import place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY_EVENTS = 250_000
"""From this number on, compiling queries saves more than it costs; the fast reader of Parquet also needs it."""
EVENTS_PER_PARTITION = 500_000
"""About 64 MB of silver."""

#: Evaluating fields of events while Parquet is scanned costs every row what only those of one kind need.
_ALWAYS = {"spark.sql.variant.pushVariantIntoScan": "false", "spark.sql.variant.writeShredding.enabled": "false"}
#: Rows in memory are in one partition, so joins need no broadcast, which is a job of its own. Planning these queries
#: takes longer than running them, so rules that only improve or validate plans are off.
_HELD = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
}
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}  # fmt: skip
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


def settings_for(events: int, cores: int, *, is_local: bool, is_held: bool = False) -> dict[str, str]:
    """The settings for a build of this many events. On a cluster, compilation and shuffle settings are not changed.

    `is_held`: the build holds its events in memory.
    """
    found = dict(_ALWAYS)
    if is_local and is_held:
        found |= _HELD
    if is_local and events >= MANY_EVENTS:
        found |= _COMPILED
        found["spark.sql.shuffle.partitions"] = str(min(max(1, events // EVENTS_PER_PARTITION), 4 * cores))
    return found


@contextmanager
def sized(spark: "SparkSession", events: int, *, is_held: bool = False) -> Iterator[None]:
    """Applies the settings for a build of this many events, held in memory or not, within the context."""
    wanted = settings_for(events, os.cpu_count() or 1, is_local=place.is_local(), is_held=is_held)
    with applied(spark, wanted):
        yield


@contextmanager
def few(spark: "SparkSession") -> Iterator[None]:
    """Applies the settings for a table that is made from few rows, within a build of many."""
    with applied(spark, {**_HELD, **_INTERPRETED} if place.is_local() else {}):
        yield


@contextmanager
def applied(spark: "SparkSession", settings: Mapping[str, str]) -> Iterator[None]:
    """Applies settings within the context."""
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
