"""What a broker reads off the metadata that the controller last sent."""

import pytest

from broker_core.broker.coordinators.groups import GroupHost
from broker_core.broker.process.broker import Broker
from broker_core.eras import DEFAULT_ERA
from broker_core.run import Run, RunConfig
from broker_core.sim.simulated_disk import SimulatedDisk
from broker_core.topics import OFFSETS_TOPIC
from broker_core.wire.messages import UpdateMetadataPartition, UpdateMetadataRequest
from broker_core.zk.memory_store import MemoryStore

DELETED = -2


def started(era: str = DEFAULT_ERA) -> Broker:
    run = Run(RunConfig(brokers=(1,), era=era), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(1_000_000)
    return run._cluster.brokers[1]


def update(broker: Broker, leaders: dict[str, int], topic_id: str = "") -> None:
    partitions = tuple(
        UpdateMetadataPartition(name, leader, 0, (1,), (1,), (), 0, topic_id) for name, leader in leaders.items()
    )
    broker.metadata.update(UpdateMetadataRequest(1, 1, -1, partitions, ((1, -1),)))


def test_partition_count_follows_topics_replaced_in_one_update() -> None:
    broker = started()
    update(broker, {"orders-0": 1})
    assert GroupHost(broker).offsets_partition_count == 50, "without the topic: offsets.topic.num.partitions"
    update(broker, {"orders-0": DELETED, f"{OFFSETS_TOPIC}-0": 1})
    assert broker.groups.partition_of("some-group") == f"{OFFSETS_TOPIC}-0"


def test_partition_count_follows_added_partitions() -> None:
    broker = started()
    names = [f"{OFFSETS_TOPIC}-{index}" for index in range(3)]
    update(broker, dict.fromkeys(names, 1))
    update(broker, dict.fromkeys(names, 1))
    assert GroupHost(broker).offsets_partition_count == 3
    update(broker, {"never-seen-0": DELETED, names[2]: DELETED})
    assert GroupHost(broker).offsets_partition_count == 2
    assert OFFSETS_TOPIC in broker.metadata.topic_ids
    update(broker, dict.fromkeys(names, DELETED))
    assert GroupHost(broker).offsets_partition_count == 50
    assert OFFSETS_TOPIC not in broker.metadata.topic_ids


def test_topic_is_found_by_its_present_id() -> None:
    broker = started()
    update(broker, {"orders-0": 1, "orders-1": 1}, "first")
    update(broker, {"orders-1": DELETED})
    assert broker.metadata.topic_names["first"] == "orders"
    update(broker, {"orders-0": 1}, "second")
    assert broker.metadata.topic_names == {"second": "orders"}
    update(broker, {"orders-0": DELETED})
    assert broker.metadata.topic_names == {}


@pytest.mark.parametrize(("era", "known"), [("3.9", ["orders-0"]), ("1.1", ["orders-0", "orders-7"])])
def test_old_releases_look_only_for_the_topic_of_a_partition(era: str, known: list[str]) -> None:
    broker = started(era)
    update(broker, {"orders-0": 1})
    assert [name for name in ("orders-0", "orders-7", "other-0") if broker.metadata.is_known(name)] == known
