"""What a lesson has beside goals and predictions: answers, wrong states, a freeze, a chain, a transfer, a resume."""

import json
from typing import cast

import pytest

from broker_core.events import Envelope
from broker_core.events.console import CommandReceived
from broker_core.events.rpc import RpcSent
from broker_core.run import Run
from lab.exercises.chain import MAX_LINES, chain_of
from lab.exercises.loader import exercises
from lab.exercises.moment import Moment
from lab.exercises.quantities.clients import elapsed_ms
from lab.exercises.session import ExerciseSession
from lab.exercises.solution import Rehearsal, lesson_run, sections_of
from lab.learning.events import (
    AnswerGiven,
    LessonFinished,
    LessonStarted,
    PredictionSettled,
    StepSkipped,
    TransferAnswered,
    WrongStateShown,
)
from lab.protocol.frames import ExerciseFrame
from lab.runtime.stops import StoppingCore
from lab.texts.refusal import Refusal

SEGMENTS = "017-segments-roll"


class Learner:
    """A learner who has completed the steps before one of them."""

    def __init__(self, until: str, slug: str = SEGMENTS, seed: int = 1) -> None:
        self.exercise = exercises()[slug]
        self.run = lesson_run(self.exercise, seed)
        self.rehearsal = Rehearsal(self.exercise, self.run)
        self.rehearsal.play(until=until)

    @property
    def session(self) -> ExerciseSession:
        return self.rehearsal.session

    def moment(self) -> Moment:
        return Moment(self.run.view, self.run.now_us, True)

    def handle(self, op, step: str = "", choice: str = "", confidence: float | None = None) -> None:
        frame = ExerciseFrame(id="u1", op=op, step=step, choice=choice, confidence=confidence)
        self.session.handle(frame, self.moment())

    def step(self, id: str) -> dict:
        return next(one for one in self.session.frame("en")["steps"] if one.get("id") == id)

    def do(self, *lines: str) -> None:
        for line in lines:
            self.rehearsal._do(next(s["id"] for s in self.session.frame("en")["steps"] if s["state"] == "active"), line)


def test_answer_may_be_repeated_until_it_is_right() -> None:
    learner = Learner("index-size")
    learner.handle("answer", "index-size", "7")
    wrong = learner.step("index-size")
    assert (wrong["state"], wrong["why_not"]) == ("active", "7 is not correct: look again.")
    assert wrong["reasons"] == {}
    learner.handle("answer", "index-size", " 10485760 ")
    right = learner.step("index-size")
    assert (right["state"], right["given"]["outcome"]) == ("done", "10485760")
    assert "segment.index.bytes" in right["reasons"][""]
    given = [event for event in learner.session.take_learning_events() if isinstance(event, AnswerGiven)]
    assert [(event.answer, event.right, event.attempt) for event in given] == [("7", False, 1), ("10485760", True, 2)]


def test_wrong_choice_is_named_in_the_learners_language() -> None:
    learner = Learner("price", slug="012-linger-and-batch")
    learner.handle("answer", "price", "about 3 ms")
    chinese = {step.get("id"): step for step in learner.session.frame("zh-CN")["steps"]}
    assert chinese["price"]["why_not"] == "约 3 毫秒 不对，请再看看。"
    assert learner.step("price")["why_not"] == "about 3 ms is not correct: look again."


@pytest.mark.parametrize("typed", ["2", "b2", "broker 2", "Broker 2 "])
def test_broker_may_be_answered_by_its_number_or_its_name(typed) -> None:
    learner = Learner("second-partition", slug="009-ask-with-kafkas-own-commands")
    right = learner.rehearsal.right_answer("second-partition")
    learner.handle("answer", "second-partition", typed.replace("2", right))
    assert learner.step("second-partition")["state"] == "done"


@pytest.mark.parametrize(
    ("slug", "step", "again"), [("011-acks", "three-of-them", "p1"), ("022-leo-and-hw", "ahead", "p2")]
)
def test_command_that_ran_twice_leads_to_the_advice_to_start_over(slug, step, again) -> None:
    learner = Learner(step, slug=slug)
    lines = next(one.lines for one in sections_of(learner.exercise) if one.step == step)
    learner.do(*(one for line in lines for one in [line] * (1 + line.startswith(f"producer send {again} "))))
    assert learner.step(step)["why_not"].endswith("If that is no longer possible, start over.")


def test_response_without_records_does_not_settle_what_a_consumer_will_read() -> None:
    learner = Learner("predict", slug="008-a-records-way")
    learner.handle("predict", "predict", "3", 0.9)
    learner.do("play 1s")
    assert learner.step("predict")["state"] == "active"
    learner.do("producer open p1 --acks all", "producer send p1 orders-0 hello:world", "step rpc until done")
    assert learner.step("predict")["given"]["outcome"] == "1"


def test_time_of_a_prediction_runs_from_the_event_that_it_names() -> None:
    learner = Learner("predict", slug="024-stuck-slow-or-gone")
    learner.handle("predict", "predict", "never", 0.9)
    learner.do("play 95s")
    assert learner.step("predict")["state"] == "active"
    learner.do("producer send p1 orders-0 b:2", "play")
    assert learner.step("predict")["given"]["outcome"] == "within 16 s"


def test_limit_of_a_prediction_counts_from_the_event_that_it_names() -> None:
    learner = Learner("predict", slug="031-two-who-lead")
    learner.handle("predict", "predict", "none", 0.9)
    learner.do("play 5s", "producer send p1 orders-0 lost:1", "play 5s")
    assert learner.step("predict")["state"] == "active"
    learner.do("producer send pa orders-0 safe:1", "play 4s")
    assert learner.step("predict")["given"]["outcome"] == "one"


def test_prediction_says_that_the_event_from_which_time_runs_is_missing() -> None:
    learner = Learner("predict", slug="013-too-large-for-whom")
    learner.handle("predict", "predict", "18", 0.9)
    learner.do("play 29s")
    assert learner.step("predict")["wrong"] == ""
    learner.do("play 2s")
    assert "Produce request (p1)" in learner.step("predict")["wrong"]
    assert elapsed_ms(learner.moment()._replace(tally=learner.session.tally)) == 0, "time does not run yet"
    learner.do("producer open p1 --acks all --linger 100", "producer burst p1 small-0 20", "play 4s")
    assert learner.step("predict")["given"]["outcome"] == "none"
    assert learner.step("predict")["wrong"] == ""


def test_event_that_came_before_locking_in_settles_the_prediction_at_once() -> None:
    learner = Learner("predict", slug="013-too-large-for-whom")
    learner.do("producer open p1 --acks all --linger 100", "producer burst p1 small-0 20", "play 4s")
    learner.handle("predict", "predict", "18", 0.9)
    learner.do("play 1s")
    assert learner.step("predict")["given"]["outcome"] == "none"


@pytest.mark.parametrize("typed", ["", "ten", "1e3", "9" * 60, "1.5"])
def test_what_is_not_a_whole_number_is_refused(typed) -> None:
    learner = Learner("index-size")
    with pytest.raises(Refusal, match="not a number"):
        learner.handle("answer", "index-size", typed)
    assert learner.step("index-size")["given"] is None


def test_answer_to_another_step_is_refused() -> None:
    learner = Learner("nearly-full")
    with pytest.raises(Refusal, match="No answer is asked"):
        learner.handle("answer", "index-size", "7")


def test_likely_wrong_state_has_its_own_sentence_and_is_recorded_once() -> None:
    learner = Learner("nearly-full")
    learner.do("producer send p1 parts-0 a:1 b:2 c:3 d:4 e:5", "play 3s")
    assert learner.step("nearly-full")["wrong"].startswith("The log has rolled already")
    learner.do("play 1s")
    seen = [event for event in learner.session.take_learning_events() if isinstance(event, WrongStateShown)]
    assert [event.wrong for event in seen] == ["rolled-already"]


def test_reasons_and_misconceptions_are_known_after_the_outcome_only() -> None:
    learner = Learner("predict")
    assert learner.step("predict")["reasons"] == {}
    learner.handle("predict", "predict", "its number", 0.9)
    assert learner.step("predict")["reasons"] == {}
    learner.do("producer send p1 parts-0 e:5", "play 2s")
    assert set(learner.step("predict")["reasons"]) == {"its number", "its first offset"}
    settled = [event for event in learner.session.take_learning_events() if isinstance(event, PredictionSettled)]
    assert [(event.right, event.misconception, event.p) for event in settled] == [(False, "numbered", 0.9)]


def test_run_pauses_at_the_deciding_event_and_not_after_it() -> None:
    learner = Learner("predict")
    learner.handle("predict", "predict", "its first offset", 0.9)
    learner.run.submit("producer send p1 parts-0 e:5")
    freeze = learner.session.freeze
    assert freeze is not None
    stopped: list[int] = []
    core = StoppingCore(
        cast(Run, learner.run), [lambda view, envelope: freeze.happens(view, envelope[4])], lambda: stopped.append(1)
    )
    core.advance(learner.run.now_us + 5_000_000)
    kinds = [type(made[0][4]).__name__ for made in learner.run.take()]
    assert stopped == [1]
    assert "SegmentRolled" in kinds
    assert "ProduceAcknowledged" not in kinds
    assert core.advance(learner.run.now_us + 5_000_000) == 0


def test_choices_of_a_prediction_that_is_open_do_not_pause_the_run() -> None:
    learner = Learner("predict")
    assert learner.session.is_masked
    assert learner.session.freeze is None


def test_freeze_is_shown_with_its_instant() -> None:
    learner = Learner("rolled")
    freeze = learner.step("predict")["freeze"]
    assert freeze["screen"] == "disk"
    rolled = next(envelope for envelope in learner.rehearsal.envelopes if type(envelope[4]).__name__ == "SegmentRolled")
    assert (freeze["seq"] - rolled[0], freeze["at_us"]) == (0, rolled[1])


@pytest.fixture
def finished() -> Learner:
    learner = Learner("")
    assert learner.session.is_finished
    return learner


def chain_in(learner: Learner) -> list[list[Envelope]]:
    by_seq = {envelope[0]: envelope for envelope in (*learner.rehearsal.before, *learner.rehearsal.envelopes)}
    debrief = learner.session.frame("en")["debrief"]
    parts = chain_of(
        lambda first, last: [by_seq[seq] for seq in range(first, last + 1) if seq in by_seq],
        debrief["chain"],
        debrief["via"],
    )
    return [part.events for part in parts]


def test_chain_through_a_held_message_leads_to_the_command_that_released_it() -> None:
    (chain,) = chain_in(Learner("shrunk", "022-leo-and-hw"))
    assert type(chain[0][4]).__name__ == "HighWatermarkAdvanced"
    assert isinstance(chain[-1][4], CommandReceived)
    assert chain[-1][4].line == "release fetch 3 1"


def test_chain_that_ends_at_a_periodic_check_continues_at_its_finding() -> None:
    parts = chain_in(Learner("", "023-in-sync-by-time-or-by-count"))
    assert [type(part[0][4]).__name__ for part in parts] == ["IsrShrunk", "BatchAppended"]
    (shrunk, appended) = (part[0] for part in parts)
    assert appended[0] < shrunk[0]
    assert isinstance(parts[1][-1][4], CommandReceived)
    assert parts[1][-1][4].line == "producer stream p1 spikes-0 30"


def test_chain_of_a_debrief_leads_from_the_event_to_the_command(finished) -> None:
    (chain,) = chain_in(finished)
    assert type(chain[0][4]).__name__ == "SegmentRolled"
    assert isinstance(chain[-1][4], CommandReceived)
    assert chain[-1][4].line == "producer send p1 parts-0 f:6"
    assert len(chain) <= MAX_LINES


def test_long_chain_is_shortened_in_the_middle_and_says_where() -> None:
    sent = RpcSent("r1", "Heartbeat", "request", "c1", "b1", due_us=0, correlation=1, label="", fields=())
    events: dict[int, Envelope] = {seq: (seq, seq, "c1", seq - 1, sent) for seq in range(2, 41)}
    events[1] = (1, 0, "shell", 0, CommandReceived(command=1, line="consumer start c1", source=""))
    (part,) = chain_of(lambda first, last: [events[seq] for seq in range(first, last + 1)], 40)
    assert [one[0] for one in part.events] == [40, 39, 38, 37, 36, 35, 6, 5, 4, 3, 2, 1]
    assert part.gap == 6


def test_transfer_is_answered_once_and_after_the_last_step(finished) -> None:
    with pytest.raises(Refusal, match="not asked now"):
        Learner("rolled").handle("transfer", choice="0")
    with pytest.raises(Refusal, match="choice"):
        finished.handle("transfer", choice="9")
    assert finished.session.frame("en")["debrief"]["transfer"]["right"] is None
    finished.handle("transfer", choice="1", confidence=0.7)
    assert finished.session.frame("en")["debrief"]["transfer"]["right"] == 0
    with pytest.raises(Refusal, match="not asked now"):
        finished.handle("transfer", choice="0")
    events = finished.session.take_learning_events()
    assert isinstance(events[0], LessonStarted)
    assert [event.right for event in events if isinstance(event, TransferAnswered)] == [False]
    assert [event.part for event in events if isinstance(event, LessonFinished)] == [1]


def test_invalid_confidence_is_refused() -> None:
    learner = Learner("predict")
    with pytest.raises(Refusal, match="confidence"):
        learner.handle("predict", "predict", "its number", 0.65)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_session_that_was_stored_anywhere_catches_up_from_the_recording(seed) -> None:
    """As after a kill: the stored state is older than the last event."""
    exercise = exercises()[SEGMENTS]
    run = lesson_run(exercise, seed)
    rehearsal = Rehearsal(exercise, run)
    stored = json.loads(json.dumps(rehearsal.session.state))
    section = next(iter(sections_of(exercise)))
    rehearsal.do(section)
    session = ExerciseSession(exercise, Moment(run.view, run.now_us, True), stored)
    session.on_events(Moment(run.view, run.now_us, True), rehearsal.envelopes)
    states = list(session.phases.values())
    assert states == list(rehearsal.session.phases.values())
    assert session.tally.counts == rehearsal.session.tally.counts


def test_state_of_another_version_starts_over_with_a_notice() -> None:
    learner = Learner("rolled")
    old = {"steps": {"gone": {"phase": "active"}}, "hints_shown": 1}
    session = ExerciseSession(learner.exercise, learner.moment(), old)
    assert session.frame("en")["restarted"]
    assert session.frame("en")["hints"] == []
    assert not learner.session.frame("en")["restarted"]


def test_events_of_the_set_up_are_not_counted() -> None:
    exercise = exercises()["012-linger-and-batch"]
    run = lesson_run(exercise, 1)
    for line in exercise.setup:
        run.submit(line)
        run.advance(run.now_us + 5_000_000)
    made = [one[0] for one in run.take()]
    session = ExerciseSession(exercise, Moment(run.view, run.now_us, True), seq=made[-1][0])
    session.on_events(Moment(run.view, run.now_us, True), made)
    assert session.tally.requests == {}
    assert session.tally.counts == {}


def test_prediction_whose_event_came_before_the_answer_is_settled_at_once() -> None:
    learner = Learner("predict", "009-ask-with-kafkas-own-commands")
    learner.do("kafka-topics.sh --create --topic test --partitions 3 --replication-factor 1", "play 2s")
    assert learner.step("predict")["state"] == "active"
    learner.handle("predict", "predict", "2", 0.7)
    assert learner.step("predict")["given"]["outcome"] == "1"


def test_transfer_with_an_invalid_confidence_is_refused_and_can_be_answered(finished) -> None:
    with pytest.raises(Refusal, match="confidence"):
        finished.handle("transfer", choice="0", confidence=0.42)
    finished.handle("transfer", choice="0", confidence=0.99)
    assert finished.session.frame("en")["debrief"]["transfer"]["choice"] == 0


def test_skipped_steps_are_done_and_count_as_no_answer() -> None:
    learner = Learner(exercises()[SEGMENTS].steps[0].id)
    for step in learner.exercise.steps:
        while learner.step(step.id)["state"] == "active":
            learner.handle("skip", step.id)
        shown = learner.step(step.id)
        assert (shown["state"], shown["skipped"]) == ("done", True)
    assert learner.session.is_finished
    events = learner.session.take_learning_events()
    skipped = [event.step for event in events if isinstance(event, StepSkipped)]
    assert skipped == [step.id for step in learner.exercise.steps]
    assert not any(isinstance(event, AnswerGiven | PredictionSettled) for event in events)
    assert isinstance(events[-1], LessonFinished)


def test_skipped_prediction_still_shows_its_outcome() -> None:
    learner = Learner("predict", slug="008-a-records-way")
    learner.handle("skip", "predict")
    assert not learner.session.is_masked
    learner.do("producer open p1 --acks all", "producer send p1 orders-0 hello:world", "step rpc until done")
    given = learner.step("predict")["given"]
    assert (given["choice"], given["outcome"]) == ("", "1")
    assert "One request to the leader" in learner.step("predict")["reasons"]["1"]


def test_skipped_question_shows_what_is_right() -> None:
    learner = Learner("index-size")
    learner.handle("skip", "index-size")
    shown = learner.step("index-size")
    assert (shown["state"], shown["given"]["choice"], shown["given"]["outcome"]) == ("done", "", "10485760")


def test_step_that_is_not_in_progress_cannot_be_skipped() -> None:
    learner = Learner("index-size")
    with pytest.raises(Refusal, match="not in progress"):
        learner.handle("skip", learner.exercise.steps[-1].id)


def test_class_that_is_held_at_a_step_opens_and_ticks_off_nothing_past_it() -> None:
    learner = Learner("index-size")
    place = [step.id for step in learner.exercise.steps].index("index-size") + 1
    learner.session.set_pace(place, learner.moment())
    assert not learner.session.waits
    learner.handle("answer", "index-size", "10485760")
    assert learner.session.waits
    frame = learner.session.frame("en")
    assert frame["waits"] is True
    assert frame["debrief"] is None
    assert frame["steps"][place:] == [{"state": "open"}] * (len(learner.exercise.steps) - place)
    with pytest.raises(Refusal, match="has not continued to"):
        learner.handle("hint")
    resumed = ExerciseSession(learner.exercise, learner.moment(), learner.session.state)
    assert resumed.waits, "also after a restart"
    resumed.set_pace(place + 1, learner.moment())
    assert not resumed.waits
    opened = resumed.frame("en")["steps"][place]
    assert opened["state"] == "active"
    assert opened["text"]


def test_goals_past_the_pace_are_not_ticked_off_and_are_when_it_is_raised() -> None:
    learner = Learner("index-size")
    learner.session.set_pace(1, learner.moment())
    assert learner.session.waits, "a step that was open stays, and waits"
    assert learner.step("index-size")["why_not"] == "the class has not reached this step"
    learner.session.set_pace(0, learner.moment())
    assert not learner.session.waits
