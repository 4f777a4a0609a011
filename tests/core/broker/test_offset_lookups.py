"""ListOffsets at a leader whose high watermark has not reached the start of its epoch (KIP-207)."""

import pytest

from broker_core.errors import Errors
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import CONFIG, OneBroker, batch, produce_fields

EARLIEST, LATEST, MAX = -2, -1, -3
WRITTEN_MS = CONFIG.start_wall_ms
CONSUMER, FOLLOWER = -1, 1


class Client(OneBroker):
    """A client of a leader with one committed record, as elected after two."""

    def __init__(self, era: str) -> None:
        super().__init__(era)
        self.run.submit("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 1")
        self.pass_time(2)
        self.ask("Produce", 3, **produce_fields("orders", batch(b"x")))
        partition = self.run._cluster.brokers[0].partitions["orders-0"]
        assert partition.high_watermark == 1
        partition.leader_epoch_start_offset = 2

    def look_up(self, version: int, timestamp: int, replica_id: int = CONSUMER) -> tuple[str, int]:
        request = BY_NAME["ListOffsets"].request
        partition = request.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topics = [request.ListOffsetsTopic(name="orders", partitions=[partition])]
        answer = self.ask("ListOffsets", version, replica_id=replica_id, topics=topics)
        found = answer.topics[0].partitions[0]
        return Errors.of(found.error_code).name, found.offset


@pytest.mark.parametrize(
    ("era", "version", "withheld"),
    [
        ("1.1", 2, None),
        ("2.4", 4, "LEADER_NOT_AVAILABLE"),
        ("2.4", 5, "OFFSET_NOT_AVAILABLE"),
        ("3.9", 4, "LEADER_NOT_AVAILABLE"),
        ("3.9", 5, "OFFSET_NOT_AVAILABLE"),
    ],
)
def test_end_is_withheld_while_the_high_watermark_is_behind(era: str, version: int, withheld: str | None) -> None:
    client = Client(era)
    assert client.look_up(version, LATEST) == ((withheld, -1) if withheld else ("NONE", 1))
    assert client.look_up(version, WRITTEN_MS + 1) == (withheld or "NONE", -1)
    assert client.look_up(version, EARLIEST) == ("NONE", 0)
    assert client.look_up(version, WRITTEN_MS) == ("NONE", 0), "a committed record"
    assert client.look_up(version, LATEST, FOLLOWER) == ("NONE", 1)


def test_record_with_the_largest_timestamp_is_found_if_it_is_committed() -> None:
    assert Client("3.9").look_up(7, MAX) == ("NONE", 0)
