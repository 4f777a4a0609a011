"""How much one socket may ask."""

from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from lab.protocol.frames import CLOSE_TOO_MUCH
from lab.web import socket as socket_module
from lab.web.act_limit import IN_CLASS, REFUSALS_ENDING, ActLimit, Rate
from tests.support.lab_server import Visitor


class Clock:
    """Seconds, set by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_thirty_acts_at_once_and_ten_a_second() -> None:
    clock = Clock()
    limit = ActLimit(IN_CLASS, clock)
    assert [limit.take() for _ in range(31)] == ["go"] * 30 + ["refuse"]
    done = 0
    for _ in range(600):
        clock.now_s += 1 / 60
        done += limit.take() == "go"
    assert 98 <= done <= 101
    clock.now_s += 3600
    assert [limit.take() for _ in range(31)].count("go") == 30


def test_one_refusal_per_second_and_then_the_connection_is_closed() -> None:
    clock = Clock()
    limit = ActLimit(Rate(per_s=0.001, at_once=0), clock)
    verdicts = []
    for _ in range(REFUSALS_ENDING):
        verdicts.append(limit.take())
        clock.now_s += 9.9 / REFUSALS_ENDING
    assert verdicts[-1] == "close"
    assert verdicts[:-1].count("refuse") == 10 and set(verdicts[:-1]) == {"refuse", "drop"}


def test_slow_excess_is_refused_and_not_closed() -> None:
    clock = Clock()
    limit = ActLimit(Rate(per_s=0.001, at_once=0), clock)
    for _ in range(5 * REFUSALS_ENDING):
        assert limit.take() != "close"
        clock.now_s += 0.06


def test_flood_of_acts_is_answered_once_and_closed(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    run = visitor.new_run()
    monkeypatch.setattr(socket_module, "ALONE", Rate(per_s=0.001, at_once=3))
    with visitor.socket(run) as flood:
        flood.of_kind("snap")
        for _ in range(3):
            assert flood.ask({"k": "time", "op": "now"})["k"] == "done"
        flood.send({"k": "time", "op": "pause", "id": "q4"})
        refused = flood.of_kind("no")
        assert refused["id"] == "q4" and refused["what"] and refused["todo"]
        with suppress(ConnectionClosed):
            for number in range(2 * REFUSALS_ENDING):
                flood.send({"k": "do", "id": f"f{number}", "line": "broker kill 1"})
        code, reason = flood.closed()
        assert code == CLOSE_TOO_MUCH and reason
        assert len([frame for frame in flood.frames if frame["k"] == "no"]) < 20
    with visitor.socket(run) as again:
        brokers = [node for node in again.of_kind("snap")["state"]["nodes"].values() if node["kind"] == "broker"]
        assert [node["state"] for node in brokers] == ["up", "up", "up"]
