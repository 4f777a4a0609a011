"""The order of topics and partitions in the responses of releases that keep them in hash maps of Java and Scala until
they are written (`CollectionUtils.groupDataByTopic`).
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from broker_core.broker.translation.common import RequestContext, by_topic, index_of, partitions_of
from broker_core.broker.translation.common import commit_order as commit_order_with_ids
from broker_core.broker.translation.common import committed_topics as committed_topics_with_ids
from broker_core.config_defs.java_text import (
    hash_map_order,
    old_scala_map_order,
    old_scala_set_order,
    partition_code,
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


def commit_order(partitions: Iterable[tuple[str, T]], context: RequestContext) -> list[tuple[str, T]]:
    """The partitions of a commit in the order in which they are stored."""
    if context.broker.era.requests.groups_in_java_maps == "none":
        return commit_order_with_ids(partitions, context)
    given = dict(partitions)
    return [(name, given[name]) for name in _commit_names(given, context)]


def committed_topics(
    wire: Any, name: str, rows: Iterable[tuple[str, Errors]], topics: list[Any], context: RequestContext
) -> list[Any]:
    """The topics of a response to OffsetCommit or TxnOffsetCommit, of the types `name`Topic and `name`Partition."""
    how = context.broker.era.requests.groups_in_java_maps
    if how == "none":
        return committed_topics_with_ids(wire, name, rows, topics, context)
    errors = dict(rows)
    ordered = [(each, errors[each]) for each in _commit_names(dict(partitions_of(topics)), context) if each in errors]
    topic_type, partition_type = getattr(wire, f"{name}Topic"), getattr(wire, f"{name}Partition")
    listed = [
        topic_type(
            name=topic,
            partitions=[partition_type(partition_index=index, error_code=error.code) for index, error in found],
        )
        for topic, found in by_topic(ordered).items()
    ]
    return _in_java(listed) if how == "all" else _by_name(listed, "name")


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
    if context.broker.era.requests.groups_in_java_maps == "all":
        names = hash_map_order(names, code=partition_code)
    is_known = context.broker.metadata.is_known
    known = [name for name in names if is_known(name)]
    unknown = old_scala_map_order([name for name in names if not is_known(name)], partition_code)
    return old_scala_set_order([*old_scala_set_order(known, partition_code), *unknown], partition_code)


def _by_index(rows: Iterable[str]) -> list[str]:
    return hash_map_order(list(rows), code=lambda index: int(index) & 0xFFFFFFFF)


def _by_name(topics: list[Any], name: str) -> list[Any]:
    named = {getattr(topic, name): topic for topic in topics}
    return [named[each] for each in hash_map_order(list(named))]
