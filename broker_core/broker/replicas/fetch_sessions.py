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
from broker_core.sim.scheduler import Scheduler
from broker_core.wire.messages import FetchPartitionResponse

TopicPartitionKey: TypeAlias = tuple[str, int]
"""A topic, by name or by id as in the request, and the partition's index."""

MAX_EPOCH = 2**31 - 1
EVICTION_MS = 120_000
"""A session that was not used for longer may be evicted for any other (`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`)."""

_ID_LIMIT = 2**31 - 1


def next_epoch(epoch: int) -> int:
    """The epoch of the request after one with this epoch."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


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
    """`epoch` is that of the next request. `era`: how its release keeps sessions. `used_ms`, `size`, `is_old`: as of
    its last use, when it was last given its place in the cache.
    """

    def __init__(
        self,
        session_id: int,
        partitions: Mapping[TopicPartitionKey, SessionPartition],
        era: RequestBehaviour,
        *,
        uses_topic_ids: bool,
        is_follower: bool,
        created_ms: int,
    ) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.is_follower = is_follower
        self.created_ms = self.used_ms = created_ms
        self.size = 0
        self.is_old = False
        self.partitions: dict[TopicPartitionKey, SessionPartition] = {}
        self.uses_topic_ids = uses_topic_ids
        self._era = era
        self.update(partitions, ())
        self.touch(created_ms)

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The lowest of the cache is evicted first (`EvictableKey`)."""
        return self.is_follower, self.size, self.session_id

    def touch(self, now_ms: int) -> None:
        """It is used now."""
        self.used_ms = now_ms
        self.size = len(self.partitions)
        self.is_old = now_ms - self.created_ms > EVICTION_MS

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
    does not know them. The cache has shards, each with its part of the slots and of the ids; new sessions are given to
    them in turn. `slots`: max.incremental.fetch.session.cache.slots.
    """

    def __init__(self, stream: RandomStream, era: RequestBehaviour, slots: int, scheduler: Scheduler) -> None:
        count = era.session_shards
        self._shards: list[dict[int, FetchSession]] = [{} for _ in range(count)]
        self._slots = slots // count
        self._ids = _ID_LIMIT // count
        self._created = 0
        self._stream = stream
        self._era = era
        self._scheduler = scheduler

    @property
    def _now_ms(self) -> int:
        return self._scheduler.now_us // 1_000

    def has_shard(self, session_id: int) -> bool:
        """Whether there is a shard for an id: without one a request fails (`FetchSessionCache.getCacheShard`)."""
        count = len(self._shards)
        return count == 1 or -self._ids < session_id < count * self._ids

    def _shard(self, session_id: int) -> dict[int, FetchSession]:
        is_alone = len(self._shards) == 1
        return self._shards[0 if is_alone else max(session_id, 0) // self._ids]

    def get(self, session_id: int) -> FetchSession | None:
        """The session, if there is one."""
        return self._shard(session_id).get(session_id)

    def create(
        self,
        partitions: Mapping[TopicPartitionKey, SessionPartition],
        *,
        uses_topic_ids: bool,
        is_follower: bool,
    ) -> FetchSession | None:
        """A new session; None if its shard is full and no session there may be evicted for it."""
        number = self._created % len(self._shards)
        shard = self._shards[number]
        self._created += 1
        now_ms = self._now_ms
        if len(shard) >= self._slots and not self._evict(shard, (is_follower, len(partitions), 0), now_ms):
            return None
        session_id = 0
        while not session_id or session_id in shard:
            session_id = self._stream.between(max(1, number * self._ids), (number + 1) * self._ids - 1)
        session = shard[session_id] = FetchSession(
            session_id,
            partitions,
            self._era,
            uses_topic_ids=uses_topic_ids,
            is_follower=is_follower,
            created_ms=now_ms,
        )
        return session

    @staticmethod
    def _evict(shard: dict[int, FetchSession], rank: tuple[bool, int, int], now_ms: int) -> bool:
        """Removes the session that is longest unused, if that is long enough; else the one of the lowest rank, if a new
        session of this rank may take its place. Sessions of consumers, and recent ones, are spared in turn: a new
        follower evicts consumers, a new consumer only old sessions (`FetchSessionCacheShard.tryEvict`).
        """
        if not shard:
            return False
        gone = min(shard.values(), key=lambda each: (each.used_ms, each.session_id))
        if now_ms - gone.used_ms <= EVICTION_MS:
            is_follower = rank[0]
            evictable = [each for each in shard.values() if each.is_old or (is_follower and not each.is_follower)]
            if not evictable:
                return False
            gone = min(evictable, key=lambda each: each.rank)
            if rank < gone.rank:
                return False
        del shard[gone.session_id]
        return True

    def remove(self, session_id: int) -> None:
        """A client starts a new session, or closes its session."""
        self._shard(session_id).pop(session_id, None)

    def resume(
        self,
        session_id: int,
        epoch: int,
        wanted: Mapping[TopicPartitionKey, SessionPartition],
        forgotten: Iterable[TopicPartitionKey],
        uses_topic_ids: bool,
    ) -> FetchSession | Errors:
        """Returns the session with the request's changes applied, or why there is none."""
        session = self.get(session_id)
        if session is None:
            return Errors.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return Errors.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return Errors.FETCH_SESSION_TOPIC_ID_ERROR
        session.update(wanted, forgotten)
        if not session.partitions:
            self.remove(session_id)
            return session
        session.epoch = next_epoch(epoch)
        session.touch(self._now_ms if self._era.sessions_remain_in_use else session.used_ms)
        return session
