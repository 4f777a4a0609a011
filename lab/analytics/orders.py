"""What the web process and the worker say to each other: JSON lines. Imports nothing of Spark."""

from typing import Any

import msgspec

from lab.analytics.store.ledger import BranchEntry


class BuildTask(msgspec.Struct, frozen=True, tag="build"):
    """What to bring the tables up to: recordings, each the folder of its events and its entry in the ledger.

    `tables_at` is the place of the tables. Each of `stages` lists tables that are made and published before those of
    the next one; an empty list stands for all.
    """

    tables_at: str
    found: tuple[tuple[str, BranchEntry], ...]
    stages: tuple[tuple[str, ...], ...] = ((),)


class LogOrder(msgspec.Struct, frozen=True):
    """A log of acts: the fields of `lab.analytics.build.acts.FoundLog`."""

    folder: str
    entry: BranchEntry
    people: dict[str, str] = {}
    rooms: dict[str, str] = {}


class LogsTask(msgspec.Struct, frozen=True, tag="logs"):
    """What logs to bring the tables of learning up to, and which tables."""

    tables_at: str
    found: tuple[LogOrder, ...]
    tables: tuple[str, ...]


class LiveTask(msgspec.Struct, frozen=True, tag="live"):
    """What logs of a class that goes on to make its tables of, in memory alone."""

    classroom: str
    found: tuple[LogOrder, ...]


Task = BuildTask | LogsTask | LiveTask


class Order(msgspec.Struct, tag="order"):
    """A line to the worker."""

    job: str
    task: Task


class Cancel(msgspec.Struct, tag="cancel"):
    """A line to the worker: nobody wants a job any more."""

    job: str


class Report(msgspec.Struct, omit_defaults=True):
    """A line of the worker: how far it is, how many builds it has published, that it is done, that it was cancelled, or
    why it failed (codes of texts). Of a live task also the rows of each table that has changed, and the CPU seconds
    that it took.
    """

    job: str
    stage: str = ""
    progress: float = 0.0
    published: int = 0
    done: bool = False
    cancelled: bool = False
    error: dict[str, str] | None = None
    tables: dict[str, list[dict[str, Any]]] = {}
    cpu_s: float = 0.0
