"""Shared by the translations between Kafka's messages and the bodies of the core."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from broker_core.broker.admin.config_admin import ConfigAdmin
from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.replicas.fetch_sessions import FetchSessions
from broker_core.controller.controller import Controller
from broker_core.controller.topic_names import why_no_topic_name
from broker_core.eras import Era
from broker_core.partitions import parse_requested, requested_partition

T = TypeVar("T")

NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
OPERATIONS_NOT_REQUESTED = -(2**31)
"""The bit field of authorized operations when it was not requested."""


class TargetBroker(Protocol):
    """What a translation reads of the broker that a request is for."""

    broker_id: int
    era: Era
    cluster_id: str
    config: BrokerConfig
    metadata: MetadataCache
    fetch_sessions: FetchSessions
    configs: ConfigAdmin
    controller: Controller
    directory: LogDirectory

    @property
    def partitions(self) -> Mapping[str, object]:
        """The open replicas by name."""

    def known_controller(self) -> int: ...


class ClusterAddresses(Protocol):
    """The brokers of the run, and where clients reach them."""

    @property
    def brokers(self) -> Mapping[int, object]: ...

    def endpoint(self, broker_id: int) -> tuple[str, int]: ...


class RequestContext(NamedTuple):
    """The context of a request: its version, the client and its host, and the broker. `has_client_id`: its client id,
    which may be empty, is not null.
    """

    version: int
    client_id: str
    host: str
    broker: TargetBroker
    cluster: ClusterAddresses
    has_client_id: bool = True

    def topic_of(self, topic_id: str) -> str | None:
        """The name for a topic id in the broker's metadata."""
        return self.broker.metadata.topic_names.get(topic_id)

    def topic_id_of(self, topic: str) -> str:
        """The id for a topic name; the zero id if there is none."""
        return self.broker.metadata.topic_ids.get(topic) or NO_TOPIC_ID


class Immediate(NamedTuple):
    """A response that needs nothing but the state of the connection."""

    response: Any


class Unanswered(NamedTuple):
    """The body of a request on whose response Kafka fails: neither it nor later requests on the connection get a
    response.
    """

    body: Any


def no_answer(body: Any, request: Any, context: RequestContext) -> Any:
    """For an API without a handler."""
    raise TypeError(f"{type(body).__name__} came where the response is immediate")


class Translation(NamedTuple):
    """How an API is translated: `body(request, context)` returns the handler's body, or Immediate, or Unanswered;
    `answer(body, request, context)` makes the response from the handler's result. Requests and responses are values of
    the API's schemas.
    """

    body: Callable[[Any, RequestContext], Any]
    answer: Callable[[Any, Any, RequestContext], Any] = no_answer


def immediate(response: Callable[[Any, RequestContext], Any]) -> Translation:
    """For an API without a handler: `response(request, context)` makes the response."""
    return Translation(lambda request, context: Immediate(response(request, context)))


def can_be(topic: str, index: int) -> bool:
    """Whether this is a valid partition name. Other names in a controller's request must not become folders."""
    return index >= 0 and why_no_topic_name(topic) is None


def partitions_of(
    topics: Iterable[Any], name: str = "name", partitions: str = "partitions"
) -> Iterable[tuple[str, Any]]:
    """All partitions that a request lists under topics, each with its name in the core. Bare numbers, or structs whose
    index is `partition_index`, `partition` or `index`.
    """
    for topic in topics:
        for each in getattr(topic, partitions):
            index = each if isinstance(each, int) else index_of(each)
            yield requested_partition(getattr(topic, name), index), each


def as_map(topics: list[Any], context: RequestContext, name: str = "name", partitions: str = "partitions") -> list[Any]:
    """The topics of a request, or of its response, as releases have them that read partitions into a map."""
    if not context.broker.era.requests.reads_partition_maps:
        return topics
    found: dict[str, tuple[Any, dict[int, Any]]] = {}
    for topic in topics:
        for each in getattr(topic, partitions):
            _, by_index = found.setdefault(getattr(topic, name), (topic, {}))
            by_index[each if isinstance(each, int) else index_of(each)] = each
    for topic, by_index in found.values():
        setattr(topic, partitions, list(by_index.values()))
    return [topic for topic, _ in found.values()]


def index_of(partition: Any) -> int:
    """The index in a struct of a partition, whatever its API calls it."""
    for field in ("partition_index", "partition", "index"):
        if hasattr(partition, field):
            index: int = getattr(partition, field)
            return index
    raise TypeError(f"{type(partition).__name__} has no index of a partition")


def by_topic(rows: Iterable[tuple[str, T]]) -> dict[str, list[tuple[int, T]]]:
    """Rows grouped by topic, in the order in which the topics occur."""
    topics: dict[str, list[tuple[int, T]]] = {}
    for partition, row in rows:
        topic, index = parse_requested(partition)
        topics.setdefault(topic, []).append((index, row))
    return topics


def by_requested_topic(
    rows: Iterable[tuple[str, T]], topics: Iterable[Any], context: RequestContext
) -> dict[str, list[tuple[int, T]]]:
    """As `by_topic`, preceded by requested topics without partitions that do not exist; for existing ones the response
    has their partitions only.
    """
    known = context.broker.metadata.topic_ids
    empty = [topic.name for topic in topics if not topic.partitions and topic.name not in known]
    return {name: [] for name in empty} | by_topic(rows)
