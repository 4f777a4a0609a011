"""The socket of a branch, against the real server."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed

from broker_core.texts import text
from lab.exercises.loader import exercises
from lab.protocol.frames import (
    CLOSE_FAILED,
    CLOSE_INVALID_FRAME,
    CLOSE_NOT_FOUND,
    CLOSE_NOT_SIGNED_IN,
    MAX_INVALID_FRAMES,
)
from lab.runtime.streaming.watcher import Watcher
from tests.support.lab_server import LabServer, LabSocketClient, Visitor


@pytest.fixture(scope="module")
def run(lab_server: LabServer) -> str:
    """A run that the tests of this module share."""
    return Visitor(lab_server).sign_in().new_run()


def greeted(client: LabSocketClient) -> dict[str, Any]:
    client.of_kind("welcome")
    snap = client.of_kind("snap")
    client.of_kind("clock")
    return snap


def test_hello_is_answered_with_welcome_snapshot_and_clock(visitor: Visitor, run: str) -> None:
    with visitor.socket(run) as client:
        welcome = client.of_kind("welcome")
        assert (welcome["run"], welcome["branch"], welcome["core"]) == (run, "main", "live")
        assert "act" in welcome["rights"]
        snap = client.of_kind("snap")
        brokers = [node["state"] for node in snap["state"]["nodes"].values() if node["kind"] == "broker"]
        assert brokers == ["up", "up", "up"]
        assert client.of_kind("clock")["mode"] in ("play", "pause")


def test_events_of_a_line_arrive_without_gaps(visitor: Visitor) -> None:
    with visitor.socket(visitor.new_run()) as client:
        snap = greeted(client)
        printed = client.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        assert printed == ["Created topic orders."]
        numbers = [event[0] for event in client.events()]
        assert numbers == list(range(snap["seq"] + 1, snap["seq"] + 1 + len(numbers)))


def test_invalid_line_is_refused_and_the_run_continues(visitor: Visitor, run: str) -> None:
    with visitor.socket(run) as client:
        greeted(client)
        for line in ("bogus", "broker kill 9", "", "   ", "kafka-topics.sh --create", "x" * 10_000):
            answer = client.ask({"k": "do", "line": line})
            if answer["k"] == "done":
                # The tool itself says no: it runs, and ends with an exit code.
                assert client.event("CommandCompleted", answer["command"])[4][2] != 0, line
            else:
                assert answer["what"] and answer["expected"] and answer["todo"]
        assert client.ask({"k": "time", "op": "now"})["k"] == "done"


def test_time_control_applies_to_all_watchers(visitor: Visitor) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as one, visitor.socket(run) as other:
        greeted(one)
        greeted(other)
        one.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        assert one.ask({"k": "time", "op": "pause"})["k"] == "done"
        paused = other.until(lambda frame: frame["k"] == "clock" and frame["mode"] == "pause")
        assert paused["horizon_us"] == paused["at_us"]
        before = one.ask({"k": "time", "op": "now"})["seq"]
        stepped = one.ask({"k": "time", "op": "step_event"})["seq"]
        assert stepped > before
        one.ask({"k": "time", "op": "step_rpc"})
        assert one.event("RpcDelivered", after=stepped)
        one.ask({"k": "time", "op": "play", "value": 0.01})
        playing = other.until(lambda frame: frame["k"] == "clock" and frame["mode"] == "play")
        assert playing["rate"] == 0.01
        one.ask({"k": "time", "op": "event_paced"})
        # Idle time may pass quickly, but while a message is in flight time is slow.
        paced = other.until(
            lambda frame: frame["k"] == "clock" and frame["mode"] == "event_paced" and 0 < frame["rate"] < 0.01
        )
        assert paced["at_us"] >= playing["at_us"]


@pytest.mark.parametrize("value", [0, -1, 0.0001, 101, None])
def test_impossible_rate_is_refused(visitor: Visitor, run: str, value: float | None) -> None:
    with visitor.socket(run) as client:
        greeted(client)
        answer = client.ask({"k": "time", "op": "rate", "value": value})
        assert answer["k"] == "no" and "0.001 to 100" in answer["expected"]


def test_line_is_completed(visitor: Visitor, run: str) -> None:
    with visitor.socket(run) as client:
        greeted(client)
        answer = client.ask({"k": "complete", "line": "kafka-to", "cursor": 8})
        assert answer == {"k": "completions", "id": "q1", "from": 0, "items": ["kafka-topics.sh"]}


def test_reconnecting_page_gets_missed_events(visitor: Visitor) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as client:
        boot = client.of_kind("welcome")["boot"]
        client.of_kind("snap")
        client.ask({"k": "time", "op": "pause"})
        have = client.ask(
            {"k": "do", "line": "kafka-topics.sh --create --topic a --partitions 1 --replication-factor 1"}
        )
    with visitor.socket(run, hello={"have": have["seq"], "boot": boot}) as client:
        client.of_kind("welcome")
        client.ask({"k": "time", "op": "play"})
        client.event("CommandCompleted")
        assert not [frame for frame in client.frames if frame["k"] == "snap"]
        assert client.events()[0][0] == have["seq"] + 1


@pytest.mark.parametrize("hello", [{"have": 3, "boot": "another"}, {"have": 10**9, "boot": None}])
def test_page_with_other_state_gets_a_snapshot(visitor: Visitor, run: str, hello: dict[str, Any]) -> None:
    with visitor.socket(run) as client:
        boot = client.of_kind("welcome")["boot"]
    with visitor.socket(run, hello={"have": hello["have"], "boot": hello["boot"] or boot}) as client:
        client.of_kind("welcome")
        assert client.until(lambda frame: frame["k"] in ("snap", "d"))["k"] == "snap"


def test_unresponsive_page_is_not_flooded_and_gets_a_snapshot(visitor: Visitor) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as busy, visitor.socket(run) as idle:
        greeted(busy)
        idle.acknowledges = False
        idle.of_kind("snap")
        busy.run("kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3")
        busy.run("producer open p1 --acks all")
        busy.run("producer stream p1 orders-0 500")
        busy.ask({"k": "time", "op": "rate", "value": 10})
        began = busy.ask({"k": "time", "op": "now"})["seq"]
        # More than the window takes, and then more than a page may miss.
        busy.until(lambda frame: frame["k"] == "d" and frame["ev"][-1][0] > began + 10_000)
        busy.ask({"k": "time", "op": "pause"})
        last = busy.ask({"k": "time", "op": "now"})["seq"]
        idle.until(lambda frame: frame["k"] == "clock" and frame["mode"] == "pause")
        sent = [frame for frame in idle.frames if frame["k"] in ("d", "snap")]
        assert len(sent) <= 8
        idle.send({"k": "ack", "seq": sent[-1]["ev"][-1][0]})
        snap = idle.of_kind("snap")
        assert snap["seq"] == last
        assert snap["skipped"] == last - sent[-1]["ev"][-1][0]


def test_invalid_frames_are_answered_and_finally_close_the_socket(visitor: Visitor, run: str) -> None:
    with visitor.socket(run) as client:
        greeted(client)
        for text in ("rubbish", '{"k":"fly"}', "{" * 1000, "x" * 70_000, "[]"):
            client.connection.send(text)
            refused = client.of_kind("no")
            assert refused["id"] is None and refused["what"] and refused["expected"] and refused["todo"]
        client.connection.send(b"\x00\x01")
        assert "binary" in client.of_kind("no")["what"]
        with suppress(ConnectionClosed):  # the lab may close while the last frames are being sent
            for _ in range(MAX_INVALID_FRAMES):
                client.connection.send("rubbish")
        code, reason = client.closed()
        assert code == CLOSE_INVALID_FRAME and reason
    with visitor.socket(run) as client:
        greeted(client)


def test_first_frame_must_be_hello(visitor: Visitor, run: str) -> None:
    with visitor.socket(run, hello={}) as client:
        client.send({"k": "do", "id": "u1", "line": "help"})
        assert client.closed() == (CLOSE_INVALID_FRAME, "The first frame is not a hello.")


def test_socket_of_another_version_is_closed(visitor: Visitor, run: str) -> None:
    with visitor.socket(run, hello={"schema": "0123"}) as client:
        code, reason = client.closed()
        assert code == CLOSE_INVALID_FRAME and "updated" in reason


def test_socket_requires_sign_in(lab_server: LabServer, run: str) -> None:
    with Visitor(lab_server).socket(run, hello={}) as client:
        code, reason = client.closed()
        assert code == CLOSE_NOT_SIGNED_IN and "Sign in" in reason


def test_run_of_another_user_is_not_found(lab_server: LabServer, run: str, other_visitor: Visitor) -> None:
    for slug, branch in ((run, "main"), ("nosuch", "main"), (run, "nosuch")):
        with other_visitor.socket(slug, branch, hello={}) as client:
            code, reason = client.closed()
            assert code == CLOSE_NOT_FOUND and json.dumps(reason)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:1", "http://127.0.0.1", "null", "http://["]
)
def test_page_of_another_site_gets_no_socket(visitor: Visitor, run: str, origin: str) -> None:
    import websockets.exceptions
    from websockets.sync.client import connect

    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.cookies)
    address = f"ws://127.0.0.1:{visitor.server.port}/ws/runs/{run}/main/"
    with (
        pytest.raises(websockets.exceptions.InvalidStatus),
        connect(address, additional_headers={"Cookie": cookies, "Origin": origin}),
    ):
        pass


def test_deleting_a_run_closes_its_sockets(visitor: Visitor) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as client:
        greeted(client)
        visitor.post(f"/runs/{run}/delete", confirm="yes")
        assert client.closed() == (CLOSE_NOT_FOUND, "The run was deleted.")


def test_run_pauses_when_a_condition_is_met(visitor: Visitor) -> None:
    run = visitor.new_run()
    with visitor.socket(run) as client, visitor.socket(run) as other:
        greeted(client)
        greeted(other)
        client.run("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
        assert "isr orders-0 shrinks" in visitor.get(f"/api/runs/{run}/main/pauses.json").json
        refused = client.ask({"k": "time", "op": "pause_when", "condition": "isr orders-0 explodes"})
        assert refused["k"] == "no" and "isr [T-P] shrinks" in refused["expected"]
        assert client.ask({"k": "time", "op": "pause_when", "condition": "leader orders-0  elected"})["k"] == "done"
        other.until(lambda frame: frame.get("pause_when") == "leader orders-0 elected")
        client.ask({"k": "time", "op": "rate", "value": 20})
        client.ask({"k": "time", "op": "play"})
        client.ask({"k": "do", "line": "broker kill 1"})
        client.until(lambda frame: frame["k"] == "clock" and frame["mode"] == "pause")
        assert [event[4][0] for event in client.events()].count("LeaderElected") == 2
        paused = other.until(lambda frame: frame["k"] == "clock" and frame["mode"] == "pause")
        assert paused["pause_when"] == ""
        # It pauses once: playing continues.
        assert client.ask({"k": "time", "op": "play"})["k"] == "done"
        client.ask({"k": "time", "op": "pause_when", "condition": "records lost"})
        assert client.ask({"k": "time", "op": "pause_when", "condition": ""})["k"] == "done"
        other.until(lambda frame: frame["k"] == "clock" and frame["pause_when"] == "")


# Exercises


def exercise_frame(client: LabSocketClient) -> dict[str, Any]:
    return client.until(lambda frame: frame["k"] == "exercise")


def test_exercise_is_started_followed_left_and_resumed(visitor: Visitor) -> None:
    run = visitor.new_run()
    slug = "001-high-watermark-two-fetches"
    hint = [exercises()[slug].hints[0].en]
    with visitor.socket(run) as client:
        greeted(client)
        refused = client.ask({"k": "exercise", "op": "hint", "exercise": slug})
        assert refused["k"] == "no" and refused["what"] == str(text("refusal.no_exercise_started.what"))
        assert client.ask({"k": "exercise", "op": "start", "exercise": "nosuch"})["k"] == "no"
        answer = client.ask({"k": "exercise", "op": "start", "exercise": slug})
        assert answer["k"] == "done", answer
        begun = [frame for frame in client.frames if frame["k"] == "exercise"][-1]
        assert begun["slug"] == slug and begun["steps"][0]["state"] == "active" and begun["hints"] == []
        stands = {"k": "clock", "mode": "pause", "rate": 0.0025}
        if not any(stands.items() <= frame.items() for frame in client.frames):
            client.until(lambda frame: stands.items() <= frame.items())
        client.ask({"k": "exercise", "op": "hint", "exercise": slug})
        hinted = [frame for frame in client.frames if frame["k"] == "exercise"][-1]
        assert hinted["hints"] == hint
        early = client.ask({"k": "exercise", "op": "predict", "exercise": slug, "step": "x", "choice": "43"})
        assert early["k"] == "no" and early["todo"]
    with visitor.socket(run) as client:
        assert exercise_frame(client)["hints"] == hint
    visitor.server.forget_labs()
    with visitor.socket(run) as client:
        assert client.of_kind("welcome")["core"] == "recorded"
        again = exercise_frame(client)
        assert (again["slug"], again["hints"]) == (slug, hint)
        # The speed of the lesson is also back.
        client.ask({"k": "time", "op": "step_rpc"})
        client.until(lambda frame: frame["k"] == "clock" and frame["rate"] == 0.0025)
        client.ask({"k": "exercise", "op": "reset", "exercise": slug})
        reset = [frame for frame in client.frames if frame["k"] == "exercise"][-1]
        assert reset["hints"] == []
        client.ask({"k": "exercise", "op": "leave", "exercise": slug})
        assert [frame for frame in client.frames if frame["k"] == "exercise"][-1]["slug"] == ""
    with visitor.socket(run) as client:
        greeted(client)
        client.ask({"k": "time", "op": "now"})
        assert not [frame for frame in client.frames if frame["k"] == "exercise"]


def test_two_tabs_of_a_learner_show_the_same_lesson(visitor: Visitor) -> None:
    run, slug = visitor.new_run(), "001-high-watermark-two-fetches"
    with visitor.socket(run) as first, visitor.socket(run) as second:
        greeted(first)
        greeted(second)
        assert first.ask({"k": "exercise", "op": "start", "exercise": slug})["k"] == "done"
        assert second.until(lambda frame: frame["k"] == "exercise")["slug"] == slug
        second.ask({"k": "exercise", "op": "hint", "exercise": slug})
        first.until(lambda frame: frame["k"] == "exercise" and len(frame["hints"]) == 1)
        first.ask({"k": "exercise", "op": "leave", "exercise": slug})
        second.until(lambda frame: frame["k"] == "exercise" and not frame["slug"])
        assert second.ask({"k": "exercise", "op": "hint", "exercise": slug})["k"] == "no"


def test_prediction_is_shown_in_both_tabs_and_the_lesson_continues_when_one_is_closed(
    visitor: Visitor,
) -> None:
    run, slug = visitor.new_run(), "001-high-watermark-two-fetches"

    def active(step: str) -> Callable[[dict[str, Any]], bool]:
        return lambda frame: (
            frame["k"] == "exercise"
            and any(one["state"] == "active" and one.get("id") == step for one in frame.get("steps", []))
        )

    def seen(client: LabSocketClient, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """A frame that has come or will come."""
        return next(filter(wanted, client.frames), None) or client.until(wanted)

    with visitor.socket(run) as second:
        greeted(second)
        with visitor.socket(run) as first:
            greeted(first)
            assert first.ask({"k": "exercise", "op": "start", "exercise": slug})["k"] == "done"
            first.ask({"k": "exercise", "op": "skip", "exercise": slug, "step": "produce"})
            # Each tab continues where the other one has come to.
            seen(second, active("followers-have-it"))
            second.ask({"k": "exercise", "op": "skip", "exercise": slug, "step": "followers-have-it"})
            asked = seen(first, active("predict"))
            choices = [one["value"] for one in asked["steps"][2]["choices"]]
            given = {"k": "exercise", "op": "predict", "exercise": slug, "step": "predict", "confidence": 0.7}
            assert first.ask({**given, "choice": choices[0]})["k"] == "done"
            refused = second.ask({**given, "choice": choices[1]})
            assert refused["k"] == "no" and refused["what"] == str(text("refusal.prediction_locked.what"))
            shown = seen(second, lambda frame: frame["k"] == "exercise" and bool(frame["steps"][2].get("given")))
            assert shown["steps"][2]["given"]["choice"] == choices[0]
        assert second.ask({"k": "exercise", "op": "skip", "exercise": slug, "step": "predict"})["k"] == "done"
        seen(second, active("leader-moves"))


def test_deleting_learning_data_ends_the_lesson_in_progress(visitor: Visitor) -> None:
    run, slug = visitor.new_run(), "001-high-watermark-two-fetches"
    with visitor.socket(run) as client:
        greeted(client)
        assert client.ask({"k": "exercise", "op": "start", "exercise": slug})["k"] == "done"
        assert visitor.post("/learning/delete", confirm="yes").status == 200
        ended = client.until(lambda frame: frame["k"] == "exercise" and not frame["slug"])
        assert ended["ended"] == "deleted"
        answer = client.ask({"k": "exercise", "op": "hint", "exercise": slug})
        assert answer["k"] == "no" and answer["what"] == str(text("refusal.no_exercise_started.what"))
        # What happens in the run from now on is no longer recorded as learning.
        client.ask({"k": "do", "line": "producer open p1 --acks all"})
        client.ask({"k": "do", "line": "producer send p1 orders-0 greeting:hello"})
        for _ in range(20):
            client.ask({"k": "time", "op": "step_rpc"})
    assert visitor.get("/learning/export.csv").text.count("\n") <= 1
    with visitor.socket(run) as client:
        greeted(client)
        client.ask({"k": "time", "op": "now"})
        assert not [frame for frame in client.frames if frame["k"] == "exercise"]


def test_exercise_about_another_era_starts_its_own_run(visitor: Visitor) -> None:
    slug = "006-the-lost-record"
    with visitor.socket(visitor.new_run()) as client:
        refused = client.ask({"k": "exercise", "op": "start", "exercise": slug})
        assert refused["k"] == "no" and refused["what"] == "This run is of Kafka 3.9, the lesson of Kafka 0.10."
    answer = visitor.post(f"/course/{slug}/start")
    assert answer.status == 200 and answer.url.endswith("/main?p=ledger-0")
    assert 'data-era="0.10"' in answer.text
    run = answer.url.split("/r/")[1].split("/")[0]
    with visitor.socket(run) as client:
        begun = exercise_frame(client)
        assert begun["slug"] == slug and begun["steps"][0]["state"] == "active"
    assert visitor.post("/course/nosuch/start").status == 404


def test_run_whose_exercise_cannot_start_is_removed(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = "006-the-lost-record"
    name = exercises()[slug].title.en
    before = visitor.get("/runs/").text.count(name)
    damaged = msgspec.structs.replace(exercises()[slug], setup=["kafka-topics.sh --create --topic t --partitions 0"])
    monkeypatch.setitem(exercises(), slug, damaged)
    assert "The setup stopped at" in visitor.post(f"/course/{slug}/start").text
    assert visitor.get("/runs/").text.count(name) == before


def test_exercise_sentences_come_in_the_pages_language(visitor: Visitor) -> None:
    run = visitor.new_run()
    visitor.get("/runs/?language=zh-CN")
    with visitor.socket(run) as client:
        greeted(client)
        client.ask({"k": "exercise", "op": "start", "exercise": "001-high-watermark-two-fetches"})
        frame = [frame for frame in client.frames if frame["k"] == "exercise"][-1]
        why_not = next(step["why_not"] for step in frame["steps"] if step["state"] == "active")
        assert any("\u4e00" <= letter <= "\u9fff" for letter in why_not)


def test_exercise_in_an_unsuitable_lab_reports_what_is_missing(visitor: Visitor) -> None:
    slug = "001-high-watermark-two-fetches"
    with visitor.socket(visitor.new_run()) as client:
        client.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 1")
        refused = client.ask({"k": "exercise", "op": "start", "exercise": slug})
        assert refused["k"] == "no"
        assert refused["what"].startswith("This lab does not meet the lesson's requirements: The ISR of orders-0 is {")
        assert "expected 3 replicas" in refused["what"]
        assert "new run" in refused["todo"]


def test_exercise_in_an_unsuitable_lab_is_refused_in_the_pages_language(visitor: Visitor) -> None:
    run = visitor.new_run()
    visitor.get("/runs/?language=zh-CN")
    with visitor.socket(run) as client:
        client.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 1")
        refused = client.ask({"k": "exercise", "op": "start", "exercise": "001-high-watermark-two-fetches"})
        assert refused["what"].endswith("应有 3 个副本。")


def test_page_whose_frames_cannot_be_sent_is_closed_and_reconnects(
    visitor: Visitor, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with visitor.socket(run) as client:
        greeted(client)

        async def broken(watcher: Watcher) -> bytes:
            raise RuntimeError("planted")

        monkeypatch.setattr(Watcher, "next_frame", broken)
        with pytest.raises(ConnectionClosed) as closed:
            client.ask({"k": "time", "op": "now"})
            client.of_kind("no frame of this kind")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == CLOSE_FAILED
    monkeypatch.undo()
    with visitor.socket(run) as client:
        assert greeted(client)["seq"] > 0
