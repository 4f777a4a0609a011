"""The life of controllers: registration, election, take-over, fencing. The znodes are those of a real Kafka 3.9."""

import pickle

from broker_core.eras import ERAS
from broker_core.errors import Errors
from broker_core.events.control import ControllerElected, ControllerResigned, PartitionStateChanged, ReplicaStateChanged
from broker_core.sim.faults import LinkFault
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionRequest,
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from broker_core.zk.znodes import BrokerIdZnode
from tests.support.controller_harness import Config, FakeCluster

ORDERS = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


def test_fresh_cluster_has_kafkas_paths() -> None:
    cluster = FakeCluster()
    paths = {path for path, _, _ in cluster.store.tree()}
    assert paths == {
        *ERAS["3.9"].zookeeper.paths,
        "/admin",
        "/brokers",
        "/brokers/ids/1",
        "/brokers/ids/2",
        "/brokers/ids/3",
        "/cluster",
        "/cluster/id",
        "/config",
        "/controller",
        "/controller_epoch",
        "/feature",
    }
    assert cluster.data("/controller_epoch") == "1"
    assert cluster.data("/feature") == '{"features":{},"version":2,"status":1}'


def test_registration_is_created_empty_and_then_set_and_its_czxid_is_the_broker_epoch() -> None:
    cluster = FakeCluster()
    for broker in cluster.brokers.values():
        found = cluster.store.peek(BrokerIdZnode.path(broker.broker_id))
        assert found is not None
        assert (found[1].version, found[1].czxid) == (1, broker.broker_epoch)


def test_first_broker_becomes_controller_and_all_brokers_know() -> None:
    cluster = FakeCluster()
    assert cluster.controller.host.broker_id == 1
    assert [broker.known_controllers[-1] for broker in cluster.brokers.values()] == [1, 1, 1]
    assert cluster.controller.controller_epoch == 1


def test_new_broker_gets_all_metadata_and_the_others_learn_of_it() -> None:
    cluster = FakeCluster(2)
    cluster.create("orders", (1, 2))
    cluster.brokers[1].requests.clear()
    cluster.start(3)
    (to_old,) = cluster.brokers[1].requests
    assert isinstance(to_old, UpdateMetadataRequest)
    assert ([broker_id for broker_id, _ in to_old.live_brokers], to_old.partitions) == ([1, 2, 3], ())
    (to_new,) = cluster.brokers[3].requests
    assert isinstance(to_new, UpdateMetadataRequest)
    assert [each.partition for each in to_new.partitions] == ["orders-0"]


def test_killed_controller_is_replaced_and_its_partitions_gain_two_leader_epochs() -> None:
    cluster = FakeCluster()
    cluster.create("orders", *ORDERS)
    cluster.kill(1)
    assert cluster.data("/controller_epoch") == "2"
    assert cluster.state("orders-0") == (2, 2, [2, 3], 2, 2)
    assert cluster.state("orders-1") == (2, 1, [2, 3], 2, 1)
    assert cluster.state("orders-2") == (3, 1, [3, 2], 2, 1)
    cluster.start(1)
    assert cluster.state("orders-0") == (2, 2, [2, 3], 2, 2)


def test_killed_leader_that_is_not_the_controller_costs_one_leader_epoch() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3, 1), (3, 1, 2), (1, 2, 3))
    cluster.kill(2)
    assert cluster.state("orders-0") == (3, 1, [3, 1], 1, 1)
    assert cluster.state("orders-1") == (3, 1, [3, 1], 1, 1)
    assert cluster.state("orders-2") == (1, 1, [1, 3], 1, 1)


def test_isr_keeps_its_last_member_and_only_that_one_may_lead_again() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3))
    cluster.kill(3)
    assert cluster.state("orders-0")[:3] == (2, 1, [2])
    cluster.kill(2)
    assert cluster.state("orders-0")[:3] == (-1, 2, [2])
    cluster.start(3)
    assert cluster.state("orders-0")[:3] == (-1, 2, [2])
    cluster.start(2)
    assert cluster.state("orders-0")[:3] == (2, 3, [2])


def test_unclean_election_when_it_is_allowed_for_the_topic() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3), **{"unclean.leader.election.enable": "true"})
    cluster.kill(3)
    cluster.kill(2)
    assert cluster.state("orders-0")[:3] == (-1, 2, [2])
    cluster.start(3)
    assert cluster.state("orders-0")[:3] == (3, 3, [3])
    assert '"leader_recovery_state":1' in str(cluster.data("/brokers/topics/orders/partitions/0/state"))


def test_external_deletion_of_controller_znode_only_causes_an_election() -> None:
    cluster = FakeCluster()
    cluster.create("orders", *ORDERS)
    before = [cluster.state(f"orders-{number}") for number in range(3)]
    for epoch in ("2", "3"):
        cluster.foreign("deleted", "/controller")
        assert cluster.data("/controller_epoch") == epoch
        assert cluster.data("/controller") is not None
        assert cluster.controller.controller_epoch == int(epoch)
    assert [cluster.state(f"orders-{number}") for number in range(3)] == before
    cluster.create("after", (1, 2, 3))
    assert cluster.state("after-0") == (1, 0, [1, 2, 3], 3, 0)


def test_elections_and_resignations_are_events() -> None:
    cluster = FakeCluster()
    cluster.foreign("deleted", "/controller")
    facts = [event for *_, event in cluster.events if isinstance(event, ControllerElected | ControllerResigned)]
    assert facts[0] == ControllerElected(broker=1, controller_epoch=1)
    assert facts[1] == ControllerResigned(broker=1, why="reason.controller_znode_deleted")
    assert isinstance(facts[2], ControllerElected)
    assert facts[2].controller_epoch == 2
    assert len(facts) == 3


def test_controller_that_has_been_replaced_cannot_write() -> None:
    cluster = FakeCluster()
    cluster.create("orders", *ORDERS)
    old = cluster.brokers[1].controller
    cluster.cut_from_zookeeper(1)
    new = next(b.controller for b in cluster.brokers.values() if b.controller.is_active and b.broker_id != 1)
    assert new.controller_epoch == 2
    assert old.is_active
    state = cluster.state("orders-1")
    item = AlterPartitionItem("orders-1", old.context.leadership["orders-1"].leader_epoch, ((2, -1),), 0, 0)
    response = old.alter_partition(AlterPartitionRequest(2, cluster.brokers[2].broker_epoch, (item,)))
    assert response.error is not Errors.NONE
    assert not old.is_active
    assert cluster.state("orders-1") == state


def test_start_up_moves_the_machines_from_nothing_and_resignation_clears_them() -> None:
    cluster = FakeCluster()
    cluster.create("orders", *ORDERS)
    cluster.kill(3)
    cluster.events.clear()
    cluster.foreign("deleted", "/controller")
    new = cluster.controller
    assert new.describe() == {
        "partitions": dict.fromkeys(("orders-0", "orders-1", "orders-2"), "OnlinePartition"),
        "replicas": {
            f"orders-{number}@b{broker}": "OfflineReplica" if broker == 3 else "OnlineReplica"
            for number in range(3)
            for broker in (1, 2, 3)
        },
    }
    state_of: dict[str, str] = {}
    for *_, event in cluster.events:
        if isinstance(event, PartitionStateChanged) and event.controller == new.host.name:
            assert event.from_state == state_of.get(event.partition, "NonExistentPartition")
            state_of[event.partition] = event.state
        elif isinstance(event, ReplicaStateChanged) and event.controller == new.host.name:
            assert event.from_state == state_of.get(event.replica, "NonExistentReplica")
            state_of[event.replica] = event.state
    described = new.describe()
    assert state_of == described["partitions"] | described["replicas"]
    others = [
        b.controller for b in cluster.brokers.values() if not b.controller.is_active and b.name in cluster.kernel.up
    ]
    assert all(other.describe() == {"partitions": {}, "replicas": {}} for other in others)


def test_session_expiry_of_the_controllers_broker() -> None:
    cluster = FakeCluster()
    cluster.create("orders", *ORDERS)
    broker = cluster.brokers[1]
    cluster.zookeeper.close("b1", "expired")
    broker.controller.session_expired()
    assert not broker.controller.is_active
    broker.connect_and_register()
    cluster.settle()
    assert cluster.data("/controller_epoch") == "2"
    assert cluster.controller.context.live_brokers.keys() == {1, 2, 3}


def test_broker_that_restarts_immediately_is_handled_as_failed_then_started() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3, 1))
    broker = cluster.brokers[2]
    broker.requests.clear()
    cluster.zookeeper.close("b2", "expired")
    broker.connect_and_register()
    cluster.settle()
    assert cluster.state("orders-0")[:3] == (3, 1, [3, 1])
    requests = [request for request in broker.requests if isinstance(request, LeaderAndIsrRequest)]
    assert requests
    assert all(request.broker_epoch == broker.broker_epoch for request in requests)


def test_controller_requests_are_sequential_and_retried_after_a_disconnect() -> None:
    cluster = FakeCluster(latency_us=10_000)
    cluster.kill_without_waiting(3)
    cluster.create("orders", (3, 1), (1, 3))
    channel = cluster.controller.channels.channels[3]
    waiting = [request.api for request in channel.queue]
    assert waiting == ["LeaderAndIsr", "UpdateMetadata"]
    assert cluster.state("orders-0")[:3] == (3, 0, [3, 1])
    revived = cluster.brokers[3]
    cluster.kernel.add(revived)
    cluster.zookeeper.found_contact("b3")
    cluster.settle()
    assert [type(request).__name__ for request in revived.requests[-2:]] == [
        "LeaderAndIsrRequest",
        "UpdateMetadataRequest",
    ]
    assert not channel.queue


def test_restarted_broker_gets_full_state_though_an_earlier_request_was_lost() -> None:
    cluster = FakeCluster()
    cluster.kernel.set_link_fault("b1", "b3", LinkFault(loss_percent=100))
    cluster.create("orders", (3, 1))
    cluster.kernel.set_link_fault("b1", "b3", LinkFault())
    broker = cluster.brokers[3]
    broker.requests.clear()
    cluster.zookeeper.close("b3", "expired")
    broker.connect_and_register()
    cluster.settle()
    partitions = [
        state.partition
        for each in broker.requests
        if isinstance(each, LeaderAndIsrRequest)
        for state in each.partitions
    ]
    assert set(partitions) == {"orders-0"}
    assert not cluster.controller.channels.channels[3].queue


def test_requests_to_a_dead_broker_are_dropped() -> None:
    cluster = FakeCluster()
    cluster.kill_without_waiting(3)
    cluster.create("orders", (3, 1))
    cluster.settle(10_000_000)
    assert 3 not in cluster.controller.channels.channels
    assert cluster.state("orders-0")[:3] == (1, 1, [1])


def test_new_partition_is_sent_to_its_replicas_and_to_all_metadata_caches() -> None:
    cluster = FakeCluster()
    for broker in cluster.brokers.values():
        broker.requests.clear()
    cluster.create("orders", (2, 3))
    kinds = {each.broker_id: [type(r).__name__ for r in each.requests] for each in cluster.brokers.values()}
    assert kinds == {
        1: ["UpdateMetadataRequest"],
        2: ["LeaderAndIsrRequest", "UpdateMetadataRequest"],
        3: ["LeaderAndIsrRequest", "UpdateMetadataRequest"],
    }
    state = cluster.brokers[2].requests[0].partitions[0]
    assert (state.leader, state.leader_epoch, state.isr, state.replicas, state.is_new) == (2, 0, (2, 3), (2, 3), True)
    assert len(state.topic_id) == 22


def test_partition_without_a_live_replica_stays_new() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (9,))
    assert cluster.controller.describe()["partitions"] == {"orders-0": "NewPartition"}
    cluster.start(9)
    assert cluster.state("orders-0")[:3] == (9, 0, [9])


def test_controlled_shutdown_moves_leaders_before_the_broker_stops() -> None:
    cluster = FakeCluster()
    cluster.create("orders", *ORDERS)
    cluster.create("alone", (1,))
    broker = cluster.brokers[1]
    response = broker.controller.controlled_shutdown(ControlledShutdownRequest(1, broker.broker_epoch))
    assert (response.error, response.remaining) == (Errors.NONE, ())
    assert cluster.state("orders-0")[:4] == (2, 1, [2, 3], 1)
    assert cluster.state("orders-1")[:4] == (2, 1, [2, 3], 1)
    assert cluster.state("orders-2")[:4] == (3, 1, [3, 2], 1)
    assert cluster.state("alone-0")[:3] == (1, 0, [1])
    cluster.settle()
    stopped = [each.partition for r in broker.requests if isinstance(r, StopReplicaRequest) for each in r.partitions]
    assert set(stopped) == {"orders-1", "orders-2"}
    broker.controller.shut_down()
    cluster.zookeeper.close("b1")
    cluster.kernel.remove("b1")
    cluster.settle()
    assert cluster.data("/controller_epoch") == "2"
    assert cluster.state("orders-0")[:4] == (2, 1, [2, 3], 1)


def test_controlled_shutdown_returns_partitions_without_another_leader() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3))
    cluster.kill(3)
    request = ControlledShutdownRequest(2, cluster.brokers[2].broker_epoch)
    assert cluster.controller.controlled_shutdown(request).remaining == ("orders-0",)


def test_controlled_shutdown_of_an_unknown_broker_is_refused() -> None:
    cluster = FakeCluster()
    requested = cluster.controller.controlled_shutdown
    assert requested(ControlledShutdownRequest(9, -1)).error is Errors.BROKER_NOT_AVAILABLE
    assert requested(ControlledShutdownRequest(9, 1)).error is Errors.UNKNOWN_SERVER_ERROR
    assert requested(ControlledShutdownRequest(2, 0)).error is Errors.STALE_BROKER_EPOCH
    idle = cluster.brokers[2].controller
    assert idle.controlled_shutdown(ControlledShutdownRequest(2, 0)).error is Errors.STALE_CONTROLLER_EPOCH


def test_leadership_returns_to_the_preferred_replicas_automatically() -> None:
    cluster = FakeCluster(config=Config(auto_leader_rebalance_enable=True))
    cluster.create("orders", (2, 3, 1))
    cluster.kill(2)
    cluster.start(2)
    broker = cluster.brokers[3]
    current = cluster.controller.context.leadership["orders-0"]
    item = AlterPartitionItem("orders-0", current.leader_epoch, ((3, -1), (1, -1), (2, -1)), 0, current.partition_epoch)
    cluster.controller.alter_partition(AlterPartitionRequest(3, broker.broker_epoch, (item,)))
    assert cluster.state("orders-0")[:3] == (3, 1, [3, 1, 2])
    cluster.settle(310_000_000)
    assert cluster.state("orders-0")[:3] == (2, 2, [3, 1, 2])


def test_failed_disk_takes_its_replicas_offline() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3, 1))
    cluster.brokers[2].storage_errors.add("orders-0")
    broker = cluster.brokers[2]
    broker.zk.create(
        "/log_dir_event_notification/log_dir_event_", b'{"version":1,"broker":2,"event":1}', sequential=True
    )
    cluster.settle()
    assert cluster.state("orders-0")[:3] == (3, 1, [3, 1])
    assert cluster.store.children(0, "/log_dir_event_notification") == []


def test_malformed_znodes_do_not_stop_the_controller() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2))
    cluster.foreign("created", "/brokers/topics/rubbish", b"not json")
    cluster.foreign("created", "/brokers/ids/x", b"")
    cluster.foreign("changed", "/brokers/topics/orders", b"[]")
    cluster.foreign("changed", "/controller", b"{}")
    assert cluster.controller.host.broker_id == 1
    cluster.create("after", (2, 3))
    assert cluster.state("after-0")[:3] == (2, 0, [2, 3])


def test_unreadable_controller_epoch_leaves_the_cluster_without_a_controller_but_alive() -> None:
    cluster = FakeCluster()
    cluster.foreign("changed", "/controller_epoch", b"many")
    cluster.foreign("deleted", "/controller")
    assert [b for b in cluster.brokers.values() if b.controller.is_active] == []
    cluster.foreign("changed", "/controller_epoch", b"7")
    cluster.foreign("created", "/controller", b"{}")
    cluster.foreign("deleted", "/controller")
    assert cluster.controller.controller_epoch == 8


def test_topic_created_externally_without_an_id_gets_one() -> None:
    cluster = FakeCluster()
    cluster.foreign("created", "/brokers/topics/old", b'{"version":1,"partitions":{"0":[2,1]}}')
    assert cluster.state("old-0")[:3] == (2, 0, [2, 1])
    assert '"topic_id":"' in str(cluster.data("/brokers/topics/old"))


def test_partitions_that_are_added_to_the_znode_come_online() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2))
    topic = str(cluster.data("/brokers/topics/orders")).replace('"0":[1,2]', '"0":[1,2],"1":[3,1]')
    cluster.foreign("changed", "/brokers/topics/orders", topic.encode())
    assert cluster.state("orders-1")[:3] == (3, 0, [3, 1])
    assert cluster.state("orders-0")[:2] == (1, 0)


def test_isr_changes_written_by_leaders_are_read_and_propagated() -> None:
    cluster = FakeCluster(era="2.4")
    cluster.create("orders", (1, 2, 3))
    leader = cluster.brokers[1]
    state = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'
    leader.zk.set("/brokers/topics/orders/partitions/0/state", state, 0)
    cluster.brokers[3].requests.clear()
    note = b'{"version":1,"partitions":[{"topic":"orders","partition":0}]}'
    leader.zk.create("/isr_change_notification/isr_change_", note, sequential=True)
    cluster.settle()
    assert cluster.controller.context.leadership["orders-0"].isr == (1, 2)
    (update,) = cluster.brokers[3].requests
    assert isinstance(update, UpdateMetadataRequest)
    assert (update.partitions[0].isr, update.partitions[0].partition_epoch) == ((1, 2), 1)
    assert cluster.store.children(0, "/isr_change_notification") == []


def test_controller_and_its_queues_pickle() -> None:
    cluster = FakeCluster()
    cluster.kill_without_waiting(3)
    cluster.create("orders", (3, 1), (1, 3))
    twin = pickle.loads(pickle.dumps(cluster))
    for each in (cluster, twin):
        each.settle(10_000_000)
    assert twin.state("orders-0") == cluster.state("orders-0")
    assert twin.kernel.seq == cluster.kernel.seq


def test_bad_configuration_in_zookeeper_does_not_allow_an_unclean_election() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3))
    cluster.kill(3)
    cluster.kill(2)
    config = b'{"version":1,"config":{"unclean.leader.election.enable":"perhaps"}}'
    cluster.foreign("changed", "/config/topics/orders", config)
    cluster.start(3)
    assert cluster.state("orders-0")[:3] == (-1, 2, [2])


def test_unclean_election_when_it_is_allowed_for_all_topics() -> None:
    cluster = FakeCluster(config=Config(settings={"unclean.leader.election.enable": "true"}))
    cluster.create("orders", (2, 3))
    cluster.kill(3)
    cluster.kill(2)
    cluster.start(3)
    assert cluster.state("orders-0")[:3] == (3, 3, [3])


def test_deleted_parent_znodes_do_not_stop_the_next_controller() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2))
    for path in ("/admin/delete_topics", "/isr_change_notification", "/log_dir_event_notification"):
        cluster.foreign("deleted", path)
    cluster.foreign("changed", "/feature", b"rubbish")
    cluster.foreign("deleted", "/controller")
    assert cluster.controller.controller_epoch == 2
    assert cluster.data("/feature") == '{"features":{},"version":2,"status":1}'
    cluster.delete("orders")
    assert cluster.data("/admin/delete_topics/orders") == ""


def test_every_broker_is_notified_when_there_is_no_controller() -> None:
    cluster = FakeCluster()
    cluster.zookeeper.close("b1", "expired")
    cluster.brokers[1].controller.session_expired()
    assert cluster.brokers[1].known_controllers[-1] == -1
    cluster.settle()
    assert cluster.brokers[2].known_controllers[-1] == cluster.brokers[3].known_controllers[-1] in (2, 3)
