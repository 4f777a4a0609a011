"""What translations between the wire and the bodies of the core have in common."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from broker_core.controller.admin import why_no_topic_name
from broker_core.errors import Errors

if TYPE_CHECKING:
    from broker_core.broker.network.socket_server import SocketServer
    from broker_core.broker.process.broker import Broker

T = TypeVar("T")

CLIENT_PREFIX = "tcp-"
"""So begin the names of connections, as nodes."""
NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
NOT_ASKED = -(2**31)
"""The bit field of authorized operations when nobody asked for it."""


class Asked(NamedTuple):
    """Around a request: its version, who asked, at which host, and which broker."""

    version: int
    client_id: str
    host: str
    broker: "Broker"
    server: "SocketServer"

    def topic_of(self, topic_id: str) -> str | None:
        """The name behind a topic id, as the broker's metadata have it."""
        return next((name for name, known in self.broker.metadata.topic_ids.items() if known == topic_id), None)

    def topic_id_of(self, topic: str) -> str:
        """The id behind a name; the zero id where there is none."""
        return self.broker.metadata.topic_ids.get(topic) or NO_TOPIC_ID


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A request whose answer needs nothing but what a connection knows: the frame with which the broker answers."""

    frame: bytes


class Failed(msgspec.Struct, frozen=True, gc=False):
    """Stands for an answer that could not be made."""

    error: Errors


def prepared(body: Any, request: Any, asked: Asked) -> Any:
    """For an API all of whose answers are prepared."""
    raise TypeError(f"{type(body).__name__} came where the answer was prepared")


def always_answered(request: Any, asked: Asked) -> bool:
    """For an API all of whose requests are answered: False."""
    return False


class Translation(NamedTuple):
    """How an API is translated: `body(request, asked)` gives what the broker's handler takes, or the response itself
    where no handler is needed; `answer(body, request, asked)` makes the response from what the handler answered.
    Requests and responses are values of the API's schemas. `is_unanswered(request, asked)`: whether Kafka fails on
    its own answer, so that none ever comes, nor one to what its connection asks later.
    """

    body: Callable[[Any, Asked], Any]
    answer: Callable[[Any, Any, Asked], Any] = prepared
    is_unanswered: Callable[[Any, Asked], bool] = always_answered


_NO_INDEX = "/"
"""No topic has it in its name: so ends that of one before a negative index, which no partition has."""


def named(topic: str, index: int) -> str:
    """A partition's name in the core, `orders-0`."""
    return f"{topic}-{index}" if index >= 0 else f"{topic}{_NO_INDEX}{index}"


def split(partition: str) -> tuple[str, int]:
    """`orders-0` as topic and index."""
    topic, _, index = partition.rpartition("-")
    return (topic[:-1], -int(index)) if topic.endswith(_NO_INDEX) else (topic, int(index))


def can_be(topic: str, index: int) -> bool:
    """Whether a partition may be called so. What else a request of a controller names must not become a folder."""
    return index >= 0 and why_no_topic_name(topic) is None


def partitions_of(
    topics: Iterable[Any], name: str = "name", partitions: str = "partitions"
) -> Iterable[tuple[str, Any]]:
    """All partitions that a request lists under topics, each with its name in the core. Bare numbers, or structs whose
    index is `partition_index`, `partition` or `index`.
    """
    for topic in topics:
        for each in getattr(topic, partitions):
            yield named(getattr(topic, name), each if isinstance(each, int) else index_of(each)), each


def index_of(partition: Any) -> int:
    """The index in a struct of a partition, whatever its API calls it."""
    for field in ("partition_index", "partition", "index"):
        if hasattr(partition, field):
            index: int = getattr(partition, field)
            return index
    raise TypeError(f"{type(partition).__name__} has no index of a partition")


def by_topic(rows: Iterable[tuple[str, T]]) -> dict[str, list[tuple[int, T]]]:
    """Rows by topic, in the order in which topics come first."""
    topics: dict[str, list[tuple[int, T]]] = {}
    for partition, row in rows:
        topic, index = split(partition)
        topics.setdefault(topic, []).append((index, row))
    return topics


def by_topic_asked(
    rows: Iterable[tuple[str, T]], topics: Iterable[Any], asked: Asked
) -> dict[str, list[tuple[int, T]]]:
    """As `by_topic`, and before these the topics of a request that name no partition, where they are not there: what is
    there is answered by its partitions alone.
    """
    known = asked.broker.metadata.topic_ids
    empty = [topic.name for topic in topics if not topic.partitions and topic.name not in known]
    return {name: [] for name in empty} | by_topic(rows)
