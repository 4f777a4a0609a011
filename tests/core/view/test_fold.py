"""Events become patches of the view: pointers are escaped, and a change of what folds are made of is noticed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import broker_core
from broker_core.events import Event
from broker_core.events.client import ConsumerPositionReset, ProducerStreamChanged
from broker_core.events.control import PartitionStateChanged
from broker_core.events.group import AssignorDefined, GroupMemberAdded, GroupTransitioned, OffsetCommitted
from broker_core.events.log import BatchAppended, CheckpointWritten, LogOpened
from broker_core.events.replica import HighWatermarkAdvanced, RemoteReplicaUpdated
from broker_core.events.rpc import RpcDelivered, RpcSent
from broker_core.events.transaction import TransactionTransitioned
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.events.world import LinkCut, NodeAdded, NodeRemoved
from broker_core.view import Fold, empty_view
from broker_core.view.patch import apply

ODD = "a/b~c~1d"
TOPIC = f"{ODD}-0"
REPLICA = f"{TOPIC}@b1"


def _consumer(name: str) -> NodeAdded:
    return NodeAdded(node=name, node_kind="consumer", broker_id=-1)


def _broker() -> NodeAdded:
    return NodeAdded(node="b1", node_kind="broker", broker_id=1)


def _log() -> LogOpened:
    return LogOpened(
        replica=REPLICA,
        topic_id="",
        log_start_offset=0,
        log_end_offset=0,
        high_watermark=0,
        recovery_point=0,
        epochs=(),
        segments=((0, 0, 0, 0),),
        tail=(),
    )


def _batch() -> BatchAppended:
    return BatchAppended(
        replica=REPLICA,
        base_offset=0,
        last_offset=0,
        leader_epoch=0,
        segment=0,
        position=0,
        size=70,
        max_timestamp=0,
    )


def _group() -> GroupTransitioned:
    return GroupTransitioned(
        broker="b1",
        group=ODD,
        partition="__consumer_offsets-0",
        from_state="",
        to_state="Empty",
        generation_id=0,
        protocol="",
        leader="",
        why="",
    )


def _transaction() -> TransactionTransitioned:
    return TransactionTransitioned(
        broker="b1",
        transactional_id=ODD,
        log_partition="__transaction_state-0",
        from_state="",
        to_state="Empty",
        producer_id=1,
        producer_epoch=0,
        last_producer_epoch=-1,
        previous_producer_id=-1,
        timeout_ms=1,
        partitions=(),
        start_ms=-1,
        update_ms=-1,
        why="",
    )


def _sent() -> RpcSent:
    return RpcSent(
        rpc=ODD,
        api="Fetch",
        kind="request",
        source="b2",
        destination="b1",
        due_us=1,
        correlation=1,
        label="",
        fields=(),
    )


def _parked() -> RequestParked:
    return RequestParked(
        broker="b1", request=ODD, api="Fetch", client="b2", partitions=(TOPIC,), needs="", deadline_us=1
    )


@pytest.mark.parametrize(
    "events",
    [
        [_consumer(ODD), ProducerStreamChanged(client=ODD, partition=TOPIC, rate=1), NodeRemoved(node=ODD)],
        [
            _consumer("c1"),
            ConsumerPositionReset(client="c1", partition=TOPIC, from_offset=0, to_offset=1, why=""),
        ],
        [AssignorDefined(assignor=ODD, rules="")],
        [_broker(), CheckpointWritten(broker="b1", file=ODD, entries=())],
        [_log(), _batch(), HighWatermarkAdvanced(replica=REPLICA, from_offset=0, to_offset=1)],
        [
            _log(),
            RemoteReplicaUpdated(replica=REPLICA, follower=ODD, from_offset=-1, log_end_offset=0, last_caught_up_us=0),
        ],
        [PartitionStateChanged(partition=TOPIC, from_state="", state="OnlinePartition", controller="b1")],
        [_group(), OffsetCommitted(broker="b1", group=ODD, partition=TOPIC, offset=1)],
        [_group(), GroupMemberAdded(broker="b1", group=ODD, member=ODD, client="", instance="")],
        [_transaction()],
        [LinkCut(a="b1", b=ODD)],
        [_sent(), RpcDelivered(rpc=ODD, destination="b1")],
        [_parked(), RequestCompleted(broker="b1", request=ODD, why="")],
    ],
    ids=lambda events: type(events[-1]).__name__,
)
def test_patch_escapes_any_key(events: list[Event]) -> None:
    fold, other = Fold(), empty_view()
    for seq, event in enumerate(events, 1):
        apply(other, fold.fold((seq, 0, "b1", 0, event)))
        assert other == fold.view


def _version_of(root: Path) -> str:
    program = "from broker_core.view.fold import version; print(version())"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_keyframes_are_stale_when_a_module_of_the_fold_changed(tmp_path: Path) -> None:
    core = tmp_path / "broker_core"
    shutil.copytree(broker_core.__path__[0], core, ignore=shutil.ignore_patterns("__pycache__"))
    before = _version_of(tmp_path)
    versions = {before}
    for module in ("view/log.py", "events/replica.py", "zk/znodes.py", "groups/consumer_protocol.py"):
        with (core / module).open("a") as source:
            source.write("# changed\n")
        versions.add(_version_of(tmp_path))
    assert len(versions) == 5, "each change must give another version"


def test_keyframes_remain_valid_when_only_the_engine_changed(tmp_path: Path) -> None:
    core = tmp_path / "broker_core"
    shutil.copytree(broker_core.__path__[0], core, ignore=shutil.ignore_patterns("__pycache__"))
    before = _version_of(tmp_path)
    with (core / "replication" / "partition.py").open("a") as source:
        source.write("# changed\n")
    assert _version_of(tmp_path) == before
