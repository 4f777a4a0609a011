"""Fetch sessions: a client sends the fetched partitions once, and then receives changes only (KIP-227).

Kafka's classes are `FetchSession`, `FetchSessionCache` and `IncrementalFetchContext`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from broker_core.broker.replicas.replica_manager import ANY_EPOCH
from broker_core.era_requests import RequestBehaviour
from broker_core.errors import Errors
from broker_core.sim.rng import RandomStream
from broker_core.wire.messages import FetchPartitionResponse

TopicPartitionKey: TypeAlias = tuple[str, int]
"""A topic, by name or by id as in the request, and the partition's index."""

MAX_EPOCH = 2**31 - 1
CACHE_SLOTS = 1_000
"""The default of max.incremental.fetch.session.cache.slots."""


SHARDS = 8
_IDS_OF_A_SHARD = MAX_EPOCH // SHARDS
MAX_ID = SHARDS * _IDS_OF_A_SHARD - 1


def has_shard(session_id: int) -> bool:
    """Whether the cache has a shard for an id: without one a request fails (`FetchSessionCache.getCacheShard`)."""
    return -_IDS_OF_A_SHARD < session_id < SHARDS * _IDS_OF_A_SHARD


class SessionPartition(msgspec.Struct):
    """The state of a partition in a session: what the client requested and what was returned last. `topic`: its name,
    once resolved from the id.
    """

    fetch_offset: int
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    last_high_watermark: int = -1
    last_log_start_offset: int = -1
    topic: str | None = None


class FetchSession:
    """`epoch` is that of the next request. `era`: how its release keeps sessions."""

    def __init__(
        self,
        session_id: int,
        partitions: Mapping[TopicPartitionKey, SessionPartition],
        uses_topic_ids: bool,
        era: RequestBehaviour,
    ) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.partitions: dict[TopicPartitionKey, SessionPartition] = {}
        self.uses_topic_ids = uses_topic_ids
        self._era = era
        self.update(partitions, ())

    def update(
        self, wanted: Mapping[TopicPartitionKey, SessionPartition], forgotten: Iterable[TopicPartitionKey]
    ) -> None:
        """Adds new and changed partitions, and removes those that the client no longer wants."""
        for key, partition in wanted.items():
            if not self._era.sessions_keep_epochs:
                partition.current_leader_epoch = ANY_EPOCH
            known = self.partitions.get(key)
            if known is not None:
                partition.last_high_watermark = known.last_high_watermark
                partition.last_log_start_offset = known.last_log_start_offset
                partition.topic = known.topic
            self.partitions[key] = partition
        for key in forgotten:
            self.partitions.pop(key, None)

    def is_included(self, key: TopicPartitionKey, answer: FetchPartitionResponse, *, is_first: bool) -> bool:
        """Whether a partition is included in the response, which updates its state; the first responses of a session
        include all. A partition with records, in old releases any that is included, is moved to the end afterwards, so
        that all are served in turn. What was read counts, before it is converted for an old version.
        """
        answer = answer.unconverted or answer
        is_included = self._is_included(self.partitions[key], answer, is_first=is_first)
        if is_included and not is_first and (answer.records or self._era.sessions_move_all):
            self.partitions[key] = self.partitions.pop(key)
        return is_included

    def _is_included(self, partition: SessionPartition, answer: FetchPartitionResponse, *, is_first: bool) -> bool:
        if answer.error is not Errors.NONE:
            partition.last_high_watermark = -1
            return True
        now = (answer.high_watermark, answer.log_start_offset)
        if (
            not is_first
            and not answer.records
            and answer.preferred_read_replica < 0
            and answer.diverging_epoch is None
            and now == (partition.last_high_watermark, partition.last_log_start_offset)
        ):
            return False
        partition.last_high_watermark, partition.last_log_start_offset = now
        return True


class FetchSessions:
    """The fetch sessions of one broker process. Ids are random, so that another broker, or a later process of this one,
    does not know them.
    """

    def __init__(self, stream: RandomStream, era: RequestBehaviour) -> None:
        self._sessions: dict[int, FetchSession] = {}
        self._stream = stream
        self._era = era

    def get(self, session_id: int) -> FetchSession | None:
        """The session, if there is one."""
        return self._sessions.get(session_id)

    def create(
        self, partitions: Mapping[TopicPartitionKey, SessionPartition], uses_topic_ids: bool
    ) -> FetchSession | None:
        """A new session. The least recently used one is evicted when the cache is full."""
        while len(self._sessions) >= CACHE_SLOTS:
            del self._sessions[next(iter(self._sessions))]
        session_id = 0
        while not session_id or session_id in self._sessions:
            session_id = self._stream.between(1, MAX_ID)
        session = self._sessions[session_id] = FetchSession(session_id, partitions, uses_topic_ids, self._era)
        return session

    def remove(self, session_id: int) -> None:
        """A client starts a new session, or closes its session."""
        self._sessions.pop(session_id, None)

    def resume(
        self,
        session_id: int,
        epoch: int,
        wanted: Mapping[TopicPartitionKey, SessionPartition],
        forgotten: Iterable[TopicPartitionKey],
        uses_topic_ids: bool,
    ) -> FetchSession | Errors:
        """Returns the session with the request's changes applied, or why there is none."""
        session = self._sessions.get(session_id)
        if session is None:
            return Errors.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return Errors.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return Errors.FETCH_SESSION_TOPIC_ID_ERROR
        session.update(wanted, forgotten)
        if not session.partitions:
            del self._sessions[session_id]
            return session
        session.epoch = 1 if epoch == MAX_EPOCH else epoch + 1
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session
