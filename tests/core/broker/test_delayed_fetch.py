"""Which fetches wait, and what completes them (`DelayedFetch.tryComplete`)."""

from typing import Any

import pytest

from broker_core.run import Run
from broker_core.wire.framing import decode_response
from broker_core.wire.schemas import BY_NAME
from tests.support.tcp_conversation import SECOND_US, ask, batch, frame, produce_fields, started

MAX_WAIT_MS = 30_000
RECORDS = 9
RECORDS_PER_SEGMENT = 3


@pytest.fixture
def run() -> Run:
    """Nine batches of one record, three to a segment."""
    run = started()
    size = len(batch(b"x" * 50))
    run.submit(
        "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 1"
        f" --config segment.bytes={RECORDS_PER_SEGMENT * size}"
    )
    run.advance(run.now_us + 5 * SECOND_US)
    for _ in range(RECORDS):
        ask(run, connection(run), "Produce", 9, **produce_fields("orders", batch(b"x" * 50)))
    return run


def connection(run: Run) -> int:
    return run.connect(run.view["partitions"]["orders-0"]["leader"], "127.0.0.1")


def fetch(run: Run, offset: int, min_bytes: int, partition_max_bytes: int = 1_000_000) -> Any:
    """The response for the partition after a second; None while the request waits."""
    request = BY_NAME["Fetch"].request
    partition = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
    topics = [request.FetchTopic(topic="orders", partitions=[partition])]
    run.frame(connection(run), frame("Fetch", 11, max_wait_ms=MAX_WAIT_MS, min_bytes=min_bytes, topics=topics))
    run.advance(run.now_us + SECOND_US)
    sent = run.take_outputs()
    if not sent:
        return None
    _, response = decode_response(BY_NAME["Fetch"], 11, (sent[0][1] or b"")[4:])
    return response.responses[0].partitions[0]


@pytest.mark.parametrize("offset", [0, 2, 3, 5])
def test_fetch_on_an_older_segment_completes_at_once(run: Run, offset: int) -> None:
    got = fetch(run, offset, min_bytes=1_000_000)
    records = RECORDS_PER_SEGMENT - offset % RECORDS_PER_SEGMENT
    assert len(got.records) == records * len(batch(b"x" * 50))


@pytest.mark.parametrize("offset", [6, 8, 9])
def test_fetch_on_the_active_segment_waits_for_min_bytes(run: Run, offset: int) -> None:
    assert fetch(run, offset, min_bytes=1_000_000) is None


def test_bytes_are_counted_by_position_up_to_the_partition_limit(run: Run) -> None:
    size = len(batch(b"x" * 50))
    assert fetch(run, 6, min_bytes=3 * size) is not None
    assert fetch(run, 6, min_bytes=3 * size + 1) is None
    assert fetch(run, 6, min_bytes=2 * size, partition_max_bytes=2 * size - 1) is None


def test_waiting_fetch_completes_when_a_new_segment_is_rolled(run: Run) -> None:
    assert fetch(run, 8, min_bytes=1_000_000) is None
    run.frame(connection(run), frame("Produce", 9, **produce_fields("orders", batch(b"x" * 50))))
    run.advance(run.now_us + SECOND_US)
    assert len([data for _, data in run.take_outputs() if data]) == 2
