"""How brokers of older releases read and answer requests, as they were seen to do."""

import struct
import zlib
from typing import Any

import google_crc32c
import pytest

from broker_core.errors import Errors
from broker_core.records.compression import CompressionType
from broker_core.records.legacy import build_message_set
from broker_core.records.record_batch import build_batch
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import CLOSED, OneBroker

TOPICS = {"orders93": 8, "b93": 2, "zeta93": 2, "q93": 2}
GOOD = build_batch([(1, b"k", b"v", ())])
MESSAGE = build_message_set([(0, 1, b"k", b"v")], 1, CompressionType.NONE)
MANY = ("orders93", (7, 6, 5, 4, 3, 2, 1, 0, 20, 16, 40))
SEVERAL = (("b93", (1, 0)), ("orders93", (5, 0, 6, 1, 7)), ("none1", (4, 0, 2)), ("zeta93", (0,)), ("q93", (1, 0)))


def batch(magic: int = 2, codec: int = 0) -> bytes:
    """A batch with this magic and codec, and the right CRC."""
    data = bytearray(GOOD)
    data[16] = magic & 0xFF
    data[22] = codec
    data[17:21] = struct.pack(">I", google_crc32c.value(bytes(data[21:])))
    return bytes(data)


def message(magic: int = 1, codec: int = 0) -> bytes:
    """The same of a message of an old format."""
    data = bytearray(MESSAGE)
    data[16], data[17] = magic & 0xFF, codec
    data[12:16] = struct.pack(">I", zlib.crc32(bytes(data[16:])))
    return bytes(data)


class Client(OneBroker):
    def __init__(self, era: str) -> None:
        super().__init__(era, offsets_topic_num_partitions="5")
        for name, count in TOPICS.items():
            self.run.submit(f"kafka-topics.sh --create --topic {name} --partitions {count} --replication-factor 1")
        self.pass_time(2)
        self.ask("FindCoordinator", 0, key="g")

    def produce(self, version: int, topic: str, parts: dict[int, bytes], acks: int = 1) -> Any:
        """The error of each partition."""
        request = BY_NAME["Produce"].request
        partitions = [request.PartitionProduceData(index=index, records=data) for index, data in parts.items()]
        sent = request.TopicProduceData(name=topic, partition_data=partitions)
        answer = self.ask("Produce", version, acks=acks, timeout_ms=900, topic_data=[sent])
        if answer == CLOSED:
            return CLOSED
        return {row.index: Errors.of(row.error_code).name for row in answer.responses[0].partition_responses}

    def commit(self, version: int, *topics: tuple[str, tuple[int, ...]]) -> list[tuple[str, list[int]]]:
        request = BY_NAME["OffsetCommit"].request
        wanted = [
            request.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    request.OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=index + 5, committed_metadata=""
                    )
                    for index in indexes
                ],
            )
            for name, indexes in topics
        ]
        answer = self.ask(
            "OffsetCommit",
            version,
            group_id="g",
            generation_id_or_member_epoch=-1,
            member_id="",
            retention_time_ms=-1,
            topics=wanted,
        )
        return [(topic.name, [row.partition_index for row in topic.partitions]) for topic in answer.topics]

    def fetched(self, version: int, topic: str, *indexes: int) -> dict[int, tuple[int, str]]:
        request = BY_NAME["OffsetFetch"].request
        topics = [request.OffsetFetchRequestTopic(name=topic, partition_indexes=list(indexes))]
        answer = self.ask("OffsetFetch", version, group_id="g", topics=topics)
        return {
            row.partition_index: (row.committed_offset, Errors.of(row.error_code).name)
            for row in answer.topics[0].partitions
        }


@pytest.mark.parametrize("version", [2, 3])
def test_zstd_is_an_unknown_codec_before_2_1(version: int) -> None:
    sent = {0: batch(codec=4), 1: GOOD}
    assert Client("1.1").produce(version, "orders93", sent) == {0: "UNKNOWN_SERVER_ERROR", 1: "NONE"}
    if version == 2:
        sent = {0: message(codec=4), 1: MESSAGE}
        assert Client("1.1").produce(2, "orders93", sent) == {0: "UNKNOWN_SERVER_ERROR", 1: "NONE"}


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (batch(3), "CORRUPT_MESSAGE"),
        (batch(-1), "CORRUPT_MESSAGE"),
        (message(3), "CORRUPT_MESSAGE"),
        (GOOD + batch(3), "CORRUPT_MESSAGE"),
        (batch(3)[:-3], "NONE"),
        (batch(3)[:17], "NONE"),
        (b"", "NONE"),
        (batch(3)[:8] + struct.pack(">i", 2**31 - 1) + batch(3)[12:], "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_partition_with_an_unknown_magic_is_refused_alone_in_1_1(records: bytes, said: str) -> None:
    client = Client("1.1")
    assert client.produce(2, "orders93", {0: records, 1: MESSAGE}) == {0: said, 1: "NONE"}
    assert client.produce(3, "orders93", {0: records, 1: GOOD}) == CLOSED


@pytest.mark.parametrize(
    ("version", "records", "said"),
    [
        (2, b"", CLOSED),
        (2, GOOD[:-3], CLOSED),
        (2, batch(3), CLOSED),
        (2, message(2), CLOSED),
        (3, message(2), CLOSED),
        (2, GOOD + batch(3), {0: "CORRUPT_MESSAGE", 1: "NONE"}),
        (3, GOOD + batch(3), {0: "CORRUPT_MESSAGE", 1: "NONE"}),
        (3, MESSAGE + message(3), {0: "INVALID_RECORD", 1: "NONE"}),
    ],
)
def test_first_batch_must_be_readable_in_2_4(version: int, records: bytes, said: Any) -> None:
    assert Client("2.4").produce(version, "orders93", {0: records, 1: GOOD}) == said


@pytest.mark.parametrize("era", ["0.8", "0.10"])
@pytest.mark.parametrize(
    ("records", "said"),
    [
        (GOOD, "CORRUPT_MESSAGE"),
        (batch(3), "CORRUPT_MESSAGE"),
        (message(2), "NONE"),
        (message(-1), "NONE"),
        (message(5, codec=4), "UNKNOWN_SERVER_ERROR"),
        (message(5)[:-3], "NONE"),
        (MESSAGE + message(3), "NONE"),
        (message(3) + batch(3), "CORRUPT_MESSAGE"),
    ],
)
def test_magic_is_not_looked_at_before_0_11(era: str, records: bytes, said: str) -> None:
    sent = {0: records, 1: MESSAGE}
    assert Client(era).produce(0, "orders93", sent) == {0: said, 1: "NONE"}


@pytest.mark.parametrize(
    ("era", "internal", "bad_acks"),
    [
        ("1.1", "INVALID_TOPIC_EXCEPTION", "INVALID_REQUIRED_ACKS"),
        ("2.4", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_produce_looks_for_the_partition_last_before_2_0(era: str, internal: str, bad_acks: str) -> None:
    client = Client(era)
    assert client.produce(2, "__consumer_offsets", {-1: MESSAGE, 99: MESSAGE}) == {-1: internal, 99: internal}
    assert client.produce(2, "orders93", {-1: MESSAGE}, acks=5) == {-1: bad_acks}
    assert client.produce(2, "orders93", {-1: MESSAGE}) == {-1: "UNKNOWN_TOPIC_OR_PARTITION"}


@pytest.mark.parametrize("version", [0, 1])
def test_any_partition_of_a_topic_may_have_offsets_before_2_0(version: int) -> None:
    client = Client("1.1")
    client.commit(version, ("orders93", (-1, 99)))
    assert client.fetched(version, "orders93", -1, 99) == {-1: (4, "NONE"), 99: (104, "NONE")}
    client.run.submit("kafka-topics.sh --delete --topic q93")
    client.pass_time(5)
    assert client.fetched(version, "orders93", -1, 99) == {-1: (4, "NONE"), 99: (104, "NONE")}


@pytest.mark.parametrize(
    ("era", "version", "of_many", "of_several"),
    [
        (
            "1.1",
            3,
            [0, 16, 1, 2, 3, 20, 4, 5, 6, 7, 40],
            [("zeta93", [0]), ("q93", [0, 1]), ("none1", [0, 2, 4]), ("b93", [0, 1]), ("orders93", [0, 1, 5, 6, 7])],
        ),
        (
            "2.4",
            7,
            [5, 40, 20, 2, 6, 3, 0, 7, 1, 16, 4],
            [("zeta93", [0]), ("q93", [0, 1]), ("none1", [0, 4, 2]), ("b93", [0, 1]), ("orders93", [5, 6, 0, 7, 1])],
        ),
    ],
)
def test_commits_are_in_the_order_of_hash_maps(
    era: str, version: int, of_many: list[int], of_several: list[tuple[str, list[int]]]
) -> None:
    client = Client(era)
    assert client.commit(version, MANY) == [("orders93", of_many)]
    assert client.commit(version, *SEVERAL) == of_several
