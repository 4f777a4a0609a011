"""Sentences about events: values are written as people write them."""

import pytest

from broker_core.events import Event
from broker_core.events.client import ConsumerPositionReset, ProduceStarted, RecordPartitioned
from broker_core.events.envelope import sentence
from broker_core.events.log import LeaderEpochsChanged


def produced(acks: int) -> ProduceStarted:
    return ProduceStarted(
        client="p1", partition="orders-0", sequence=0, count=1, acks=acks, size=70, leader="b1", request=1,
        producer_id=-1, producer_epoch=-1, base_sequence=-1,
    )  # fmt: skip


def moved(from_offset: int, to_offset: int) -> ConsumerPositionReset:
    return ConsumerPositionReset("c1", "orders-0", from_offset, to_offset, "reason.offset_out_of_range")


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (produced(-1), "acks=all"),
        (produced(1), "acks=1"),
        (LeaderEpochsChanged(replica="orders-0@b1", entries=((0, 0), (2, 25))), "leader epochs 0@0, 2@25 "),
        (LeaderEpochsChanged(replica="orders-0@b1", entries=()), "leader epochs — "),
        (moved(-1, 0), "reset from none to 0"),
        (moved(7, 3), "reset from 7 to 3"),
        (
            RecordPartitioned("p1", "orders-0", None, "stays", None, 3),
            "key null assigned to orders-0 (sticky partition kept)",
        ),
    ],
)
def test_values_are_formatted_for_people(event: Event, says: str) -> None:
    assert says in sentence(event)
