"""How a learner's way through an exercise is checked."""

import json

import pytest

from lab.exercises.loader import exercises
from lab.exercises.moment import Moment
from lab.exercises.observer import Shown
from lab.exercises.session import ExerciseSession
from lab.exercises.setup import run_setup
from lab.protocol.frames import ExerciseFrame
from lab.runtime.headless.rehearsal import rehearsal_run
from lab.texts.refusal import Refusal
from tests.support.learner import POWER, SLUG, Learner


@pytest.fixture
def requested() -> Learner:
    """The prediction is asked."""
    learner = Learner()
    learner.send()
    learner.step_until("predict", "active")
    return learner


def test_first_step_waits_for_the_leader_to_hold_a_record_that_is_not_committed() -> None:
    learner = Learner()
    assert learner.states["produce"] == "active"
    leader = learner.run.view["partitions"]["orders-0"]["leader"]
    assert (
        learner.why_not()
        == f"The leader, broker {leader}, has 0 offsets of orders-0 above its high watermark; expected 1."
    )
    assert "高水位之上有 0 个位移" in learner.why_not("zh-CN")
    learner.send()
    learner.step_until("produce")
    assert "waits at" in learner.of("produce")["checked"]["detail"]


def test_steps_that_require_a_pause_are_not_checked_while_playing() -> None:
    learner = Learner()
    learner.send()
    learner.paused = False
    learner.step()
    assert learner.why_not() == "The simulation is running. Pause it."


def test_outcomes_are_hidden_from_the_question_to_the_answer(requested) -> None:
    assert requested.session.is_masked
    assert requested.of("predict")["said"] == {"HW": "0", "HW + 1": "1", "HW + 2": "2"}
    requested.predict("HW + 1")
    assert not requested.session.is_masked
    assert requested.of("predict")["given"] == {"choice": "HW + 1", "confidence": 0.7, "outcome": None}
    assert requested.why_not() == "The predicted event has not happened yet. Step on."


def test_outcome_of_a_prediction_is_what_happened(requested) -> None:
    requested.predict("HW + 1")
    requested.step()
    assert requested.of("predict")["given"]["outcome"] == "HW"
    assert requested.of("predict")["checked"]["at_us"] == requested.run.now_us
    assert requested.states["leader-moves"] == "active"


def test_outcome_is_that_of_the_first_fetch_even_when_much_more_has_happened_since(requested) -> None:
    requested.predict("HW")
    arrives_us = min(rpc["due_us"] for rpc in requested.run.view["rpcs"].values() if rpc["api"] == "Fetch")
    requested.run.advance(requested.run.now_us + 1_000_000)
    requested.look()
    assert requested.of("predict")["given"]["outcome"] == "HW"
    assert requested.of("predict")["checked"]["at_us"] == arrives_us


def test_missed_prediction_can_be_repeated(requested) -> None:
    requested.step()
    assert list(requested.states.values()) == ["done", "active", "open", "open", "open"]
    assert not requested.session.is_masked
    assert requested.why_not()
    requested.run.advance(requested.run.now_us + 1_000_000)
    requested.run.submit("producer send p1 orders-0 k:v")
    requested.step_until("predict", "active")
    assert requested.of("predict")["said"] == {"HW": "1", "HW + 1": "2", "HW + 2": "3"}


def test_leaders_high_watermark_moves_before_the_followers_do(requested) -> None:
    requested.predict("HW")
    requested.step_until("leader-moves")
    moved_us = requested.of("leader-moves")["checked"]["at_us"]
    requested.paused = False
    while not requested.session.is_finished:
        requested.step()
    assert requested.of("followers-learn")["checked"]["at_us"] - moved_us >= 400_000


def test_exercise_works_on_a_partition_with_records() -> None:
    learner = Learner(
        "kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3",
        "producer open early",
        "producer send early orders-0 a:1 b:2 c:3",
    )
    learner.run.advance(learner.run.now_us + 2_000_000)
    learner.look()
    learner.send()
    learner.step_until("predict", "active")
    assert learner.of("predict")["said"] == {"HW": "3", "HW + 1": "4", "HW + 2": "5"}


def test_session_resumes_from_its_stored_state(requested) -> None:
    requested.predict("HW")
    stored = json.loads(json.dumps(requested.session.state))
    requested.session = ExerciseSession(requested.exercise, requested.moment, stored)
    requested.step()
    assert requested.of("predict")["given"]["outcome"] == "HW"


def test_state_stored_by_another_version_restarts_the_exercise(requested) -> None:
    requested.session = ExerciseSession(
        requested.exercise, requested.moment, {"steps": {"gone": {"phase": "active"}}, "hints_shown": 1}
    )
    assert requested.states["produce"] != "open"
    assert requested.session.frame("en")["hints"] == []


def test_frame_is_sent_only_when_it_changes() -> None:
    learner = Learner()
    assert not learner.look()
    learner.send()
    changes = [learner.run.step_rpc() and learner.look() for _ in range(30)]
    assert True in changes and False in changes


def test_hints_of_the_step_are_revealed_one_by_one(requested) -> None:
    lesson = requested.exercise
    active = next(step for step, phase in requested.session.phases.items() if phase == "active")
    helpful = lesson.hints_for(active)
    assert 0 < len(helpful) < len(lesson.hints)
    assert requested.session.frame("en")["hints_in_all"] == len(helpful)
    for shown in range(1, len(helpful) + 1):
        requested.handle("hint")
        assert requested.session.frame("en")["hints"] == [lesson.hints[place].en for place in helpful[:shown]]
    with pytest.raises(Refusal) as caught:
        requested.handle("hint")
    assert caught.value.id == "refusal.no_more_hints"


def test_reset_clears_all_progress(requested) -> None:
    requested.predict("HW")
    requested.step_until("leader-moves")
    requested.handle("hint")
    requested.run.advance(requested.run.now_us + 2_000_000)
    requested.look()
    requested.handle("reset")
    assert requested.states["produce"] == "active"
    assert requested.states["predict"] == "open"
    assert requested.session.frame("en")["hints"] == []


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"step": "predict", "choice": "42"}, "invalid_choice"),
        ({"step": "produce", "choice": "HW"}, "no_prediction_asked"),
        ({"step": "predict", "choice": "HW", "confidence": 7.0}, "invalid_confidence"),
    ],
)
def test_invalid_prediction_is_refused(requested, more, what) -> None:
    with pytest.raises(Refusal) as refused:
        requested.handle("predict", **more)
    assert refused.value.id == f"refusal.{what}"
    assert requested.of("predict")["given"] is None


def test_prediction_cannot_be_changed(requested) -> None:
    requested.predict("HW")
    with pytest.raises(Refusal) as caught:
        requested.predict("HW + 1")
    assert caught.value.id == "refusal.prediction_locked"


def test_failed_set_up_reports_its_reason() -> None:
    run = rehearsal_run(1, brokers=(1, 2))
    with pytest.raises(Refusal) as refused:
        run_setup(run, exercises()[SLUG].setup)
    assert "replication factor" in str(refused.value.what).lower()


def test_prediction_may_wait_for_a_power_loss_and_nothing_else_settles_it() -> None:
    exercise = exercises()[POWER]
    run = rehearsal_run(1)
    run_setup(run, exercise.setup)
    run.take()

    def moment() -> Moment:
        return Moment(run.view, run.now_us, False)

    session = ExerciseSession(exercise, moment())

    def do(*lines: str) -> None:
        run_setup(run, lines)
        session.on_events(moment(), [made[0] for made in run.take()])

    def predicted() -> dict:
        return next(step for step in session.frame("en")["steps"] if step["id"] == "predict")

    do("producer open p1 --acks all", "producer send p1 payments-0 a:1 b:2 c:3", "sleep 2s")
    do("broker kill 3")
    do("broker start 3", "sleep 2s")
    assert session.is_masked
    session.handle(ExerciseFrame(id="u1", op="predict", step="predict", choice="all", confidence=0.9), moment())
    assert predicted()["why_not"] == "The predicted event has not happened yet. Make it happen."
    do("broker powerloss 3")
    assert predicted()["given"]["outcome"] is None
    do("broker powerloss 1")
    assert predicted()["given"]["outcome"] == "nothing"
    assert predicted()["checked"]["detail"] == "end of the files of payments-0 on broker 1: 0"


@pytest.mark.parametrize(
    "state", [{}, {"steps": "none"}, {"steps": {"produce": {"phase": "unknown"}}}, {"steps": {"x": {}}}]
)
def test_unreadable_stored_state_restarts_the_exercise(state: dict[str, object]) -> None:
    learner = Learner()
    session = ExerciseSession(learner.exercise, learner.moment, state)
    assert list(session.phases.values()) == ["active", "open", "open", "open", "open"]


def test_frames_sent_to_pages_are_not_modified_later(requested: Learner) -> None:
    shown = Shown.of(requested.session)
    before = json.dumps(shown)
    requested.predict("HW + 1")
    requested.step()
    assert json.dumps(shown) == before
    assert json.dumps(Shown.of(requested.session)) != before
