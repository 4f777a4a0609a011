"""Producers and consumers."""

from broker_core.events import client
from broker_core.view.rules import rule

RECORDS_SHOWN = 20

_BATCH = (
    "'partition': event.partition, 'count': event.count, 'size': event.size, 'retries': 0, 'since_us': at_us, "
    "'error': ''"
)

rule(
    client.RecordsGathered,
    ("/nodes/{client}/batches/{sequence}", f"{{'state': event.why, {_BATCH}}}"),
)
rule(
    client.ProduceStarted,
    ("/nodes/{client}/batches/{sequence}", f"{{'state': 'sent', {_BATCH}}}"),
    ("/nodes/{client}/partition", "event.partition"),
    ("/nodes/{client}/sent", "old + event.count"),
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
    ("/nodes/{client}/batches/{sequence}/error", "event.error"),
    ("/nodes/{client}/retried", "old + 1"),
    ("/nodes/{client}/last_error", "event.error"),
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
    ("/nodes/{client}/high_watermark", "event.high_watermark"),
    ("/nodes/{client}/records", f"(old + [list(record) for record in event.records])[-{RECORDS_SHOWN}:]"),
)
rule(
    client.ConsumerPositionReset,
    ("/nodes/{client}/partition", "event.partition"),
    ("/nodes/{client}/position", "event.to_offset"),
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
