"""One run of Spark on a cluster's topics, in its own process: `spark_program.py JARS BOOTSTRAP FOLDER STEP`.

The steps print JSON. `write`: ROWS rows by the batch sink. `count`: what the batch source reads of both topics. `copy`:
a structured stream from one topic to the other, with its checkpoint in FOLDER, until it has processed what there is;
`begin` is the same, and kills itself after KILLED_AFTER_BATCHES batches. `total`: a stream into files that are counted.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

ROWS = 20_000
ROWS_A_BATCH = 2_000
KILLED_AFTER_BATCHES = 3
FROM, TO = "spark-in", "spark-out"
#: Of the printed figures.
FIGURES = ("count(*)", "count(distinct value)", "sum(cast(value as bigint))", "count(distinct partition, offset)")


def session(jars: Path, folder: Path) -> SparkSession:
    """A Spark session in this process."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", ",".join(str(jar) for jar in sorted(jars.glob("*.jar"))))
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.local.dir", str(folder / "local"))
    spark: SparkSession = builder.config("spark.log.level", "ERROR").getOrCreate()
    return spark


def figures(rows: DataFrame) -> list[int]:
    """The FIGURES of these records."""
    return [int(value or 0) for value in rows.selectExpr(*FIGURES).first() or ()]


class Program:
    """The steps."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._folder = folder

    def write(self) -> Any:
        rows = self._spark.range(ROWS).selectExpr("cast(id % 97 as string) as key", "cast(id as string) as value")
        rows.write.format("kafka").option("kafka.bootstrap.servers", self._bootstrap).option("topic", FROM).save()
        return ROWS

    def count(self) -> Any:
        found = {}
        for topic in (FROM, TO):
            source = self._spark.read.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
            rows = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
            found[topic] = figures(rows.selectExpr("cast(value as string) as value", "partition", "offset"))
        return found

    def copy(self) -> Any:
        writer = self._stream(FROM).writeStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        writer = writer.option("topic", TO).option("checkpointLocation", str(self._folder / "copy"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return None

    def begin(self) -> Any:
        threading.Thread(target=self._kill_when_begun, daemon=True).start()
        return self.copy()

    def total(self) -> Any:
        files = str(self._folder / "rows")
        columns = self._stream(FROM).selectExpr("cast(value as string) as value", "partition", "offset")
        writer = columns.writeStream.format("parquet").option("path", files)
        writer = writer.option("checkpointLocation", str(self._folder / "total"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return figures(self._spark.read.parquet(files))

    def _stream(self, topic: str) -> DataFrame:
        source = self._spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        source = source.option("subscribe", topic).option("startingOffsets", "earliest")
        return source.option("maxOffsetsPerTrigger", ROWS_A_BATCH).load()

    def _kill_when_begun(self) -> None:
        while not (self._folder / "copy" / "commits" / str(KILLED_AFTER_BATCHES - 1)).exists():
            time.sleep(0.05)
        os.killpg(0, signal.SIGKILL)


def main() -> None:
    jars, bootstrap, folder, step = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    print(json.dumps(getattr(Program(session(jars, folder), bootstrap, folder), step)()))


if __name__ == "__main__":
    main()
