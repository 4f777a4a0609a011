"""Producers and consumers."""

from broker_core.events import client
from broker_core.view.rules import rule

RECORDS_SHOWN = 20

CHOICES_SHOWN = 12

_WAITING = (
    "{'partition': event.partition, 'count': event.count, 'size': event.size, 'retries': 0, 'since_us': at_us, "
    "'error': '', 'state': event.why, 'due_us': event.due_us, 'leader': '', 'request': 0, 'producer_epoch': -1, "
    "'base_sequence': -1}"
)
_SENT = (
    "{'partition': event.partition, 'count': event.count, 'size': event.size, 'retries': 0, 'since_us': at_us, "
    "'error': '', 'state': 'sent', 'due_us': 0, 'leader': event.leader, 'request': event.request, "
    "'producer_epoch': event.producer_epoch, 'base_sequence': event.base_sequence}"
)

#: epoch, and the number that comes next; -1 where batches have none
_NEXT_NUMBER = (
    "[event.producer_epoch, event.base_sequence + event.count] if event.base_sequence >= 0 "
    "else view['nodes'][k_client]['sequences'].get(k_partition, [-1, -1])"
)

rule(client.RecordsGathered, ("/nodes/{client}/batches/{sequence}", _WAITING))
rule(
    client.RecordPartitioned,
    (
        "/nodes/{client}/choices",
        f"[*old, [event.partition, event.key, event.rule, event.key_hash, event.partition_count]][-{CHOICES_SHOWN}:]",
    ),
)
rule(client.ProducerBlocked, ("/nodes/{client}/blocked", "event.why"))
rule(client.ProducerUnblocked, ("/nodes/{client}/blocked", "''"))
rule(
    client.ProduceStarted,
    ("/nodes/{client}/batches/{sequence}", _SENT),
    ("/nodes/{client}/partition", "event.partition"),
    ("/nodes/{client}/sent", "old + event.count"),
    ("/nodes/{client}/sequences/{partition}", _NEXT_NUMBER),
)
rule(
    client.ProduceRepeated,
    ("/nodes/{client}/batches/{sequence}/state", "'sent'"),
    ("/nodes/{client}/batches/{sequence}/since_us", "at_us"),
    ("/nodes/{client}/batches/{sequence}/due_us", "0"),
    ("/nodes/{client}/batches/{sequence}/leader", "event.leader"),
    ("/nodes/{client}/batches/{sequence}/request", "event.request"),
    ("/nodes/{client}/batches/{sequence}/producer_epoch", "event.producer_epoch"),
    ("/nodes/{client}/batches/{sequence}/base_sequence", "event.base_sequence"),
    ("/nodes/{client}/sequences/{partition}", _NEXT_NUMBER),
)
rule(
    client.ProduceAcknowledged,
    ("/nodes/{client}/batches/{sequence}", "REMOVE"),
    ("/nodes/{client}/acknowledged", "old + event.count"),
    ("/nodes/{client}/last_offset", "event.base_offset + event.count - 1 if event.base_offset >= 0 else -1"),
    ("/nodes/{client}/last_error", "''"),
    ("/nodes/{client}/last_latency_us", "event.latency_us"),
)
rule(
    client.ProduceFailed,
    ("/nodes/{client}/batches/{sequence}", "REMOVE"),
    ("/nodes/{client}/failed", "old + event.count"),
    ("/nodes/{client}/last_error", "event.error"),
)
rule(
    client.ProduceRetried,
    ("/nodes/{client}/batches/{sequence}/retries", "old + 1"),
    ("/nodes/{client}/batches/{sequence}/state", "'pause'"),
    ("/nodes/{client}/batches/{sequence}/since_us", "at_us"),
    ("/nodes/{client}/batches/{sequence}/due_us", "event.due_us"),
    ("/nodes/{client}/batches/{sequence}/error", "event.error"),
    ("/nodes/{client}/retried", "old + 1"),
    ("/nodes/{client}/last_error", "event.error"),
)
rule(
    client.BatchSplit,
    ("/nodes/{client}/batches/{sequence}", "REMOVE"),
    ("/nodes/{client}/sent", "old - event.count"),
    ("/nodes/{client}/last_error", "'MESSAGE_TOO_LARGE'"),
)
rule(
    client.ProducerStreamChanged,
    ("/nodes/{client}/partition", "event.partition"),
    ("/nodes/{client}/rate", "event.rate"),
)
rule(
    client.RecordsConsumed,
    ("/nodes/{client}/partition", "event.partition"),
    ("/nodes/{client}/position", "event.position"),
    ("/nodes/{client}/positions/{partition}", "event.position"),
    ("/nodes/{client}/high_watermark", "event.high_watermark"),
    ("/nodes/{client}/records", f"(old + [list(record) for record in event.records])[-{RECORDS_SHOWN}:]"),
)
rule(
    client.ConsumerPositionReset,
    ("/nodes/{client}/partition", "event.partition"),
    ("/nodes/{client}/position", "event.to_offset"),
    ("/nodes/{client}/positions/{partition}", "event.to_offset"),
    ("/nodes/{client}/last_reset", "event.why"),
)
rule(
    client.AcknowledgedRecordsLost,
    (
        "/losses/{seq}",
        "{'partition': event.partition, 'first_offset': event.first_offset, 'count': event.count, "
        "'leader': event.leader, 'leader_epoch': event.leader_epoch, 'acknowledged_by': event.acknowledged_by, "
        "'acknowledged_seq': event.acknowledged_seq, 'at_us': at_us}",
    ),
)
