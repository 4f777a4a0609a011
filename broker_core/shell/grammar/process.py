"""A running command: a generator in simulated time.

It yields what it waits for and is resumed with the result; its return value is its exit code.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias

from broker_core.events.console import ERROR_MARK, MESSAGE_MARK
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.texts import Text

DEFAULT_API_TIMEOUT_US = 60_000_000


class Sleep(NamedTuple):
    """Resumed after `duration_us`."""

    duration_us: int


class Until(NamedTuple):
    """Resumed with True once the predicate holds, with False at `deadline_us`. It is evaluated every `poll_us`."""

    predicate: Callable[[ClusterApi], bool]
    deadline_us: int
    poll_us: int = 20_000


class Call(NamedTuple):
    """A request to a broker. Resumed with the body of the response, or with Disconnected."""

    broker_id: int
    api: str
    body: Any
    label: str
    timeout_us: int = 30_000_000


class Disconnected(NamedTuple):
    """There was no response. `why`: refused, closed or timed out."""

    why: str


Wait: TypeAlias = Sleep | Until | Call
Running: TypeAlias = Generator[Wait, Any, int]
"""A running command; its return value is the exit code."""


class Process:
    """The environment of a command: the cluster, its input, and its output."""

    def __init__(self, cluster: ClusterApi, stdin: list[str], files: dict[str, str]) -> None:
        self.cluster = cluster
        self.stdin = stdin
        #: Files written by `file`, by name.
        self.files = files
        self.printed: list[str] = []
        #: The timeout of a tool's calls (`default.api.timeout.ms`).
        self.api_timeout_us = DEFAULT_API_TIMEOUT_US

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.cluster.kernel.now_us

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms: the run's start plus simulated time."""
        return self.cluster.clients.start_wall_ms + self.now_us // 1000

    def out(self, text: str) -> None:
        """Writes one or more lines to standard output."""
        self.printed += text.split("\n")

    def out_message(self, message: Text) -> None:
        """Prints a message of the lab to standard output, as a code."""
        self.printed.append(f"{MESSAGE_MARK}{message.code}")

    def err(self, text: str) -> None:
        """Prints one or more lines to standard error."""
        self.printed += [ERROR_MARK + line for line in text.split("\n")]


def up_brokers(cluster: ClusterApi) -> list[int]:
    """The brokers that respond."""
    return [broker_id for broker_id in cluster.broker_ids if cluster.broker_state(broker_id) == "up"]


def settled(process: Process, limit_us: int = 30_000_000) -> Generator[Wait, Any, bool]:
    """Waits until all live brokers have had the same metadata for a moment; False if that does not happen in time."""
    cluster = process.cluster
    deadline_us = process.now_us + limit_us
    before = None
    while process.now_us < deadline_us:
        known = [cluster.metadata_of(broker_id) for broker_id in up_brokers(cluster)]
        agreed = known[0] if known and all(other == known[0] for other in known) else None
        if agreed is not None and agreed == before:
            return True
        if not known:
            return True
        before = agreed
        yield Sleep(100_000)
    return False
