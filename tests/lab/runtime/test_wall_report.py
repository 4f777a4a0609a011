"""The log lines about a cluster that cannot run in real time."""

import logging

import pytest

from lab.runtime.headless.wall_report import BEHIND_S, REPEAT_S, WallReport


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING)
    return caplog


def test_lag_is_reported_once_and_repeated_and_its_end_is_reported(said: pytest.LogCaptureFixture) -> None:
    now_s = 0.0
    report = WallReport(lambda: int(now_s * 1000))
    for tenth in range(int((REPEAT_S + 5) * 10)):
        now_s = tenth / 10
        report.slice_done(now_s, BEHIND_S + 2)
    assert [record.message for record in said.records] == 2 * [
        "The cluster is 3.0 s behind the wall clock: the machine was suspended or cannot keep up with the load."
        " No time is dropped; timeouts and timestamps are late until it has caught up."
    ]
    report.slice_done(now_s, 0.0)
    assert "has caught up with the wall clock after 34.9 s; it was at most 3.0 s behind" in said.records[-1].message
    report.slice_done(now_s, 0.0)
    assert len(said.records) == 3


def test_small_lag_is_not_reported(said: pytest.LogCaptureFixture) -> None:
    report = WallReport(lambda: 5_000)
    report.slice_done(1.0, BEHIND_S / 2)
    assert not said.records


@pytest.mark.parametrize(("by_ms", "direction"), [(3_600_000, "forward"), (-3_600_000, "back")])
def test_changed_host_clock_is_reported(said: pytest.LogCaptureFixture, by_ms: int, direction: str) -> None:
    calendar_ms = 1_700_000_000_000
    report = WallReport(lambda: calendar_ms)
    report.slice_done(0.0, 0.0)
    calendar_ms += by_ms + 33
    report.slice_done(0.033, 0.0)
    report.slice_done(0.033, 0.0)
    (record,) = said.records
    assert f"was set {direction} by 3600.0 s" in record.message


def test_suspension_is_reported_though_one_slice_made_up_for_it(said: pytest.LogCaptureFixture) -> None:
    now_s = 100.0
    report = WallReport(lambda: int(now_s * 1000))
    for now_s in (100.0, 100.033, 130.1, 130.133):
        report.slice_done(now_s, 0.0)
    (record,) = said.records
    assert "did not run for 30.1 s" in record.message


def test_a_process_that_is_paused_again_and_again_is_reported_now_and_then(said: pytest.LogCaptureFixture) -> None:
    now_s = 0.0
    report = WallReport(lambda: int(now_s * 1000))
    for pause in range(20):
        now_s = pause * 2.0
        report.slice_done(now_s, 0.0)
    assert [record.message.partition(":")[0] for record in said.records] == 2 * ["The cluster did not run for 2.0 s"]
