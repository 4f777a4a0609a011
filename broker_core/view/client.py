"""Producers and consumers."""

from broker_core.events import client
from broker_core.events.client import RECORDS_SHOWN
from broker_core.view.folding import ESCAPED, LOSSES, NODES, folds, put, remove
from broker_core.view.patch import Patch
from broker_core.view.tree import Loss, Node, ProducerBatch, View

CHOICES_SHOWN = 12


@folds
def _gathered(view: View, event: client.RecordsGathered, at_us: int, seq: int) -> Patch:
    batch: ProducerBatch = {
        **_new_batch(event, at_us),
        "state": event.why,
        "due_us": event.due_us,
        "leader": "",
        "request": 0,
        "producer_epoch": -1,
        "base_sequence": -1,
    }
    return _put_batch(view, event.client, event.sequence, batch)


def _new_batch(event: client.RecordsGathered | client.ProduceStarted, at_us: int) -> ProducerBatch:
    return {
        "partition": event.partition,
        "count": event.count,
        "size": event.size,
        "retries": 0,
        "since_us": at_us,
        "error": "",
    }


def _put_batch(view: View, producer: str, sequence: int, batch: ProducerBatch) -> Patch:
    return put(view["nodes"][producer]["batches"], f"{NODES.pointers[producer]}/batches", str(sequence), batch)


def _set_batch(view: View, producer: str, sequence: int, changes: ProducerBatch) -> Patch:
    view["nodes"][producer]["batches"][str(sequence)].update(changes)
    pointer = f"{NODES.pointers[producer]}/batches/{sequence}"
    return [[f"{pointer}/{name}", value] for name, value in changes.items()]


def _remove_batch(view: View, producer: str, sequence: int) -> Patch:
    return remove(view["nodes"][producer]["batches"], f"{NODES.pointers[producer]}/batches", str(sequence))


@folds
def _partitioned(view: View, event: client.RecordPartitioned, at_us: int, seq: int) -> Patch:
    choices = view["nodes"][event.client]["choices"]
    choice = [event.partition, event.key, event.rule, event.key_hash, event.partition_count]
    return NODES.set(view, event.client, {"choices": [*choices, choice][-CHOICES_SHOWN:]})


@folds
def _blocked(view: View, event: client.ProducerBlocked, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.client, {"blocked": event.why})


@folds
def _unblocked(view: View, event: client.ProducerUnblocked, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.client, {"blocked": ""})


@folds
def _started(view: View, event: client.ProduceStarted, at_us: int, seq: int) -> Patch:
    batch: ProducerBatch = {
        **_new_batch(event, at_us),
        "state": "sent",
        "due_us": 0,
        "leader": event.leader,
        "request": event.request,
        "producer_epoch": event.producer_epoch,
        "base_sequence": event.base_sequence,
    }
    producer, pointer, sequence = view["nodes"][event.client], NODES.pointers[event.client], str(event.sequence)
    producer["batches"][sequence] = batch
    producer["partition"] = event.partition
    producer["sent"] = sent = producer["sent"] + event.count
    return [
        [f"{pointer}/batches/{sequence}", batch.copy()],
        [f"{pointer}/partition", event.partition],
        [f"{pointer}/sent", sent],
        *_put_sequence(view, event),
    ]


@folds
def _repeated(view: View, event: client.ProduceRepeated, at_us: int, seq: int) -> Patch:
    sent: ProducerBatch = {
        "state": "sent",
        "since_us": at_us,
        "due_us": 0,
        "leader": event.leader,
        "request": event.request,
        "producer_epoch": event.producer_epoch,
        "base_sequence": event.base_sequence,
    }
    return [*_set_batch(view, event.client, event.sequence, sent), *_put_sequence(view, event)]


def _put_sequence(view: View, event: client.ProduceStarted | client.ProduceRepeated) -> Patch:
    """Sets the number of the partition's next record. A batch without numbers leaves it unchanged."""
    sequences = view["nodes"][event.client]["sequences"]
    if event.base_sequence >= 0:
        following = [event.producer_epoch, event.base_sequence + event.count]
    else:
        following = sequences.get(event.partition, [-1, -1])
    return put(sequences, f"{NODES.pointers[event.client]}/sequences", event.partition, following)


@folds
def _acknowledged(view: View, event: client.ProduceAcknowledged, at_us: int, seq: int) -> Patch:
    producer, pointer, sequence = view["nodes"][event.client], NODES.pointers[event.client], str(event.sequence)
    producer["batches"].pop(sequence, None)
    producer["acknowledged"] = acknowledged = producer["acknowledged"] + event.count
    producer["last_offset"] = last_offset = event.base_offset + event.count - 1 if event.base_offset >= 0 else -1
    producer["last_error"] = ""
    producer["last_latency_us"] = event.latency_us
    return [
        [f"{pointer}/batches/{sequence}"],
        [f"{pointer}/acknowledged", acknowledged],
        [f"{pointer}/last_offset", last_offset],
        [f"{pointer}/last_error", ""],
        [f"{pointer}/last_latency_us", event.latency_us],
    ]


@folds
def _failed(view: View, event: client.ProduceFailed, at_us: int, seq: int) -> Patch:
    failed: Node = {"failed": view["nodes"][event.client]["failed"] + event.count, "last_error": event.error}
    return [*_remove_batch(view, event.client, event.sequence), *NODES.set(view, event.client, failed)]


@folds
def _retried(view: View, event: client.ProduceRetried, at_us: int, seq: int) -> Patch:
    producer = view["nodes"][event.client]
    paused: ProducerBatch = {
        "retries": producer["batches"][str(event.sequence)]["retries"] + 1,
        "state": "pause",
        "since_us": at_us,
        "due_us": event.due_us,
        "error": event.error,
    }
    retried: Node = {"retried": producer["retried"] + 1, "last_error": event.error}
    return [*_set_batch(view, event.client, event.sequence, paused), *NODES.set(view, event.client, retried)]


@folds
def _split(view: View, event: client.BatchSplit, at_us: int, seq: int) -> Patch:
    split: Node = {"sent": view["nodes"][event.client]["sent"] - event.count, "last_error": "MESSAGE_TOO_LARGE"}
    return [*_remove_batch(view, event.client, event.sequence), *NODES.set(view, event.client, split)]


@folds
def _stream_changed(view: View, event: client.ProducerStreamChanged, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.client, {"partition": event.partition, "rate": event.rate})


@folds
def _consumed(view: View, event: client.RecordsConsumed, at_us: int, seq: int) -> Patch:
    consumer, pointer = view["nodes"][event.client], NODES.pointers[event.client]
    consumer["high_watermark"] = event.high_watermark
    consumer["records"] = records = [*consumer["records"], *map(list, event.records)][-RECORDS_SHOWN:]
    return [
        *_put_position(view, event.client, event.partition, event.position),
        [f"{pointer}/high_watermark", event.high_watermark],
        [f"{pointer}/records", records],
    ]


@folds
def _position_reset(view: View, event: client.ConsumerPositionReset, at_us: int, seq: int) -> Patch:
    return [
        *_put_position(view, event.client, event.partition, event.to_offset),
        *NODES.set(view, event.client, {"last_reset": event.why}),
    ]


def _put_position(view: View, consumer: str, partition: str, position: int) -> Patch:
    known, pointer = view["nodes"][consumer], NODES.pointers[consumer]
    known["partition"] = partition
    known["position"] = known["positions"][partition] = position
    return [
        [f"{pointer}/partition", partition],
        [f"{pointer}/position", position],
        [f"{pointer}/positions/{ESCAPED[partition]}", position],
    ]


@folds
def _read_replica_named(view: View, event: client.ReadReplicaNamed, at_us: int, seq: int) -> Patch:
    replicas = view["nodes"][event.client]["read_replicas"]
    return put(replicas, f"{NODES.pointers[event.client]}/read_replicas", event.partition, event.replica)


@folds
def _read_replica_cleared(view: View, event: client.ReadReplicaCleared, at_us: int, seq: int) -> Patch:
    replicas = view["nodes"][event.client]["read_replicas"]
    return remove(replicas, f"{NODES.pointers[event.client]}/read_replicas", event.partition)


@folds
def _records_lost(view: View, event: client.AcknowledgedRecordsLost, at_us: int, seq: int) -> Patch:
    loss: Loss = {
        "partition": event.partition,
        "first_offset": event.first_offset,
        "count": event.count,
        "leader": event.leader,
        "leader_epoch": event.leader_epoch,
        "acknowledged_by": event.acknowledged_by,
        "acknowledged_seq": event.acknowledged_seq,
        "acks": event.acks,
        "why": event.why,
        "committed": event.committed,
        "at_us": at_us,
    }
    return LOSSES.put(view, str(seq), loss)
