"""ISR changes that leaders propose (AlterPartition, KIP-497; `KafkaController.tryProcessAlterPartition`)."""

from broker_core.controller.context import RECOVERED, RECOVERING, ControllerContext, LeaderAndIsr
from broker_core.controller.kafka_zk_client import KafkaZkClient
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.wire.messages import AlterPartitionItem, AlterPartitionRequest, AlterPartitionResult

INELIGIBLE_VERSION = 2


def request_error(context: ControllerContext, request: AlterPartitionRequest) -> Errors:
    """The error for the whole request: an outdated broker epoch, or an invalid recovery state."""
    broker = context.live_brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Errors.STALE_BROKER_EPOCH
    if any(item.leader_recovery_state not in (RECOVERED, RECOVERING) for item in request.partitions):
        return Errors.UNKNOWN_SERVER_ERROR
    return Errors.NONE


def check(
    context: ControllerContext, request: AlterPartitionRequest, item: AlterPartitionItem
) -> Errors | LeaderAndIsr:
    """The state to write for a proposal, or an error. NONE: it was written already, by an earlier attempt."""
    leader = request.broker_id
    if item.topic_id and item.topic_id != context.topic_ids.get(topic_of(item.partition)):
        # of a deleted topic of this name; the leader has not been notified yet
        return Errors.UNKNOWN_TOPIC_ID
    current = context.leadership.get(item.partition)
    if current is None:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    isr = tuple(broker_id for broker_id, _ in item.new_isr)
    if item.partition_epoch > current.partition_epoch or item.leader_epoch > current.leader_epoch:
        # the leader knows a later decision than this controller
        return Errors.NOT_CONTROLLER
    if item.leader_epoch < current.leader_epoch:
        return Errors.FENCED_LEADER_EPOCH
    wanted = (leader, isr, item.leader_recovery_state)
    if wanted == (current.leader, current.isr, current.leader_recovery_state):
        return Errors.NONE
    if item.partition_epoch < current.partition_epoch:
        return Errors.INVALID_UPDATE_VERSION
    if item.leader_recovery_state == RECOVERING and (len(isr) > 1 or current.leader_recovery_state == RECOVERED):
        return Errors.INVALID_REQUEST
    if not all(context.is_live(broker_id) for broker_id in isr):
        is_known = request.version >= INELIGIBLE_VERSION
        return Errors.INELIGIBLE_REPLICA if is_known else Errors.OPERATION_NOT_ATTEMPTED
    return LeaderAndIsr(leader, item.leader_epoch, isr, item.leader_recovery_state, item.partition_epoch, context.epoch)


def alter_partitions(
    context: ControllerContext, zk: KafkaZkClient, request: AlterPartitionRequest
) -> tuple[AlterPartitionResult, ...]:
    """Checks the proposals one by one and writes the valid ones. The leader epoch is not changed."""
    errors: dict[str, Errors] = {}
    wanted: dict[str, LeaderAndIsr] = {}
    for item in request.partitions:
        outcome = check(context, request, item)
        if isinstance(outcome, LeaderAndIsr):
            wanted[item.partition] = outcome
        else:
            errors[item.partition] = outcome
    updates = zk.update_partition_states(wanted)
    context.leadership.update(updates.done)
    errors |= dict.fromkeys(updates.retry, Errors.INVALID_UPDATE_VERSION)
    errors |= dict.fromkeys(wanted.keys() - updates.done.keys() - errors.keys(), Errors.UNKNOWN_SERVER_ERROR)
    results = []
    for item in request.partitions:
        error = errors.get(item.partition, Errors.NONE)
        if error is not Errors.NONE:
            results.append(AlterPartitionResult(item.partition, error))
            continue
        state = context.leadership[item.partition]
        results.append(
            AlterPartitionResult(
                item.partition,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                leader_recovery_state=state.leader_recovery_state,
                partition_epoch=state.partition_epoch,
            )
        )
    return tuple(results)
