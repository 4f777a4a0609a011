"""The log lines about alarms of a cluster without a page."""

import logging
from typing import Any

import pytest

from broker_core.events import Envelope
from broker_core.events.world import InvariantViolated
from lab.runtime.headless.alarm_report import REPEAT_S, AlarmReport
from lab.runtime.live_run import PublishedUpdate


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING)
    return caplog


def alarms(first_seq: int, count: int, invariant: str = "I-HW") -> PublishedUpdate:
    event = InvariantViolated(invariant=invariant, subject="orders-0", detail="it is wrong", explained_by="")
    envelopes: list[Envelope] = [(first_seq + n, 0, "lab", 0, event) for n in range(count)]
    return PublishedUpdate(envelopes, [], 0, None, "play", 1.0, 0)


def test_alarms_are_reported_with_a_limit_per_invariant(log: pytest.LogCaptureFixture) -> None:
    now_s = 100.0
    report = AlarmReport(lambda: now_s)
    live: Any = None
    report.happened(live, alarms(7, 2_000))
    report.happened(live, alarms(3_000, 1, "I-ISR"))
    now_s += REPEAT_S
    report.happened(live, alarms(4_000, 1))
    assert [record.message for record in log.records] == [
        "Alarm at event 7: I-HW violated on orders-0: it is wrong. Nothing in the run explains it.",
        "Alarm at event 3000: I-ISR violated on orders-0: it is wrong. Nothing in the run explains it.",
        "Alarm at event 4000: I-HW violated on orders-0: it is wrong. Nothing in the run explains it."
        " 1999 more alarms of I-HW were not printed.",
    ]


def test_other_events_are_not_reported(log: pytest.LogCaptureFixture) -> None:
    live: Any = None
    AlarmReport(lambda: 0.0).happened(live, PublishedUpdate([], [], 0, None, "play", 1.0, 0))
    assert not log.records
