"""`kill -9` of a lab at any instant of a lesson: whatever it has confirmed is there when it runs again."""

import random
import signal
import threading
import urllib.error
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import websockets.exceptions
from django.test import override_settings

from lab.learning import history_of
from lab.learning.log import close_all
from lab.web.act_limit import ALONE
from tests.support.lab_server import LabSocketClient, Visitor
from tests.support.processes.lab_process import LabProcess, lab

SLUG = "001-high-watermark-two-fetches"
KILLS = 50
LIFE_S = 4.0
"""The longest time from a lab's printed address to its kill: waking the run, the set-up, and some answers."""
FIRST_USER = 1
LOGGED = {"start": "LessonStarted", "hint": "HintShown", "predict": "PredictionGiven"}
"""The learning event of each act."""
BROKEN = (websockets.exceptions.WebSocketException, urllib.error.URLError, OSError)
"""What a browser meets when the lab is killed."""


class Learner:
    """Goes through a lesson again and again, and reloads the page when the lab is back. `confirmed`: what the lab has
    answered since the attempt began; `asked`: what it may have done without an answer.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.confirmed: list[dict[str, Any]] = []
        self.asked = ""
        self.written: Counter[str] = Counter()

    def learn(self, client: LabSocketClient) -> None:
        """Checks what is left of the attempt, and goes on until the lab is killed: with as many acts as a page may do
        at once.
        """
        frame = client.of_kind("exercise") if self.confirmed else None
        if frame is not None:
            self._check(frame)
        for _ in range(ALONE.at_once):
            act = self._next(frame)
            self.asked = act["op"]
            answer = client.ask({"k": "exercise", "exercise": SLUG, **act})
            assert answer["k"] == "done", (act, answer)
            self._confirm(act)
            frame = next(one for one in reversed(client.frames) if one["k"] == "exercise")
        client.until(lambda _: False)

    def _next(self, frame: dict[str, Any] | None) -> dict[str, Any]:
        if frame is None or frame["finished"]:
            return {"op": "start"}
        step = next(step for step in frame["steps"] if step["state"] == "active")
        if len(frame["hints"]) < frame["hints_in_all"] and self._draw.random() < 0.6:
            return {"op": "hint", "step": step["id"]}
        if step["kind"] == "prediction" and step["given"] is None:
            choice = self._draw.choice(step["choices"])["value"]
            return {"op": "predict", "step": step["id"], "choice": choice, "confidence": 0.7}
        return {"op": "skip", "step": step["id"]}

    def _confirm(self, act: dict[str, Any]) -> None:
        if act["op"] == "start":
            self.confirmed = []
        self.confirmed.append(act)
        self.written[
            {"start": "LessonStarted", "hint": "HintShown", "predict": "PredictionGiven"}.get(act["op"], "")
        ] += 1
        self.asked = ""

    def _check(self, frame: dict[str, Any]) -> None:
        steps = {step["id"]: step for step in frame["steps"] if "id" in step}
        lost = [act for act in self.confirmed if not _is_kept(act, steps, len(frame["hints"]), self.confirmed)]
        if lost and self.asked == "start":
            # The new attempt was stored, and the answer to it was lost.
            assert frame["steps"][0]["state"] == "active" and not frame["hints"]
            self.confirmed = [{"op": "start"}]
            lost = []
        assert lost == []


def _is_kept(
    act: dict[str, Any], steps: dict[str, dict[str, Any]], hints: int, confirmed: list[dict[str, Any]]
) -> bool:
    if act["op"] == "start":
        return True
    step = steps.get(act["step"])
    if step is None:
        return False
    if act["op"] == "skip":
        return bool(step["skipped"])
    if act["op"] == "predict":
        return step["given"] is not None and step["given"]["choice"] == act["choice"]
    # The hints of a step that is done are not shown any more.
    return step["state"] == "done" or hints >= confirmed.count(act)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_lesson_keeps_what_was_confirmed_through_kills_at_any_instant(
    tmp_path: Path, rounds: Callable[[int], int]
) -> None:
    learner, draw = Learner(15), random.Random(50)
    visitor: Visitor | None = None
    run = ""
    for _ in range(rounds(KILLS)):
        with lab(tmp_path) as running:
            address = running.wait_until_ready()
            if visitor is None:
                visitor = running.visitor(address)
                run = visitor.new_run()
            visitor.server = running  # type: ignore[assignment]
            _learn_until_killed(running, learner, visitor, run, draw.uniform(0, LIFE_S))
    with lab(tmp_path) as running:
        address = running.wait_until_ready()
        assert visitor is not None
        visitor.server = running  # type: ignore[assignment]
        _learn_until_killed(running, learner, visitor, run, 2 * LIFE_S)
    assert learner.written.total() > rounds(KILLS), "the kills came before there was anything to lose"
    with override_settings(DATA=tmp_path):
        stored = Counter(type(one.event).__name__ for one in history_of(FIRST_USER))
        close_all()
    for kind, count in learner.written.items():
        assert not kind or count <= stored[kind] <= count + rounds(KILLS) + 1, kind


def _learn_until_killed(running: LabProcess, learner: Learner, visitor: Visitor, run: str, seconds: float) -> None:
    kill = threading.Timer(seconds, running.process.send_signal, [signal.SIGKILL])
    kill.start()
    try:
        with visitor.socket(run) as client:
            learner.learn(client)
    except BROKEN:
        assert running.process.wait() == -signal.SIGKILL, "it ran until it was killed"
    finally:
        kill.cancel()
