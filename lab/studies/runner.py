"""Runs the unfinished cells of a study, in this process or as Spark tasks."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from broker_core.texts import render
from lab.studies.cell import key_of, run_cell
from lab.studies.definition import Cell, Result, Study
from lab.studies.results import Finished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_S = 4.0
"""Intended duration of a batch of cells: results are stored, and cancellation takes effect, by batches."""
MAX_BATCH = 2_000
MAX_CORES = 65_536


class Workers(Protocol):
    """Runs cells."""

    @property
    def cores(self) -> int:
        """Number of cells that run at the same time."""
        ...

    def run(self, cells: Sequence[Cell], engine: str) -> list[Result]:
        """The results of some cells, in any order."""
        ...


class ThisProcess:
    """Runs cells one after another, without Spark."""

    cores = 1

    def run(self, cells: Sequence[Cell], engine: str) -> list[Result]:
        """In the order of the cells."""
        return [run_cell(cell, engine) for cell in cells]


class SparkWorkers:
    """Runs cells as tasks of a Spark session, on this machine or on a cluster.

    `cores`: those of the session, which may get more while a study runs, unless a number is given.
    """

    def __init__(self, session: "SparkSession", cores: int | None = None) -> None:
        self._session = session
        self._given = cores
        self.cores = cores or parallelism(session)

    def run(self, cells: Sequence[Cell], engine: str) -> list[Result]:
        """A task takes a few cells, so that faster cores take more tasks."""
        self.cores = self._given or parallelism(self._session)
        # Only what Spark needs: cells are serialized with the function.
        encoded = [msgspec.json.encode(cell) for cell in cells]
        tasks = min(len(cells), 4 * self.cores)

        def run_some(batches: "Iterator[object]") -> "Iterator[object]":
            import pyarrow as pa

            from lab.studies.cell import run_cell
            from lab.studies.definition import Cell

            for batch in batches:
                places = batch.column(0).to_pylist()  # type: ignore[attr-defined]
                results = [
                    msgspec.json.encode(run_cell(msgspec.json.decode(encoded[place], type=Cell), engine))
                    for place in places
                ]
                yield pa.RecordBatch.from_arrays([pa.array(results, pa.binary())], names=["result"])

        frame = self._session.range(0, len(cells), 1, tasks).mapInArrow(run_some, "result binary")
        return [msgspec.json.decode(row.result, type=Result) for row in frame.collect()]


def parallelism(session: "SparkSession") -> int:
    """The number of tasks that Spark runs at the same time, also where a Spark Connect server hides its cores."""
    from pyspark.sql import functions as F

    # Without a number, Spark makes as many partitions as there are cores.
    parts = session.range(MAX_CORES).select(F.spark_partition_id().alias("part"))
    return max(1, parts.distinct().count())


class Progress(msgspec.Struct):
    """Progress of a study: `run` of the `to_run` cells that were unfinished at its start, and `kept` cells that were
    finished.
    """

    to_run: int
    kept: int
    run: int = 0
    stopped: int = 0


class AllStopped(Exception):
    """Every cell of the first batch stopped: the study's file is wrong. `result` is one of them."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.why)
        self.result = result


def run_study(
    study: Study, engine: str, finished: Finished, workers: Workers, say: Callable[[Progress], None]
) -> list[Result]:
    """Runs the unfinished cells, and returns the results of all cells in order.

    Results are stored after each batch: KeyboardInterrupt, or a killed process, loses at most one batch.

    Raises:
        AllStopped: no cell of the first batch finished, and none was finished before.
        OSError: results cannot be written.
    """
    keys = [key_of(cell, engine) for cell in study.cells]
    found = finished.read()
    waiting = [cell for cell, key in zip(study.cells, keys, strict=True) if key not in found]
    progress = Progress(len(waiting), len(study.cells) - len(waiting))
    size = workers.cores
    while waiting:
        batch, waiting = waiting[:size], waiting[size:]
        began_s = time.monotonic()
        # Processes of Spark do not have the texts of the lab.
        results = [msgspec.structs.replace(one, why=render(one.why)) for one in workers.run(batch, engine)]
        took_s = time.monotonic() - began_s
        if not progress.run and not progress.kept and all(one.state == "stopped" for one in results):
            raise AllStopped(results[0])
        finished.add(results)
        found |= {one.key: one for one in results}
        progress.run += len(results)
        progress.stopped += sum(one.state == "stopped" for one in results)
        say(progress)
        size = max(workers.cores, min(MAX_BATCH, 2 * size, round(size * BATCH_S / max(took_s, 0.01))))
    # The same cluster may be a cell of several points, for example if the axis of eras has one value.
    return [
        msgspec.structs.replace(found[key], point=cell.point, seed=cell.seed)
        for cell, key in zip(study.cells, keys, strict=True)
    ]
