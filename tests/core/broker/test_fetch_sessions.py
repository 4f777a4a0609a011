"""The cache of fetch sessions: who gets a place, and whom it is taken from (`FetchSessionCacheShard`)."""

import pytest

from broker_core.broker.replicas.fetch_sessions import (
    EVICTION_MS,
    FetchSession,
    FetchSessions,
    SessionPartition,
    TopicPartitionKey,
)
from broker_core.eras import ERAS
from broker_core.errors import Errors
from broker_core.sim.rng import RandomStream
from broker_core.sim.scheduler import Scheduler

SHARDS = 8


class Cache:
    """A cache of an era with `slots` places in each shard, and a clock."""

    def __init__(self, slots: int, era: str = "3.9") -> None:
        requests = ERAS[era].requests
        self._scheduler = Scheduler()
        stream = RandomStream(5, "fetch sessions")
        self.sessions = FetchSessions(stream, requests, slots * requests.session_shards, self._scheduler)

    def wait(self, ms: int) -> None:
        self._scheduler.now_us += ms * 1_000

    def create(self, size: int = 1, *, is_follower: bool = False) -> int:
        """The id of a new session with so many partitions, 0 without one."""
        session = self.sessions.create(partitions(size), uses_topic_ids=False, is_follower=is_follower)
        return 0 if session is None else session.session_id

    def use(self, session_id: int, epoch: int, size: int = 0) -> bool:
        """Whether the session is known to a request, which may add partitions to it."""
        session = self.sessions.resume(session_id, epoch, partitions(size), (), uses_topic_ids=False)
        assert isinstance(session, FetchSession) or session is Errors.FETCH_SESSION_ID_NOT_FOUND
        return isinstance(session, FetchSession)


def partitions(count: int) -> dict[TopicPartitionKey, SessionPartition]:
    return {("orders", index): SessionPartition(0, -1, -1, -1, 1_000_000) for index in range(count)}


@pytest.mark.parametrize(("era", "count"), [("1.1", 1), ("2.4", 1), ("3.9", SHARDS)])
def test_each_shard_has_its_part_of_the_slots_and_of_the_ids(era: str, count: int) -> None:
    cache = Cache(1, era)
    ids = [cache.create() for _ in range(count)]
    part = (2**31 - 1) // count
    assert [session_id // part for session_id in ids] == list(range(count))
    assert cache.create() == 0, "no session is evicted that was used a moment ago"
    assert all(cache.use(session_id, 1) for session_id in ids)
    assert cache.sessions.has_shard(-part) == (count == 1)


def test_fewer_slots_than_shards_are_none() -> None:
    cache = Cache(0)
    assert cache.create() == 0


def test_session_that_is_not_used_gives_up_its_place() -> None:
    cache = Cache(1)
    first, *others = [cache.create() for _ in range(SHARDS)]
    cache.wait(EVICTION_MS)
    assert cache.create() == 0 and all(cache.use(session_id, 1) for session_id in others)
    cache.wait(1)
    for _ in range(SHARDS - 1):
        assert cache.create() == 0, "the other shards are in use"
    assert cache.create() != 0
    assert not cache.use(first, 1)


def test_session_in_use_is_evicted_before_2_5() -> None:
    cache = Cache(1, "2.4")
    first = cache.create()
    cache.wait(EVICTION_MS)
    assert cache.use(first, 1, size=2)
    cache.wait(1)
    assert cache.create() != 0 and not cache.use(first, 2)


def test_larger_session_takes_the_place_of_an_old_one() -> None:
    cache = Cache(1)
    ids = [cache.create(size=2) for _ in range(SHARDS)]
    cache.wait(EVICTION_MS + 1)
    assert all(cache.use(session_id, 1) for session_id in ids)
    assert [cache.create(size=2) for _ in range(SHARDS)] == [0] * SHARDS
    assert cache.create(size=3) != 0
    assert [cache.use(session_id, 2) for session_id in ids] == [False] + [True] * (SHARDS - 1)


def test_follower_takes_the_place_of_a_consumer_but_not_of_a_follower() -> None:
    cache = Cache(1)
    ids = [cache.create(size=9) for _ in range(SHARDS)]
    assert all(cache.create(is_follower=True) for _ in range(SHARDS))
    assert not any(cache.use(session_id, 1) for session_id in ids)
    assert cache.create(size=99, is_follower=True) == 0
