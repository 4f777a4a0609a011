"""`producer offsets`: the lab's form of `KafkaProducer.sendOffsetsToTransaction`."""

import re
from collections.abc import Sequence

from broker_core.clients.consumer.group_member import GroupMember
from broker_core.clients.producer.producer import Producer
from broker_core.clients.producer.states import ProducerState
from broker_core.clients.producer.transactional_offsets import GroupMetadata, TransactionalOffsets
from broker_core.shell.admin.requests import Asking
from broker_core.shell.console.producer_transactions import (
    NOT_TRANSACTIONAL,
    failed_before,
    late,
    limit_us,
    must_retry,
    no_such_producer,
)
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import partitions
from broker_core.shell.grammar.process import Process, Running, Until
from broker_core.shell.grammar.registry import PARTITION, UsageError, not_understood, refuse
from broker_core.texts import text

_OFFSET = re.compile(rf"({PARTITION})@([0-9]{{1,18}})")


def send_offsets(process: Process, name: str, words: list[str]) -> Running:
    """Commits offsets with the open transaction, and waits for the group's coordinator. Raises ShellError."""
    if len(words) < 2 or words[0] not in ("--group", "--consumer") or (words[0] == "--consumer" and len(words) > 2):
        raise not_understood("producer", ["offsets", name, *words])
    given = []
    for word in words[2:]:
        found = _OFFSET.fullmatch(word)
        if found is None:
            raise UsageError(text("shell.invalid_offset", word=word))
        given.append((found[1], int(found[2])))
    if words[0] == "--group" and not given:
        raise UsageError(text("shell.offsets_missing"))
    return _send(process, name, words[0] == "--consumer", words[1], tuple(given))


def _send(process: Process, name: str, by_consumer: bool, whose: str, given: tuple[tuple[str, int], ...]) -> Running:
    clients = process.cluster.clients
    producer = clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    consumer = clients.group_consumers.get(whose) if by_consumer else None
    if by_consumer and consumer is None:
        refuse(process, text("shell.no_group_consumer", name=whose))
        return 1
    manager = producer.transactions
    if not manager.transactional_id:
        process.out(NOT_TRANSACTIONAL)
    elif manager.is_broken:
        process.out(failed_before(manager))
    elif manager.timed_out:
        process.out(must_retry(manager, "sendOffsetsToTransaction"))
    elif manager.state is not ProducerState.IN_TRANSACTION:
        process.out(
            f"IllegalStateException: TransactionalId {manager.transactional_id}: Cannot send offsets if a transaction "
            f"is not in progress (currentState= {manager.state.name})"
        )
    else:
        group = _metadata_of(consumer) if consumer is not None else GroupMetadata(whose)
        sent = TransactionalOffsets(group, given if consumer is None else _positions_of(consumer))
        if not sent.offsets:
            return 0
        yield from _await(process, producer, sent)
    return 0


def _await(process: Process, producer: Producer, sent: TransactionalOffsets) -> Asking[None]:
    manager = producer.transactions
    manager.send_offsets(sent)
    yield Until(lambda _: sent.is_done or manager.is_broken, limit_us(process, producer), poll_us=1_000)
    if manager.is_broken and manager.error is not None:
        process.out(": ".join(manager.error))
    elif not sent.is_done:
        process.out(late(producer, "TxnOffsetCommit"))
    else:
        process.out(" ".join(f"{partition}@{offset}" for partition, offset in sent.offsets))


def _metadata_of(consumer: GroupMember) -> GroupMetadata:
    settings = consumer.settings
    return GroupMetadata(
        settings.group_id, consumer.generation_id, consumer.member_id, settings.group_instance_id or None
    )


def _positions_of(consumer: GroupMember) -> tuple[tuple[str, int], ...]:
    return tuple((name, offset) for name, (offset, _) in sorted(consumer.positions.items()) if offset >= 0)


def complete_offsets(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    """The arguments of `producer offsets NAME`."""
    if len(words) == 3:
        return ["--group", "--consumer"]
    if len(words) == 4:
        return [] if words[2] == "--group" else list(cluster.clients.group_consumers)
    return [f"{name}@" for name in partitions(cluster)] if words[2] == "--group" else []
