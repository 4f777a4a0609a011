"""The measures of a simulated cluster. Everything is counted from the start of the workload, without the setup."""

from collections.abc import Sequence

import msgspec

from broker_core.events import Envelope
from broker_core.events.client import (
    AcknowledgedRecordsLost,
    ProduceAcknowledged,
    ProduceFailed,
    ProduceRetried,
    RecordsConsumed,
)
from broker_core.events.control import LeaderElected
from broker_core.events.group import ConsumerAssigned, GroupTransitioned
from broker_core.events.log import BatchAppended, LogTruncated
from broker_core.events.replica import IsrExpanded, IsrShrunk
from broker_core.events.rpc import RpcSent
from broker_core.events.world import ClientFrozen, ClientThawed, InvariantViolated, NodeRemoved


class Measure(msgspec.Struct, frozen=True):
    """A measure: its unit (the id of a text `studies.unit.*`), and whether less of it is better."""

    unit: str
    is_less_better: bool = True


MEASURES = {
    "ack_p50_ms": Measure("ms"),
    "ack_p99_ms": Measure("ms"),
    "longest_gap_ms": Measure("ms"),
    "acknowledged_records": Measure("records", False),
    "failed_records": Measure("records"),
    "lost_records": Measure("records"),
    "retries": Measure("count"),
    "produce_requests": Measure("count"),
    "messages": Measure("count"),
    "records_per_batch": Measure("records", False),
    "stored_bytes": Measure("bytes"),
    "elections": Measure("count"),
    "unclean_elections": Measure("count"),
    "truncated_records": Measure("records"),
    "isr_shrinks": Measure("count"),
    "isr_expands": Measure("count"),
    "rebalances": Measure("count"),
    "moved_partitions": Measure("count"),
    "unowned_partition_s": Measure("s"),
    "consumed_records": Measure("records", False),
    "alarms": Measure("count"),
}


class Watch:
    """Observes the events of a cluster."""

    def __init__(self, now_us: int) -> None:
        self._counts = dict.fromkeys(MEASURES, 0)
        self._began_us = self._last_acknowledged_us = now_us
        self._gap_us = 0
        self._has_sent = False
        self._latencies_us: list[int] = []
        self._batches = 0
        self._owners = _Owners(now_us)

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        _, at_us, _, _, event = envelope
        count = self._counts
        if isinstance(event, RpcSent):
            count["messages"] += 1
            count["produce_requests"] += event.api == "Produce" and event.kind == "request"
        elif isinstance(event, BatchAppended):
            count["stored_bytes"] += event.size
        elif isinstance(event, ProduceAcknowledged | ProduceFailed | ProduceRetried):
            self._see_produce(at_us, event)
        elif isinstance(event, AcknowledgedRecordsLost):
            count["lost_records"] += event.count
        elif isinstance(event, LeaderElected):
            count["elections"] += event.leader >= 0
            count["unclean_elections"] += event.unclean
        elif isinstance(event, LogTruncated):
            count["truncated_records"] += max(0, event.from_offset - event.to_offset)
        elif isinstance(event, IsrShrunk):
            count["isr_shrinks"] += 1
        elif isinstance(event, IsrExpanded):
            count["isr_expands"] += 1
        elif isinstance(event, InvariantViolated):
            count["alarms"] += 1
        elif isinstance(event, RecordsConsumed):
            count["consumed_records"] += len(event.records)
        elif isinstance(event, GroupTransitioned):
            count["rebalances"] += event.to_state == "PreparingRebalance"
        else:
            self._owners.see(at_us, event)

    def _see_produce(self, at_us: int, event: ProduceAcknowledged | ProduceFailed | ProduceRetried) -> None:
        count = self._counts
        if isinstance(event, ProduceRetried):
            count["retries"] += 1
        elif isinstance(event, ProduceFailed):
            count["failed_records"] += event.count
        else:
            count["acknowledged_records"] += event.count
            self._latencies_us += [event.latency_us] * event.count
            self._batches += 1
            # The time before the first acknowledgement includes the producer's start.
            if self._has_sent:
                self._gap_us = max(self._gap_us, at_us - self._last_acknowledged_us)
            self._has_sent = True
            self._last_acknowledged_us = at_us

    def values(self, now_us: int) -> dict[str, float | None]:
        """All measures up to now. None means that there is nothing to measure, such as the latency without any
        acknowledgement.
        """
        self._owners.until(now_us)
        latencies_us = sorted(self._latencies_us)
        found: dict[str, float | None] = dict(self._counts)
        found["ack_p50_ms"] = _quantile_ms(latencies_us, 0.5)
        found["ack_p99_ms"] = _quantile_ms(latencies_us, 0.99)
        found["longest_gap_ms"] = self._gap_us / 1_000 if self._has_sent else None
        found["records_per_batch"] = len(latencies_us) / self._batches if self._batches else None
        found["moved_partitions"] = self._owners.moved
        found["unowned_partition_s"] = self._owners.unowned_us / 1e6
        return found


def _quantile_ms(ascending_us: Sequence[int], share: float) -> float | None:
    """The quantile by nearest rank, which is a measured value."""
    if not ascending_us:
        return None
    rank = max(1, -(-len(ascending_us) * round(share * 1_000) // 1_000))
    return ascending_us[rank - 1] / 1_000


class _Owners:
    """The partitions that each consumer considers its own while its process runs."""

    def __init__(self, now_us: int) -> None:
        self.moved = 0
        self.unowned_us = 0
        self._seen: dict[str, str] = {}
        self._owned: dict[str, frozenset[str]] = {}
        self._frozen: set[str] = set()
        self._since_us = now_us

    def see(self, at_us: int, event: object) -> None:
        """Observes an event."""
        if not isinstance(event, ConsumerAssigned | ClientFrozen | ClientThawed | NodeRemoved):
            return
        self.until(at_us)
        if isinstance(event, ConsumerAssigned):
            self._owned[event.client] = frozenset(event.partitions)
            for partition in event.partitions:
                before = self._seen.get(partition)
                self.moved += before is not None and before != event.client
                self._seen[partition] = event.client
        elif isinstance(event, ClientFrozen):
            self._frozen.add(event.client)
        elif isinstance(event, ClientThawed):
            self._frozen.discard(event.client)
        else:
            self._owned.pop(event.node, None)
            self._frozen.discard(event.node)

    def until(self, now_us: int) -> None:
        """Counts the time of partitions that had an owner and have none now."""
        owned = set().union(*(held for name, held in self._owned.items() if name not in self._frozen))
        self.unowned_us += len(self._seen.keys() - owned) * (now_us - self._since_us)
        self._since_us = now_us
