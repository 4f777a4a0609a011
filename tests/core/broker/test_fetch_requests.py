"""Fetch requests of clients: which partitions make the others wait, and the cache of sessions."""

from typing import Any

import pytest

from broker_core.errors import Errors
from broker_core.records.compression import CompressionType
from broker_core.records.legacy import build_message_set
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import OneBroker, batch, produce_fields

REQUEST = BY_NAME["Fetch"].request
ABSENT_ID = "BBBBBBBBBBBBBBBBBBBBBA"
MESSAGE = build_message_set([(0, 1, None, b"x")], 1, CompressionType.NONE)
SIZE = len(batch(b"x"))


class Client(OneBroker):
    """A client of a broker with the topics `full`, which has one record, and `empty`."""

    def __init__(self, era: str = "3.9", **settings: str) -> None:
        super().__init__(era, **settings)
        self.topic("full")
        self.topic("empty")
        self.produce("full")
        self.responses()

    def topic(self, name: str, what: str = "--create --partitions 1 --replication-factor 1") -> None:
        self.run.submit(f"kafka-topics.sh {what} --topic {name}")
        self.pass_time(2)

    def topic_id(self, name: str) -> str:
        request = BY_NAME["Metadata"].request
        found: str = self.ask("Metadata", 12, topics=[request.MetadataRequestTopic(name=name)]).topics[0].topic_id
        return found

    def produce(self, topic: str) -> None:
        version, data = (2, MESSAGE) if self.era == "0.10" else (3, batch(b"x"))
        self.post("Produce", version, **produce_fields(topic, data))
        self.pass_time()

    def fetch(self, version: int, topics: list[str], min_bytes: int = 1, offset: int = 0, **more: Any) -> int:
        """Posts a fetch of the topics, by id in versions that have them."""
        key = "topic_id" if version >= 13 else "topic"
        partition = REQUEST.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
        listed = [REQUEST.FetchTopic(partitions=[partition], **{key: topic}) for topic in topics]
        return self.post("Fetch", version, max_wait_ms=30_000, min_bytes=min_bytes, topics=listed, **more)

    def fetched(self, *given: Any, **named: Any) -> Any:
        """The error for each topic after a second; None while the request waits."""
        connection = self.fetch(*given, **named)
        self.pass_time()
        response = self.responses().get(connection)
        return response if response is None else errors(response)


def errors(response: Any) -> dict[str, str]:
    return {
        topic.topic or topic.topic_id: Errors.of(topic.partitions[0].error_code).name for topic in response.responses
    }


@pytest.mark.parametrize(
    ("era", "version"), [("0.10", 3), ("1.1", 5), ("2.4", 11), ("3.9", 11)], ids=["0.10", "1.1", "2.4", "3.9"]
)
def test_partitions_wait_although_another_one_is_unknown(era: str, version: int) -> None:
    client = Client(era)
    waiting = client.fetch(version, ["absent", "empty"])
    client.pass_time()
    assert client.responses() == {}
    client.produce("empty")
    assert errors(client.responses()[waiting]) == {"empty": "NONE", "absent": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert client.fetched(version, ["absent"]) == {"absent": "UNKNOWN_TOPIC_OR_PARTITION"}


def test_partitions_wait_although_another_topic_id_is_unknown() -> None:
    client = Client()
    topic_id = client.topic_id("empty")
    waiting = client.fetch(13, [ABSENT_ID, topic_id])
    client.pass_time()
    assert client.responses() == {}
    client.produce("empty")
    assert errors(client.responses()[waiting]) == {topic_id: "NONE", ABSENT_ID: "UNKNOWN_TOPIC_ID"}
    assert client.fetched(13, [ABSENT_ID]) == {ABSENT_ID: "UNKNOWN_TOPIC_ID"}


def test_topic_that_is_deleted_while_a_fetch_waits_was_known() -> None:
    client = Client()
    topic_id = client.topic_id("empty")
    waiting = client.fetch(13, [topic_id], session_epoch=-1)
    client.topic("empty", "--delete")
    assert errors(client.responses()[waiting]) == {topic_id: "UNKNOWN_TOPIC_OR_PARTITION"}


def test_session_with_the_id_of_a_deleted_topic_does_not_wait() -> None:
    client = Client()
    old_id, other_id = client.topic_id("empty"), client.topic_id("full")
    opened = client.fetch(13, [old_id, other_id], session_epoch=0)
    client.pass_time()
    session_id = client.responses()[opened].session_id
    client.topic("empty", "--delete")
    client.topic("empty")
    found = client.fetched(13, [], min_bytes=1_000_000, session_id=session_id, session_epoch=1)
    assert found is not None and found[old_id] == "INCONSISTENT_TOPIC_ID"


@pytest.mark.parametrize(("era", "version", "waits"), [("1.1", 5, True), ("2.4", 11, False), ("3.9", 11, False)])
def test_fetch_waits_for_no_more_bytes_than_it_may_return(era: str, version: int, waits: bool) -> None:
    client = Client(era)
    assert (client.fetched(version, ["full"], min_bytes=2 * SIZE, max_bytes=SIZE) is None) == waits


def test_client_without_a_place_in_the_cache_fetches_without_a_session() -> None:
    client = Client(max_incremental_fetch_session_cache_slots="8")
    first = client.ask("Fetch", 11, session_epoch=0, max_wait_ms=0)
    assert first.session_id != 0
    others = [client.ask("Fetch", 11, session_epoch=0, max_wait_ms=0) for _ in range(8)]
    assert [other.session_id != 0 for other in others] == [True] * 7 + [False]
    waiting = client.fetch(11, ["full"], session_epoch=0)
    client.pass_time()
    response = client.responses()[waiting]
    assert (response.session_id, errors(response)) == (0, {"full": "NONE"})


@pytest.mark.parametrize(("era", "version"), [("1.1", 7), ("3.9", 11)])
def test_waiting_fetch_of_a_session_fails_if_a_later_one_was_sent(era: str, version: int) -> None:
    client = Client(era)
    opened = client.fetch(version, ["full"], session_epoch=0)
    client.pass_time()
    session_id = client.responses()[opened].session_id
    waiting = client.fetch(version, ["full"], offset=1, session_id=session_id, session_epoch=1)
    later = client.fetch(version, ["full"], session_id=session_id, session_epoch=2)
    client.pass_time()
    assert errors(client.responses()[later]) == {"full": "NONE"}
    client.produce("full")
    refused = client.responses()[waiting]
    assert (Errors.of(refused.error_code).name, refused.session_id) == ("INVALID_FETCH_SESSION_EPOCH", session_id)
    assert refused.responses == []
