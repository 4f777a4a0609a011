"""Metadata and the administration of topics."""

import msgspec

from broker_core.errors import Errors


class CreateTopicSpec(msgspec.Struct, frozen=True, gc=False):
    """`partitions` and `replication_factor` -1 = the broker's default; `assignment`: replicas by partition, none =
    automatic.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignment: dict[int, tuple[int, ...]] = {}
    configs: tuple[tuple[str, str | None], ...] = ()


class CreateTopicsRequest(msgspec.Struct, frozen=True, gc=False):
    topics: tuple[CreateTopicSpec, ...]
    timeout_ms: int = 30_000
    validate_only: bool = False


class TopicResult(msgspec.Struct, frozen=True, gc=False):
    name: str
    error: Errors = Errors.NONE
    message: str | None = None
    topic_id: str = ""


class CreateTopicsResponse(msgspec.Struct, frozen=True, gc=False):
    topics: tuple[TopicResult, ...]


class DeleteTopicsRequest(msgspec.Struct, frozen=True, gc=False):
    names: tuple[str, ...]
    timeout_ms: int = 30_000


class DeleteTopicsResponse(msgspec.Struct, frozen=True, gc=False):
    topics: tuple[TopicResult, ...]


class CreatePartitionsSpec(msgspec.Struct, frozen=True, gc=False):
    """`count` is the new number of partitions; `assignment`: replicas of each new one, None = automatic."""

    name: str
    count: int
    assignment: tuple[tuple[int, ...], ...] | None = None


class CreatePartitionsRequest(msgspec.Struct, frozen=True, gc=False):
    topics: tuple[CreatePartitionsSpec, ...]
    timeout_ms: int = 30_000
    validate_only: bool = False


class CreatePartitionsResponse(msgspec.Struct, frozen=True, gc=False):
    topics: tuple[TopicResult, ...]


class MetadataRequest(msgspec.Struct, frozen=True, gc=False):
    """`topics` None = all. With `allow_auto_topic_creation` the broker creates missing ones if its configuration allows
    it.
    """

    topics: tuple[str, ...] | None = None
    allow_auto_topic_creation: bool = False


class MetadataResponse(msgspec.Struct, frozen=True, gc=False):
    """`brokers`: live ids; `topics`: (name, topic id, error); `partitions`: (topic-partition, leader, leader epoch,
    replicas, isr, offline replicas).
    """

    brokers: tuple[int, ...]
    controller: int
    topics: tuple[tuple[str, str, Errors], ...]
    partitions: tuple[tuple[str, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]
