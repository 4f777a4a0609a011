"""Requests of a controller that is not this cluster's, as brokers get them when clusters share ports one after another:
they are refused as in Kafka, and nothing changes.
"""

from typing import Any

import msgspec
import pytest

from broker_core.errors import Errors
from broker_core.run import Run
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import SECOND_US, ask, started

BROKER = 0
STRANGER = 9


def request_of(api: str, run: Run, topic_id: str = "") -> tuple[int, dict[str, Any]]:
    """Version and fields of a request that would take the topic from its leader."""
    request = BY_NAME[api].request
    if api == "LeaderAndIsr":
        partition = request.LeaderAndIsrPartitionState(
            partition_index=0,
            controller_epoch=99,
            leader=STRANGER,
            leader_epoch=99,
            isr=[STRANGER],
            partition_epoch=99,
            replicas=[BROKER, STRANGER],
        )
        topic = request.LeaderAndIsrTopicState(topic_name="orders", partition_states=[partition])
        if topic_id:
            topic.topic_id = topic_id
        live = request.LeaderAndIsrLiveLeader(broker_id=STRANGER, host_name="elsewhere", port=9)
        return 5, {"topic_states": [topic], "live_leaders": [live]}
    if api == "UpdateMetadata":
        known = request.UpdateMetadataPartitionState(
            partition_index=0,
            controller_epoch=99,
            leader=STRANGER,
            leader_epoch=99,
            isr=[STRANGER],
            zk_version=99,
            replicas=[STRANGER],
        )
        return 6, {
            "topic_states": [request.UpdateMetadataTopicState(topic_name="orders", partition_states=[known])],
            "live_brokers": [],
        }
    stop = request.StopReplicaPartitionState(partition_index=0, leader_epoch=99, delete_partition=True)
    return 3, {"topic_states": [request.StopReplicaTopicState(topic_name="orders", partition_states=[stop])]}


def cluster() -> tuple[Run, int]:
    run = started()
    run.submit("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
    run.advance(run.now_us + 5 * SECOND_US)
    return run, run.connect(BROKER, "127.0.0.1")


def state(run: Run) -> Any:
    """The leaders according to ZooKeeper and to the replicas, and the brokers' metadata."""
    view = run.view
    roles = {name: (replica["role"], replica["leader_epoch"]) for name, replica in view["replicas"].items()}
    live = {name: node.get("live_brokers") for name, node in view["nodes"].items()}
    return msgspec.json.encode((view["partitions"], roles, live))


@pytest.mark.parametrize("api", ["LeaderAndIsr", "UpdateMetadata", "StopReplica"])
@pytest.mark.parametrize(
    ("broker_epoch", "controller_epoch", "error"),
    [(0, 99, Errors.STALE_BROKER_EPOCH), (1 << 40, 0, Errors.STALE_CONTROLLER_EPOCH)],
    ids=["broker epoch", "controller epoch"],
)
def test_request_with_epochs_of_another_cluster_is_refused(
    api: str, broker_epoch: int, controller_epoch: int, error: Errors
) -> None:
    run, connection = cluster()
    before = state(run)
    version, fields = request_of(api, run)
    response = ask(
        run,
        connection,
        api,
        version,
        controller_id=STRANGER,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        **fields,
    )
    assert response.error_code == error.code
    assert state(run) == before
    assert not run.view["alarms"]


def test_leader_and_isr_for_a_topic_of_another_id_is_refused() -> None:
    run, connection = cluster()
    stranger = "AQEBAQEBAQEBAQEBAQEBAQ"
    version, fields = request_of("LeaderAndIsr", run, stranger)
    response = ask(
        run,
        connection,
        "LeaderAndIsr",
        version,
        controller_id=STRANGER,
        controller_epoch=99,
        broker_epoch=1 << 40,
        **fields,
    )
    (topic,) = response.topics
    assert [partition.error_code for partition in topic.partition_errors] == [Errors.INCONSISTENT_TOPIC_ID.code]
    assert run.view["partitions"]["orders-0"]["leader"] in (0, 1, 2)
