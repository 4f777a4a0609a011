"""The protocol between web process and worker: JSON lines. Does not import Spark."""

from typing import Any

import msgspec

from lab.analytics.store.ledger import BranchEntry


class StartTask(msgspec.Struct, frozen=True, tag="start"):
    """Starts Spark and warms it up, before there is a question."""


class BuildTask(msgspec.Struct, frozen=True, tag="build"):
    """Updates tables from recordings, each given by the folder of its events and its ledger entry.

    `tables_at` is the location of the tables. Each of `stages` lists tables that are made and published before those of
    the next stage; an empty list means all.
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
    """Updates tables of learning from logs."""

    tables_at: str
    found: tuple[LogOrder, ...]
    tables: tuple[str, ...]


class LiveTask(msgspec.Struct, frozen=True, tag="live"):
    """Makes the tables of a live class from its logs, in memory only."""

    classroom: str
    found: tuple[LogOrder, ...]


Task = StartTask | BuildTask | LogsTask | LiveTask


class Order(msgspec.Struct, tag="order"):
    """A line to the worker."""

    job: str
    task: Task


class Cancel(msgspec.Struct, tag="cancel"):
    """A line to the worker: cancels a job."""

    job: str


class Report(msgspec.Struct, omit_defaults=True):
    """A line from the worker: its progress, the number of published builds, that it is done or was cancelled, or why it
    failed (text codes). For a live task also the rows of each changed table, and the CPU seconds used, which are 0 if
    they are not known.
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
