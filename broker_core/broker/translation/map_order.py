"""The order of topics and partitions that Kafka keeps in hash maps of Java and Scala: in commits of offsets, and in the
responses of old releases until they are written (`CollectionUtils.groupDataByTopic`).
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from broker_core.broker.translation.common import RequestContext, by_topic, index_of, partitions_of
from broker_core.config_defs.java_text import (
    hash_map_order,
    old_scala_map_order,
    old_scala_set_order,
    partition_code,
    scala_hash_set_order,
    scala_set_order,
)
from broker_core.errors import Errors

T = TypeVar("T")


def in_java_maps(
    topics: list[Any],
    context: RequestContext,
    name: str = "name",
    partitions: str = "partitions",
    is_mutable: bool = False,
) -> list[Any]:
    """The topics of a response in the order of a `HashMap` of topics, whose values are `HashMap`s of partitions. They
    are filled from a map of Scala, which may be mutable: that decides in what order partitions are that collide.
    """
    if context.broker.era.requests.groups_in_java_maps == "none":
        return topics
    names = [each for each, _ in partitions_of(topics, name, partitions)]
    is_known = context.broker.metadata.is_known
    names = [
        *old_scala_map_order(filter(is_known, names), partition_code),
        *old_scala_map_order((each for each in names if not is_known(each)), partition_code),
    ]
    names = old_scala_map_order(names, partition_code) if is_mutable else old_scala_set_order(names, partition_code)
    return _in_java(_as_placed(topics, names, name, partitions), name, partitions)


def _as_placed(topics: list[Any], names: list[str], name: str = "name", partitions: str = "partitions") -> list[Any]:
    """The topics and their partitions in the order of these names."""
    places = {each: at for at, each in enumerate(names)}
    first: list[tuple[int, Any]] = []
    for topic in topics:
        found = sorted((places[each], at) for at, (each, _) in enumerate(partitions_of([topic], name, partitions)))
        rows = getattr(topic, partitions)
        setattr(topic, partitions, [rows[at] for _, at in found])
        first.append((found[0][0] if found else len(places), topic))
    return [topic for _, topic in sorted(first, key=lambda pair: pair[0])]


def _in_java(topics: list[Any], name: str = "name", partitions: str = "partitions") -> list[Any]:
    for topic in topics:
        rows = {str(index_of(row)): row for row in getattr(topic, partitions)}
        setattr(topic, partitions, [rows[index] for index in _by_index(rows)])
    return _by_name(topics, name)


def commit_order(offsets: Iterable[tuple[str, T]], context: RequestContext) -> list[tuple[str, T]]:
    """The offsets of a request as Kafka puts them into its maps: one that is there twice counts as it is there last."""
    given = dict(offsets)
    return [(name, given[name]) for name in _commit_names(given, context)]


def committed_topics(
    wire: Any, name: str, rows: Iterable[tuple[str, Errors]], topics: list[Any], context: RequestContext
) -> list[Any]:
    """The topics of a response to OffsetCommit or TxnOffsetCommit, of the types `name`Topic and `name`Partition."""
    how = context.broker.era.requests.groups_in_java_maps
    if how == "none":
        by_name = _missing_first(rows, topics, context)
    else:
        errors = dict(rows)
        names = _commit_names(dict(partitions_of(topics)), context)
        by_name = by_topic((each, errors[each]) for each in names if each in errors)
    topic_type, partition_type = getattr(wire, f"{name}Topic"), getattr(wire, f"{name}Partition")
    listed = [
        topic_type(
            name=topic,
            partitions=[partition_type(partition_index=index, error_code=error.code) for index, error in found],
        )
        for topic, found in by_name.items()
    ]
    if how == "all":
        return _in_java(listed)
    return _by_name(listed, "name") if how == "most" else listed


def _missing_first(
    rows: Iterable[tuple[str, Errors]], topics: Iterable[Any], context: RequestContext
) -> dict[str, list[tuple[int, Errors]]]:
    """The errors of a commit by topic: first missing topics and partitions, as often as the request names them."""
    rows = tuple(rows)
    unknown = {name for name, error in rows if error is Errors.UNKNOWN_TOPIC_OR_PARTITION}
    found: dict[str, list[tuple[int, Errors]]] = {}
    for topic in topics:
        if topic.name not in context.broker.metadata.topic_ids:
            found.setdefault(topic.name, [])
        for name, each in partitions_of([topic]):
            if name in unknown:
                found.setdefault(topic.name, []).append((index_of(each), Errors.UNKNOWN_TOPIC_OR_PARTITION))
    for topic, known in by_topic(row for row in rows if row[0] not in unknown).items():
        found.setdefault(topic, []).extend(known)
    return found


def fetched_topics(topics: list[Any], requested: list[Any] | None, context: RequestContext) -> list[Any]:
    """The topics of a response to OffsetFetch. `requested` None: all partitions of the group."""
    how = context.broker.era.requests.groups_in_java_maps
    if how == "none":
        return topics
    rows = dict(partitions_of(topics))
    if requested is None:
        names = old_scala_map_order(rows, partition_code)
    else:
        names = [name for name, _ in partitions_of(requested, partitions="partition_indexes") if name in rows]
    topics = _as_placed(topics, old_scala_set_order(names, partition_code))
    return _in_java(topics) if how == "all" else _by_name(topics, "name")


def _commit_names(given: Iterable[str], context: RequestContext) -> list[str]:
    """The partitions of a commit in the map of those that the broker knows, to which the others are added."""
    names = list(given)
    how = context.broker.era.requests.groups_in_java_maps
    if how == "none":
        return _commit_names_with_ids(names, context)
    if how == "all":
        names = hash_map_order(names, code=partition_code)
    is_known = context.broker.metadata.is_known
    known = [name for name in names if is_known(name)]
    unknown = old_scala_map_order([name for name in names if not is_known(name)], partition_code)
    return old_scala_set_order([*old_scala_set_order(known, partition_code), *unknown], partition_code)


def _commit_names_with_ids(names: list[str], context: RequestContext) -> list[str]:
    """As `_commit_names`, in maps whose keys contain a topic id, which is zero."""
    if len(names) == 1:
        return names
    known = [name for name in names if name in context.broker.metadata.partitions]
    by_hash = scala_set_order(scala_hash_set_order(known, _code_with_id), _code_with_id)
    return [*by_hash, *(name for name in names if name not in known)]


def _code_with_id(partition: str) -> int:
    """`TopicIdPartition.hashCode`."""
    return (31 * 31 + partition_code(partition)) & 0xFFFFFFFF


def _by_index(rows: Iterable[str]) -> list[str]:
    return hash_map_order(list(rows), code=lambda index: int(index) & 0xFFFFFFFF)


def _by_name(topics: list[Any], name: str) -> list[Any]:
    named = {getattr(topic, name): topic for topic in topics}
    return [named[each] for each in hash_map_order(list(named))]
