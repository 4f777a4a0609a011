"""I-CTRL, I-LEADERINISR, I-ZKVER, I-EPOCHMONO: controllers and partitions in ZooKeeper."""

from typing import Any

import msgspec

from broker_core.events import control
from broker_core.partitions import TopicPartition, broker_node, partition_name
from broker_core.sim.invariants.catalogue import FOREIGN, STALE_LEADER, Explanation, message
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.leader_rules import nodes
from broker_core.sim.invariants.log_rules import record_stale
from broker_core.sim.invariants.shadow import ShadowPartition
from broker_core.sim.invariants.watermark_rules import check_all_strong
from broker_core.texts import text

CONTROLLER_EPOCH = "/controller_epoch"
_TOPICS = "/brokers/topics/"
_TOPIC_CONFIGS = "/config/topics/"

_EPOCH_BACK = "violation.zookeeper_epoch_back"
_SAME_EPOCH = "violation.zookeeper_same_epoch"
_NOT_IN_ISR = "violation.zookeeper_not_in_isr"
_NOT_ASSIGNED = "violation.zookeeper_not_assigned"
_VERSION = "violation.zookeeper_version"
_OLD_CONTROLLER = "violation.zookeeper_old_controller"
_UNKNOWN_CONTROLLER = "violation.zookeeper_unknown_controller"
_CONTROLLER_BACK = "violation.zookeeper_controller_back"
_TWO_CONTROLLERS = "violation.zookeeper_two_controllers"
_BY_HAND = "cause.zookeeper_by_hand"


_USURPED = "cause.zookeeper_usurped"


class _PartitionState(msgspec.Struct):
    """The fields of a state znode that invariants use."""

    leader: int
    leader_epoch: int
    isr: list[int]
    controller_epoch: int = -1


class _Topic(msgspec.Struct):
    partitions: dict[str, list[int]]


class _Config(msgspec.Struct):
    config: dict[str, str]


@watches(control.ZnodeCreated, control.ZnodeChanged)
def znode_written(checker: Checker, event: control.ZnodeCreated | control.ZnodeChanged) -> None:
    path = event.path
    if path.startswith(_TOPICS):
        parts = path.split("/")
        is_foreign = checker.node[:1] != "b"
        version = event.version if isinstance(event, control.ZnodeChanged) else 0
        if len(parts) == 7 and parts[6] == "state":
            _state_written(checker, partition_name(parts[3], parts[5]), event, version, is_foreign=is_foreign)
        elif len(parts) == 4:
            _topic_written(checker, parts[3], event, is_foreign=is_foreign)
    elif path == CONTROLLER_EPOCH:
        _controller_epoch_written(checker, event, is_foreign=checker.node[:1] != "b")
    elif path.startswith(_TOPIC_CONFIGS):
        config = _decode(event.data, _Config)
        checker.topics[path[len(_TOPIC_CONFIGS) :]] = config.config if config is not None else {}


def _decode(data: str, kind: Any) -> Any:
    """The state in a znode; None for malformed data, which brokers also ignore."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return None


def _manually(checker: Checker, partition: ShadowPartition | None, path: str) -> None:
    excuses = checker.excuses if partition is None else partition.excuses
    excuses[FOREIGN] = Explanation(FOREIGN, message(_BY_HAND, path=path), path, checker.seq)


def _state_written(
    checker: Checker,
    name: str,
    event: control.ZnodeCreated | control.ZnodeChanged,
    version: int,
    *,
    is_foreign: bool,
) -> None:
    partition = checker.partition(name)
    if is_foreign:
        _manually(checker, partition, event.path)
    before, partition.version = partition.version, version
    if version != before + 1:
        checker.violated("I-ZKVER", name, _VERSION, before=before, version=version)
    state = _decode(event.data, _PartitionState)
    if state is None:
        return
    leader, epoch, isr = state.leader, state.leader_epoch, nodes(state.isr)
    writer = partition.replicas.get(checker.node)
    if (
        writer is not None
        and writer.is_stale
        and (writer.role, writer.leader_epoch) == ("leader", epoch)
        and before >= 0
    ):
        # The znode of the new topic may have the version that the broker knows from the deleted one.
        record_stale(partition, writer, checker.seq)
        words = message(_USURPED, node=writer.node)
        partition.excuses[STALE_LEADER] = Explanation(STALE_LEADER, words, text("setting.no_topic_ids"), checker.seq)
    if epoch < partition.leader_epoch:
        checker.violated("I-EPOCHMONO", name, _EPOCH_BACK, before=partition.leader_epoch, epoch=epoch)
    if leader != partition.leader and partition.leader_epoch >= 0 and epoch == partition.leader_epoch:
        checker.violated("I-EPOCHMONO", name, _SAME_EPOCH, before=partition.leader, leader=leader, epoch=epoch)
    if not isr or (leader != -1 and leader not in state.isr):
        checker.violated("I-LEADERINISR", name, _NOT_IN_ISR, leader=leader, isr=state.isr)
    _check_assigned(checker, name, isr, partition)
    if state.controller_epoch < partition.controller_epoch:
        checker.violated(
            "I-CTRL", name, _OLD_CONTROLLER, epoch=state.controller_epoch, before=partition.controller_epoch
        )
    if state.controller_epoch > checker.controller_epoch > 0:
        checker.violated(
            "I-CTRL", name, _UNKNOWN_CONTROLLER, epoch=state.controller_epoch, newest=checker.controller_epoch
        )
    # For an unclean election the controller emits an event next, and the ISR is checked then.
    is_clean = leader < 0 or not partition.isr or broker_node(leader) in partition.isr
    partition.leader, partition.leader_epoch, partition.controller_epoch = leader, epoch, state.controller_epoch
    if isr != partition.isr:
        partition.isr = isr
        if is_clean:
            check_all_strong(checker, partition)


def _check_assigned(checker: Checker, name: str, isr: tuple[str, ...], partition: ShadowPartition) -> None:
    """Checks that only assigned replicas join the ISR. Replicas removed by a reassignment or its cancellation leave the
    assignment first.
    """
    assigned = partition.assigned
    if assigned and any(node not in assigned and node not in partition.isr for node in isr):
        checker.violated("I-LEADERINISR", name, _NOT_ASSIGNED, isr=list(isr), assigned=list(assigned))


def _topic_written(
    checker: Checker, topic: str, event: control.ZnodeCreated | control.ZnodeChanged, *, is_foreign: bool
) -> None:
    written = _decode(event.data, _Topic)
    for index, broker_ids in (written.partitions if written is not None else {}).items():
        name = partition_name(topic, index)
        assigned = nodes(broker_ids)
        partition = checker.partitions.get(name)
        if partition is not None and partition.assigned == assigned:
            continue
        partition = checker.partition(name)
        if is_foreign:
            _manually(checker, partition, event.path)
        partition.assigned = assigned


def _controller_epoch_written(
    checker: Checker, event: control.ZnodeCreated | control.ZnodeChanged, *, is_foreign: bool
) -> None:
    """I-CTRL: this number alone orders the controllers."""
    if is_foreign:
        _manually(checker, None, event.path)
    epoch = int(event.data) if event.data.isdecimal() else -1
    before, checker.controller_epoch = checker.controller_epoch, epoch
    # The first controller creates it, as 1 or as 0 and then 1.
    if epoch <= before and not (epoch == before == 0):
        checker.violated("I-CTRL", event.path, _CONTROLLER_BACK, before=before, epoch=epoch)


@watches(control.ControllerElected, only_for=("I-CTRL",))
def controller_elected(checker: Checker, event: control.ControllerElected) -> None:
    earlier = checker.controllers.setdefault(event.controller_epoch, event.broker)
    if earlier != event.broker:
        checker.violated(
            "I-CTRL",
            "controller",
            _TWO_CONTROLLERS,
            epoch=event.controller_epoch,
            earlier=earlier,
            broker=event.broker,
        )


@watches(control.ZnodeDeleted)
def znode_deleted(checker: Checker, event: control.ZnodeDeleted) -> None:
    """Resets a deleted topic: a new topic of the same name starts from scratch. Replicas keep their shadows."""
    path = event.path
    is_foreign = checker.node[:1] != "b"
    if path.startswith(_TOPIC_CONFIGS):
        checker.topics.pop(path[len(_TOPIC_CONFIGS) :], None)
    elif path == CONTROLLER_EPOCH:
        _manually(checker, None, path)
        checker.controller_epoch = 0
    elif path.startswith(_TOPICS):
        topic, *rest = path[len(_TOPICS) :].split("/")
        if rest and not is_foreign:
            # the controller deletes a topic znode by znode, its own last
            return
        for name in checker.partitions_of(topic):
            partition = checker.partitions[name]
            if rest:
                if is_foreign and path.endswith((f"/{TopicPartition.parse(name).partition}/state", "/partitions")):
                    _manually(checker, partition, path)
                    partition.version = -1
                continue
            for shadow in partition.replicas.values():
                shadow.is_stale = True
            new = checker.partitions[name] = ShadowPartition(
                replicas=partition.replicas, deleted_epoch=max(partition.leader_epoch, partition.deleted_epoch)
            )
            if is_foreign:
                _manually(checker, new, path)
            checker.partition_deleted(name)
