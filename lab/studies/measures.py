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
from broker_core.events.log import BatchAppended, LogTruncated
from broker_core.events.replica import IsrExpanded, IsrShrunk
from broker_core.events.rpc import RpcSent
from broker_core.events.world import InvariantViolated
from broker_core.view.tree import View
from lab.studies.owners import Owners
from lab.studies.rebalances import Rebalances


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
    """Observes the events of a cluster. `view`: what there is when it begins."""

    def __init__(self, now_us: int, view: View) -> None:
        self._counts = dict.fromkeys(MEASURES, 0)
        self._began_us = self._last_acknowledged_us = now_us
        self._gap_us = 0
        self._has_sent = False
        self._latencies_us: list[int] = []
        self._batches = 0
        self._owners = Owners(now_us, view)
        self._rebalances = Rebalances(view)

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        seq, at_us, _, _, event = envelope
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
        else:
            self._owners.see(at_us, event)
            self._rebalances.see(seq, at_us, event)

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
        found["rebalances"] = self._rebalances.count
        found["moved_partitions"] = self._owners.moved
        found["unowned_partition_s"] = self._owners.unowned_us / 1e6
        return found


def _quantile_ms(ascending_us: Sequence[int], share: float) -> float | None:
    """The quantile by nearest rank, which is a measured value."""
    if not ascending_us:
        return None
    rank = max(1, -(-len(ascending_us) * round(share * 1_000) // 1_000))
    return ascending_us[rank - 1] / 1_000
