"""The order of topics and partitions that Kafka keeps in hash maps of Java and Scala: in commits of offsets, and in the
responses of old releases until they are written (`CollectionUtils.groupDataByTopic`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from broker_core.broker.translation.common import RequestContext, by_topic, index_of, partitions_of
from broker_core.config_defs.java_text import (
    case_class_code,
    concurrent_map_order,
    hash_map_order,
    long_code,
    long_map_order,
    old_scala_map_order,
    old_scala_set_order,
    partition_code,
    scala_hash_set_order,
    scala_set_order,
)
from broker_core.errors import Errors
from broker_core.partitions import requested_partition

T = TypeVar("T")

_NOT_ADDED = {Errors.TOPIC_AUTHORIZATION_FAILED, Errors.UNKNOWN_TOPIC_OR_PARTITION}
_NOT_WRITTEN = {Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT}


def in_maps(
    topics: list[Any],
    context: RequestContext,
    order: Callable[[list[str]], list[str]],
    name: str = "name",
    partitions: str = "partitions",
    in_first: Callable[[list[str]], list[str]] = list,
) -> list[Any]:
    """The topics of a response in the order of a `HashMap` of topics, whose values are `HashMap`s of partitions, or of
    maps of Scala (0.8).

    `order` gives the order of the partitions in the map of an API from which these are filled: it decides in what order
    topics and partitions are that collide. `in_first` gives that in the first map of Scala.
    """
    how = context.broker.era.requests.groups_in_maps
    if how == "none":
        return topics
    names = list(dict.fromkeys(each for each, _ in partitions_of(topics, name, partitions)))
    if how == "scala":
        return _in_scala(topics, in_first(names), name, partitions)
    placed = _as_placed(topics, order(names), name, partitions)
    if how == "most":
        placed.reverse()  # `computeIfAbsent` puts a topic before those that it collides with.
    return _in_java(placed, name, partitions)


def _in_scala(topics: list[Any], names: list[str], name: str = "name", partitions: str = "partitions") -> list[Any]:
    """The topics as `groupBy` finds them in an immutable map, and their partitions as they are in that."""
    placed = _as_placed(topics, old_scala_set_order(names, case_class_code), name, partitions)
    named = {getattr(topic, name): topic for topic in placed}
    return [named[each] for each in old_scala_set_order(old_scala_map_order(named))]


def in_mutable_map(names: list[str]) -> list[str]:
    """The partitions of a Produce of 0.8."""
    return old_scala_map_order(names, case_class_code)


def fetched_in_maps(topics: list[Any], context: RequestContext) -> list[Any]:
    """The topics of a response to Fetch, which only 0.8 keeps in maps; each has one of its own of its partitions."""
    if context.broker.era.requests.groups_in_maps != "scala":
        return topics
    merged: dict[str, Any] = {}
    for topic in topics:
        first = merged.setdefault(topic.topic, topic)
        if first is not topic:
            first.partitions = [*first.partitions, *topic.partitions]
    topics = list(merged.values())
    topics = _in_scala(topics, [name for name, _ in partitions_of(topics, "topic")], "topic")
    for topic in topics:
        rows = {str(index_of(row)): row for row in topic.partitions}
        topic.partitions = [rows[index] for index in old_scala_set_order(rows, lambda index: int(index) & 0xFFFFFFFF)]
    return topics


def looked_up(names: list[str]) -> list[str]:
    """The partitions of ListOffsets: a mutable map is filled from that of the request, and copied."""
    return _mutable(_mutable(_read(names)))


def compared(names: list[str]) -> list[str]:
    """The partitions of OffsetForLeaderEpoch."""
    return _immutable(_read(names))


def divided(groups: Iterable[list[str]], context: RequestContext) -> list[str]:
    """The partitions of Produce and DeleteRecords, in groups: first those that are looked for in logs."""
    is_java = context.broker.era.requests.divides_java_maps
    maps = [_read(group) if is_java else _mutable(_read(group)) for group in groups]
    return _immutable(name for group in maps for name in group)


def known_first(names: list[str], context: RequestContext) -> list[str]:
    """The same of the partitions that the broker knows and those that it does not."""
    is_known = context.broker.metadata.is_known
    known = [name for name in names if is_known(name)]
    return divided((known, [name for name in names if not is_known(name)]), context)


def added(names: list[str], errors: Mapping[str, Errors]) -> list[str]:
    """The partitions of AddPartitionsToTxn: if one of them is refused, those without authorization, those that do not
    exist and those that were not attempted are added to a map that is copied each time.
    """
    found: dict[Errors, list[str]] = {}
    for name in names:
        found.setdefault(errors[name], []).append(name)
    if not found.keys() & _NOT_ADDED:
        return _immutable(names)
    merged = _mutable(found.pop(Errors.TOPIC_AUTHORIZATION_FAILED, []))
    merged = _mutable([*merged, *_mutable(found.pop(Errors.UNKNOWN_TOPIC_OR_PARTITION, []))])
    return _mutable([*merged, *(name for rest in found.values() for name in rest)])


def marked(names: list[str], errors: Mapping[str, Errors]) -> list[str]:
    """The partitions of a marker: those that the broker does not host are put into a `ConcurrentHashMap` one by one,
    then those that were written all at once.
    """
    absent = [name for name in names if errors[name] in _NOT_WRITTEN]
    written = [name for name in names if errors[name] not in _NOT_WRITTEN]
    return concurrent_map_order(absent, _immutable(written), partition_code)


def in_order_of_markers(markers: Mapping[int, Mapping[str, Errors]], context: RequestContext) -> list[int]:
    """The producer ids of a response to WriteTxnMarkers, in a `ConcurrentHashMap`: first those for which there is a
    partition that the broker does not host.
    """
    if context.broker.era.requests.groups_in_maps == "none":
        return list(markers)
    late = [producer_id for producer_id, errors in markers.items() if not _NOT_WRITTEN & set(errors.values())]
    early = [producer_id for producer_id in markers if producer_id not in late]
    return concurrent_map_order([*early, *late], (), long_code)


def _read(names: list[str]) -> list[str]:
    """The map into which a request is read."""
    return hash_map_order(names, code=partition_code)


def _mutable(names: Iterable[str]) -> list[str]:
    return old_scala_map_order(names, partition_code)


def _immutable(names: Iterable[str]) -> list[str]:
    return old_scala_set_order(names, partition_code)


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


def in_set(names: Iterable[str], context: RequestContext) -> list[str]:
    """The topics of a Metadata request, which Kafka puts into an immutable set; those that do not exist come last."""
    if context.broker.era.requests.groups_in_maps == "none":
        return list(names)
    known = context.broker.metadata.topic_ids
    return sorted(old_scala_set_order(names), key=lambda name: name not in known)


def in_cache_order(topic: str, rows: list[tuple[int, T]], context: RequestContext) -> list[tuple[int, T]]:
    """The partitions of a topic, with their indexes, in the order of the map in the metadata cache. It was filled in
    the order of that in the controller or in its request.
    """
    how = context.broker.era.requests.partition_map
    if how == "sorted":
        return rows
    by_name = {requested_partition(topic, index): (index, row) for index, row in rows}
    if how == "long":
        indexes = long_map_order(by_name[name][0] for name in _mutable(by_name))
        by_index = dict(rows)
        return [(index, by_index[index]) for index in indexes]
    read = _read(list(by_name))
    return [by_name[name] for name in old_scala_map_order(read, lambda name: by_name[name][0])]


def commit_order(
    offsets: Iterable[tuple[str, T]], context: RequestContext, *, in_transaction: bool = False
) -> list[tuple[str, T]]:
    """The offsets of a request as Kafka puts them into its maps: one that is there twice counts as it is there last."""
    given = dict(offsets)
    return [(name, given[name]) for name in _commit_names(given, context, in_transaction)]


def committed_topics(
    wire: Any, name: str, rows: Iterable[tuple[str, Errors]], topics: list[Any], context: RequestContext
) -> list[Any]:
    """The topics of a response to OffsetCommit or TxnOffsetCommit, of the types `name`Topic and `name`Partition."""
    how = context.broker.era.requests.groups_in_maps
    if how == "none":
        by_name = _missing_first(rows, topics, context)
    else:
        errors, names = dict(rows), list(dict(partitions_of(topics)))
        if how != "scala":
            names = _commit_names(names, context, name.startswith("Txn"))
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
    if how == "scala":
        return _in_scala(listed, names)
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
    how = context.broker.era.requests.groups_in_maps
    if how == "none":
        return topics
    rows = dict(partitions_of(topics))
    if how == "scala":
        names = sorted(rows, key=lambda name: rows[name].error_code == Errors.NONE.code)
        return _in_scala(topics, names)
    if requested is None:
        names = old_scala_map_order(rows, partition_code)
    else:
        names = [name for name, _ in partitions_of(requested, partitions="partition_indexes") if name in rows]
    topics = _as_placed(topics, old_scala_set_order(names, partition_code))
    return _in_java(topics) if how == "all" else _by_name(topics, "name")


def _commit_names(given: Iterable[str], context: RequestContext, in_transaction: bool) -> list[str]:
    """The partitions of a commit in the map of those that the broker knows, to which the others are added."""
    names = list(given)
    how = context.broker.era.requests.groups_in_maps
    if how in ("none", "scala"):
        return _commit_names_with_ids(names, context)
    if in_transaction:
        return known_first(names, context)
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
