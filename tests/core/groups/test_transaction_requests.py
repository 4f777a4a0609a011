"""What the coordinator of transactions responds, of each release, when its log cannot be written."""

from typing import Any

import pytest

from broker_core.errors import Errors
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import OneBroker

#: The versions of InitProducerId and AddPartitionsToTxn that clients of the release send.
VERSIONS = {"1.1": (0, 0), "2.4": (1, 1), "3.9": (4, 3)}


class Client(OneBroker):
    """A client of a broker with the topic `orders` of two partitions."""

    def __init__(self, era: str) -> None:
        super().__init__(
            era, transaction_state_log_replication_factor="1", transaction_state_log_min_isr="1", num_partitions="2"
        )
        self.run.submit("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 1")
        self.pass_time(2)
        self.ask("FindCoordinator", 1, key="pay", key_type=1)
        self.pass_time(2)
        # A broker asks the controller for producer ids when it needs the first one.
        self.ask("InitProducerId", 0, transactional_id=None, transaction_timeout_ms=60_000)

    def fail_writes(self, are_failing: bool) -> None:
        """Whether all records are too large for the log of the coordinator."""
        self.run.submit(
            "kafka-configs.sh --alter --entity-type topics --entity-name __transaction_state"
            f" --add-config max.message.bytes={10 if are_failing else 100_000}"
        )
        self.pass_time(2)

    def init(self) -> tuple[str, int, int]:
        """The error, the producer id and the epoch."""
        answer = self.ask(
            "InitProducerId", VERSIONS[self.era][0], transactional_id="pay", transaction_timeout_ms=60_000
        )
        return Errors.of(answer.error_code).name, answer.producer_id, answer.producer_epoch

    def add(self, producer_id: int, producer_epoch: int, partition: int) -> str:
        """Adds a partition to the transaction; returns the error."""
        request = BY_NAME["AddPartitionsToTxn"].request
        fields: dict[str, Any] = {
            "v3_and_below_transactional_id": "pay",
            "v3_and_below_producer_id": producer_id,
            "v3_and_below_producer_epoch": producer_epoch,
            "v3_and_below_topics": [request.AddPartitionsToTxnTopic(name="orders", partitions=[partition])],
        }
        (topic,) = self.ask("AddPartitionsToTxn", VERSIONS[self.era][1], **fields).results_by_topic_v3_and_below
        return Errors.of(topic.results_by_partition[0].partition_error_code).name


@pytest.mark.parametrize(
    ("era", "fenced", "next_epoch"),
    [("1.1", "INVALID_PRODUCER_EPOCH", 3), ("2.4", "INVALID_PRODUCER_EPOCH", 3), ("3.9", "PRODUCER_FENCED", 2)],
)
def test_producer_is_fenced_although_its_successors_epoch_could_not_be_written(
    era: str, fenced: str, next_epoch: int
) -> None:
    client = Client(era)
    _, producer_id, epoch = client.init()
    assert client.add(producer_id, epoch, 0) == "NONE"
    client.fail_writes(True)
    assert client.init()[0] == "UNKNOWN_SERVER_ERROR"
    client.fail_writes(False)
    assert client.add(producer_id, epoch, 1) == fenced
    assert client.init()[0] == "CONCURRENT_TRANSACTIONS"
    # A release that does not know the failed attempt raises the epoch for it, too.
    assert client.init() == ("NONE", producer_id, next_epoch)
