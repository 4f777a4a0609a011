"""Makes the first tables of a tiny recording, so that those of the first run that a page shows come sooner.

Whatever a table is made from, most of the time that the first one takes is loading classes and compiling them.
"""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.events import Envelope, codec
from broker_core.events.control import PartitionStateChanged, ReplicaStateChanged, ZnodeCreated
from broker_core.records.record_batch import SimpleRecord, build_batch
from lab.analytics.build.found import Found, branch_id
from lab.analytics.build.run import CancelledError, Wanted, build
from lab.analytics.figures.stored import STAGES
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATE = '{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1,2]}'
_EVENTS: tuple[Envelope, ...] = (
    (1, 1, "zk", 0, ZnodeCreated("/brokers/topics/t", '{"version":1,"partitions":{"0":[1,2]}}', 1, "")),
    (2, 2, "b1", 1, ReplicaStateChanged("t-0@b1", "NewReplica", "OnlineReplica", "b1")),
    (3, 3, "b1", 1, PartitionStateChanged("t-0", "NewPartition", "OnlinePartition", "b1")),
    (4, 4, "zk", 3, ZnodeCreated("/brokers/topics/t/partitions/0/state", _STATE, 2, "")),
    (5, 5, "b1", 4, ReplicaStateChanged("t-0@b2", "NewReplica", "OnlineReplica", "b1")),
)
"""A topic with one partition is created."""


def warm(spark: "SparkSession", is_cancelled: Callable[[], bool]) -> None:
    """Makes the tables and forgets them. It is cancelled between two tables."""
    with tempfile.TemporaryDirectory(prefix="highwater-warm-") as name:
        folder = Path(name)
        wanted = Wanted([found_in(folder, _EVENTS)], STAGES[0], is_first=True, is_cancelled=is_cancelled)
        try:
            build(lambda: spark, Store.at(str(folder / "tables")), wanted)
        except CancelledError:
            # A page waits.
            return


def found_in(folder: Path, events: Iterable[Envelope]) -> Found:
    """Some events as a recording in a folder."""
    log = folder / "events-0"
    log.mkdir()
    values = [b"", *map(codec.encode, events)]
    (log / f"{0:020}.log").write_bytes(build_batch(SimpleRecord(0, None, value) for value in values))
    return Found(log, BranchEntry(branch_id("small", "main"), "small", str(log)))
