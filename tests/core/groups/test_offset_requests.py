"""Offsets that clients commit and fetch, within transactions and without."""

from typing import Any

import pytest

from broker_core.broker.coordinators.groups import GroupHost
from broker_core.errors import Errors
from broker_core.wire.schemas import BY_NAME
from devtools.sim.parity import differences
from tests.support.tcp_conversation import CONFIG, OneBroker

#: The versions of InitProducerId, AddOffsetsToTxn, TxnOffsetCommit, EndTxn and OffsetCommit that clients of the release
#: send.
VERSIONS = {"0.10": (0, 0, 0, 0, 2), "1.1": (0, 0, 0, 0, 3), "2.4": (1, 1, 2, 1, 7), "3.9": (4, 3, 3, 3, 8)}


class Client(OneBroker):
    """A client of a broker with the topic `orders`. It commits offsets of the group `g` for its only partition."""

    def __init__(self, era: str = "3.9", **settings: str) -> None:
        super().__init__(
            era, transaction_state_log_replication_factor="1", transaction_state_log_min_isr="1", **settings
        )
        self.run.submit("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 1")
        self.pass_time(2)
        self.ask("FindCoordinator", 0, key="g")
        self.ask("FindCoordinator", 1, key="pay", key_type=1)
        self.pass_time(2)
        # A broker asks the controller for producer ids when it needs the first one.
        self.ask("InitProducerId", 0, transactional_id=None, transaction_timeout_ms=60_000)
        self._init, self._add, self._send, self._end, self._commit = VERSIONS[era]
        self._producer: dict[str, Any] = {}

    def restart(self) -> None:
        self.run.submit("broker kill 0")
        self.pass_time(30)
        self.run.submit("broker start 0")
        self.pass_time(30)

    def load(self) -> None:
        """The coordinator is loading from now on."""
        groups = self.run._cluster.brokers[0].groups
        groups.registry.loading[groups.partition_of("g")] = groups.registry.owned.pop(groups.partition_of("g"))

    def begin(self) -> None:
        """Starts a transaction with offsets of the group."""
        ids = self.ask("InitProducerId", self._init, transactional_id="pay", transaction_timeout_ms=600_000)
        assert ids.error_code == 0
        self._producer = {
            "transactional_id": "pay",
            "producer_id": ids.producer_id,
            "producer_epoch": ids.producer_epoch,
        }
        assert self.ask("AddOffsetsToTxn", self._add, group_id="g", **self._producer).error_code == 0

    def end(self, *, committed: bool) -> None:
        assert self.ask("EndTxn", self._end, committed=committed, **self._producer).error_code == 0

    def send_fields(self, offset: int) -> dict[str, Any]:
        request = BY_NAME["TxnOffsetCommit"].request
        partition = request.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        topics = [request.TxnOffsetCommitRequestTopic(name="orders", partitions=[partition])]
        return {"group_id": "g", "topics": topics, **self._producer}

    def send(self, offset: int, version: int | None = None) -> str:
        """Commits an offset in the transaction; returns the error."""
        answer = self.ask("TxnOffsetCommit", self._send if version is None else version, **self.send_fields(offset))
        return Errors.of(answer.topics[0].partitions[0].error_code).name

    def commit_fields(self, offset: int, timestamp: int = -1, **more: Any) -> dict[str, Any]:
        request = BY_NAME["OffsetCommit"].request
        partition = request.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata="", commit_timestamp=timestamp
        )
        topics = [request.OffsetCommitRequestTopic(name="orders", partitions=[partition])]
        return {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics} | more

    def commit(self, offset: int, version: int | None = None, **more: Any) -> str:
        """Commits an offset without a transaction; returns the error."""
        fields = self.commit_fields(offset, **more)
        answer = self.ask("OffsetCommit", self._commit if version is None else version, **fields)
        return Errors.of(answer.topics[0].partitions[0].error_code).name

    def fetched(self, *, require_stable: bool = False) -> int | str:
        """The committed offset, or the error."""
        request = BY_NAME["OffsetFetch"].request
        topics = [request.OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
        version = 7 if require_stable else 2
        answer = self.ask("OffsetFetch", version, group_id="g", topics=topics, require_stable=require_stable)
        if answer.error_code:
            return Errors.of(answer.error_code).name
        (row,) = answer.topics[0].partitions
        return Errors.of(row.error_code).name if row.error_code else row.committed_offset


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The writes of group coordinators: none is ever committed."""
    writes: list[Any] = []

    def hold(host: GroupHost, partition: str, data: bytes, store: Any) -> Errors:
        writes.append(store)
        return Errors.NONE

    monkeypatch.setattr(GroupHost, "append_to_group_log", hold)
    return writes


@pytest.mark.parametrize("era", ["1.1", "2.4", "3.9"])
def test_offset_is_replaced_only_by_later_ones_of_a_transaction(era: str) -> None:
    client = Client(era)
    client.begin()
    assert client.send(5) == "NONE"
    assert client.commit(8) == "NONE"
    client.end(committed=True)
    client.pass_time()
    assert client.fetched() == 8
    client.restart()
    assert client.fetched() == 8
    client.begin()
    assert client.send(9) == "NONE"
    client.restart()
    client.end(committed=True)
    client.pass_time()
    assert client.fetched() == 9


def test_order_of_pending_offsets_survives_a_restart() -> None:
    client = Client()
    client.begin()
    assert client.send(5) == "NONE"
    assert client.commit(8) == "NONE"
    client.restart()
    client.end(committed=True)
    client.pass_time()
    assert client.fetched() == 8


def test_pending_offsets_are_dropped_with_their_topic() -> None:
    client = Client()
    client.begin()
    assert client.send(5) == "NONE"
    assert client.fetched(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    client.run.submit("kafka-topics.sh --delete --topic orders")
    client.pass_time(2)
    assert client.fetched(require_stable=True) == -1
    client.end(committed=True)
    client.pass_time()
    assert client.fetched() == -1
    assert differences(client.run) == []


def test_offset_that_is_being_written_is_lost_with_its_topic(held: list[Any]) -> None:
    client = Client()
    client.post("OffsetCommit", 8, **client.commit_fields(5))
    client.pass_time()
    client.run.submit("kafka-topics.sh --delete --topic orders")
    client.pass_time(2)
    groups = client.run._cluster.brokers[0].groups
    groups.stored(held[0], Errors.NONE)
    assert client.fetched() == -1


def test_offset_of_a_deleted_group_does_not_replace_that_of_its_successor(held: list[Any]) -> None:
    client = Client()
    for offset in (5, 6):
        client.post("OffsetCommit", 8, **client.commit_fields(offset))
        client.pass_time()
        if offset == 5:
            client.ask("DeleteGroups", 2, groups_names=["g"])
    groups = client.run._cluster.brokers[0].groups
    for write in [write for write in held if getattr(write, "offsets", None)]:
        groups.stored(write, Errors.NONE)
    assert client.fetched() == 6


LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


@pytest.mark.parametrize(
    ("era", "synced", "others"),
    [
        ("0.10", "NOT_COORDINATOR", "NOT_COORDINATOR"),
        ("1.1", "NOT_COORDINATOR", "NOT_COORDINATOR"),
        ("2.4", "REBALANCE_IN_PROGRESS", LOADING),
        ("3.9", "REBALANCE_IN_PROGRESS", LOADING),
    ],
)
def test_member_joins_again_if_the_coordinator_is_loading(era: str, synced: str, others: str) -> None:
    client = Client(era)
    client.load()
    answer = client.ask("SyncGroup", 0, group_id="g", generation_id=1, member_id="m")
    assert Errors.of(answer.error_code).name == synced
    assert client.fetched() == others


@pytest.mark.parametrize(
    ("era", "version", "said"),
    [("2.4", 1, LOADING), ("2.4", 2, LOADING), ("3.9", 1, "COORDINATOR_NOT_AVAILABLE"), ("3.9", 2, LOADING)],
)
def test_old_producers_are_not_told_that_the_coordinator_is_loading(era: str, version: int, said: str) -> None:
    client = Client(era)
    client.begin()
    client.load()
    assert client.send(5, version) == said


@pytest.mark.parametrize(("error", "committed"), [(Errors.NONE, 5), (Errors.NOT_ENOUGH_REPLICAS, -1)])
def test_offset_is_pending_while_it_is_written(held: list[Any], error: Errors, committed: int) -> None:
    client = Client()
    client.begin()
    waiting = client.post("TxnOffsetCommit", 3, **client.send_fields(5))
    client.pass_time()
    assert client.responses() == {}
    assert client.fetched() == -1
    assert client.fetched(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    client.run._cluster.brokers[0].groups.stored(held[0], error)
    client.pass_time()
    assert waiting in client.responses()
    stable = client.fetched(require_stable=True)
    assert stable == ("UNSTABLE_OFFSET_COMMIT" if error is Errors.NONE else -1)
    client.end(committed=True)
    client.pass_time()
    assert client.fetched(require_stable=True) == committed


@pytest.mark.parametrize("era", ["0.10", "1.1", "2.4", "3.9"])
def test_old_clients_say_how_long_an_offset_is_kept(era: str) -> None:
    client = Client(era, offsets_retention_check_interval_ms="1000", offsets_retention_minutes="1")
    assert client.commit(5, 2, retention_time_ms=5_000) == "NONE"
    client.pass_time(2)
    assert client.fetched() == 5
    client.pass_time(5)
    assert client.fetched() == -1
    assert client.commit(6, 2, retention_time_ms=200_000) == "NONE"
    client.restart()
    client.pass_time(10)
    assert client.fetched() == 6
    client.pass_time(150)
    assert client.fetched() == -1


@pytest.mark.parametrize("era", ["0.10", "1.1", "2.4", "3.9"])
def test_time_of_a_commit_is_that_of_the_client_in_version_1(era: str) -> None:
    client = Client(era, offsets_retention_check_interval_ms="1000", offsets_retention_minutes="1")
    now_ms = CONFIG.start_wall_ms + client.run.now_us // 1_000
    assert client.commit(5, 1, timestamp=now_ms - 55_000) == "NONE"
    assert client.fetched() == 5
    client.pass_time(10)
    assert client.fetched() == -1


@pytest.mark.parametrize(("era", "committed"), [("1.1", -1), ("2.4", 5), ("3.9", 5)])
def test_offset_of_a_group_with_members_expires_before_2_1(era: str, committed: int) -> None:
    client = Client(
        era,
        offsets_retention_check_interval_ms="1000",
        offsets_retention_minutes="1",
        group_initial_rebalance_delay_ms="0",
    )
    join = BY_NAME["JoinGroup"].request
    member = client.ask(
        "JoinGroup",
        1,
        group_id="g",
        session_timeout_ms=300_000,
        rebalance_timeout_ms=300_000,
        member_id="",
        protocol_type="consumer",
        protocols=[join.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\1\0\6orders\0\0\0\0")],
    )
    sync = {"group_id": "g", "generation_id": 1, "member_id": member.member_id, "assignments": []}
    assert client.ask("SyncGroup", 0, **sync).error_code == 0
    of_member = {"generation_id_or_member_epoch": 1, "member_id": member.member_id}
    assert client.commit(5, 2, **of_member) == "NONE"
    client.pass_time(70)
    assert client.fetched() == committed
