"""I-MINISR and I-CONSUME: the responses to clients."""

from bisect import bisect_left
from itertools import pairwise

from broker_core.events import client, control, log, rpc, world
from broker_core.partitions import ReplicaId, broker_id_of, topic_of
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import AcknowledgedProduce, ShadowReplica
from broker_core.sim.invariants.watermark_rules import lost_by_deposed

_MIN_ISR = "min.insync.replicas"

_TOO_FEW = "violation.client_too_few"
_NOT_COMMITTED = "violation.client_not_committed"
_UNCOMMITTED_READ = "violation.client_uncommitted_read"
_READ_AGAIN = "violation.client_read_again"


@watches(rpc.RpcSent, only_for=("I-MINISR",))
def sent(checker: Checker, event: rpc.RpcSent) -> None:
    """Records Produce requests and their responses; the event is the most frequent of all.

    Alarms of other invariants name the response that acknowledged a lost record, if this rule has seen it.
    """
    if event.api != "Produce":
        return
    if event.kind == "request":
        fields = event.fields
        if fields and fields[0][0] == "acks":
            acks = fields[0][1]
            if acks != 0 and isinstance(acks, int):
                records = fields[2][1] if len(fields) > 2 and fields[2][0] == "records" else 0
                checker.produce_acks[event.correlation] = acks, int(records)
        return
    acks, records = checker.produce_acks.pop(event.correlation, (0, 0))
    if not acks:
        return
    for name, base in event.fields:
        # An error instead of an offset, or a duplicate batch that is only known to be written.
        if isinstance(base, str) or base < 0:
            continue
        partition = checker.partitions.get(name)
        shadow = partition.replicas.get(event.source) if partition is not None else None
        if partition is None or shadow is None:
            # decided while another partition of the request was still waiting; the replica was moved since
            continue
        shadow_log = shadow.log
        index = bisect_left(shadow_log.bases, base)
        if index == len(shadow_log.bases):
            continue
        last = shadow_log.lasts[index]
        if len(event.fields) == 1 and last - base + 1 < records:
            # Uncompressed messages of magic 0 and 1 are batches of their own.
            last = base + records - 1
        identity = shadow_log.batches[index].identity
        answer = AcknowledgedProduce(base, last, identity, acks, event.source, event.destination, checker.seq)
        if partition.leaders.get(partition.newest_epoch) != event.source and lost_by_deposed(
            checker, partition, shadow, answer
        ):
            continue
        partition.answered.append(answer)
        if acks == -1:
            if shadow.high_watermark <= last or len(shadow.isr) < shadow.replica_count:
                _check_acknowledged(checker, shadow, answer)
        elif last >= partition.highest:
            partition.unsafe.append(answer)


def _check_acknowledged(checker: Checker, shadow: ShadowReplica, answer: AcknowledgedProduce) -> None:
    """Checks I-MINISR if the ISR is not complete, or the high watermark is too low."""
    base, last = answer.base, answer.last
    count = len(dict.fromkeys(shadow.isr + shadow.pending_isr))
    least = min(_min_isr(checker, shadow), shadow.replica_count)
    if count < least and shadow.role == "leader":
        checker.violated(
            "I-MINISR", shadow.key, _TOO_FEW, promise=answer, base=base, last=last, count=count, least=least
        )
    if shadow.high_watermark <= last:
        checker.violated(
            "I-MINISR",
            shadow.key,
            _NOT_COMMITTED,
            promise=answer,
            base=base,
            last=last,
            high_watermark=shadow.high_watermark,
        )


@watches(log.LogOpened, only_for=("I-MINISR",))
def opened(checker: Checker, event: log.LogOpened) -> None:
    """A broker reads a topic's configuration when it opens the log."""
    replica = ReplicaId.parse(event.replica)
    topic = topic_of(replica.partition)
    checker.settings.setdefault(replica.node, {})[f"topics/{topic}"] = checker.topics.get(topic, {})


@watches(control.ConfigurationApplied, only_for=("I-MINISR",))
def configured(checker: Checker, event: control.ConfigurationApplied) -> None:
    checker.settings.setdefault(event.broker, {})[event.entity] = dict(event.configs)


@watches(world.NodeAdded, only_for=("I-MINISR",))
def node_added(checker: Checker, event: world.NodeAdded) -> None:
    if event.node_kind == "broker":
        checker.settings[event.node] = {"": dict(event.settings)}


def _min_isr(checker: Checker, shadow: ShadowReplica) -> int:
    """The setting as known to the broker, the most specific one first."""
    settings = checker.settings.get(shadow.node, {})
    topic = topic_of(shadow.partition)
    for entity in (f"topics/{topic}", f"brokers/{broker_id_of(shadow.node)}", "brokers/<default>", ""):
        value = settings.get(entity, {}).get(_MIN_ISR, "")
        if value.isdecimal():
            return int(value)
    return 1


@watches(client.RecordsConsumed, only_for=("I-CONSUME",))
def consumed(checker: Checker, event: client.RecordsConsumed) -> None:
    """I-CONSUME. Events do not name the replica that served a consumer: the highest high watermark is the bound."""
    partition = checker.partition(event.partition)
    key = (event.client, event.partition)
    before = checker.positions.get(key, -1)
    checker.positions[key] = event.position
    # A new leader's high watermark may be below a consumer's position; that alone is not a violation.
    if event.position > before and event.position > min(event.high_watermark, partition.highest_ever):
        checker.violated(
            "I-CONSUME",
            event.partition,
            _UNCOMMITTED_READ,
            client=event.client,
            position=event.position,
            answered=event.high_watermark,
            highest=partition.highest_ever,
        )
    offsets = [record[0] for record in event.records]
    if offsets and (offsets[0] < before or any(a >= b for a, b in pairwise(offsets))):
        checker.violated(
            "I-CONSUME", event.partition, _READ_AGAIN, client=event.client, position=before, offsets=offsets
        )


@watches(client.ConsumerPositionReset, only_for=("I-CONSUME",))
def position_reset(checker: Checker, event: client.ConsumerPositionReset) -> None:
    checker.positions[event.client, event.partition] = event.to_offset


@watches(world.NodeRemoved, only_for=("I-CONSUME",))
def node_removed(checker: Checker, event: world.NodeRemoved) -> None:
    """Drops the positions of a consumer; a new one of the same name starts without any."""
    name = event.node
    for key in [key for key in checker.positions if key[0] == name]:
        del checker.positions[key]
