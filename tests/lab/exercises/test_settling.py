"""Questions that a run settles: the first condition, the reading at an instant, the prediction of a lesson."""

import msgspec
import pytest

from broker_core.run import Run
from lab.exercises.happenings import EventHappens, Passed
from lab.exercises.lesson import Choice, Prediction
from lab.exercises.loader import exercises
from lab.exercises.settling import Question, Reading, Settled
from lab.runtime.headless.rehearsal import rehearsal_run

LESSON = exercises()["001-high-watermark-two-fetches"]
STEP = LESSON.step("predict")


@pytest.fixture
def run() -> Run:
    made = rehearsal_run(1)
    for line in ("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3", "producer open p1 --acks all"):
        made.submit(line)
        made.advance(made.now_us + 3_000_000)
    made.take()
    return made


def outcome(run: Run, question: Question, *lines: str, seconds: int = 60) -> str | None:
    """The answer after the lines, None while the question is open. Nothing is decided in mid-instant."""
    assert question.unreadable is None
    reading = Reading(question, run.view, run.now_us, run.seq)
    for line in lines:
        run.submit(line)
    run.advance(run.now_us + seconds * 1_000_000)
    for envelope, _, _ in run.take():
        reading.take(envelope)
    reading.end()
    return reading.settled.outcome if reading.settled else None


def test_first_condition_to_come_true_is_the_answer(run: Run) -> None:
    race = Question(holds=("isr orders-0 shrinks", "leader orders-0 elected", ""), within_s=90)
    assert outcome(run, race, "broker kill 1") == "1"
    assert outcome(run, race, seconds=60) is None, "open until the limit"
    assert outcome(run, race, seconds=120) == "2", "what is true if nothing else came"


def test_choices_are_compared_at_the_instant_that_decides(run: Run) -> None:
    holds = ("leader(orders-0) == 3", "leader(orders-0) == 2", "leader(orders-0) < 0")
    assert outcome(run, Question("leader orders-0 elected", holds=holds), "broker kill 1") == "1"
    assert outcome(run, Question("log_end_offset(orders-0@b2) >= 1", holds=("leader(orders-0) == 9",)), "broker kill 3",
                   "producer send p1 orders-0 a:1") == ""  # fmt: skip


def test_number_is_read_at_the_instant_or_the_limit(run: Run) -> None:
    sent = "producer send p1 orders-0 a:1 b:2"
    leader = "log_end_offset(orders-0@leader)"
    assert outcome(run, Question(asks=leader, when=f"{leader} >= 2"), sent) == "2"
    assert outcome(run, Question(asks=leader, within_s=3), sent) == "4"


def test_time_runs_from_the_event_that_a_prediction_names(run: Run) -> None:
    prediction = msgspec.structs.replace(
        exercises()["031-two-who-lead"].step("predict"),
        prediction=Prediction(
            asks="confirmed_in_all()",
            after=Passed(ms=3000),
            since=EventHappens(kind="ProduceStarted", where={"client": "p1"}),
            choices=[Choice(value="none", offset=0), Choice(value="one", offset=1)],
        ),
    )
    assert outcome(run, Question(step=prediction), seconds=10) is None, "nothing has been sent"
    assert outcome(run, Question(step=prediction), "producer send p1 orders-0 a:1") == "1"


def test_prediction_ends_without_an_answer_if_the_event_that_it_names_is_missing(run: Run) -> None:
    reading = Reading(Question(step=exercises()["031-two-who-lead"].step("predict")), run.view, run.now_us, run.seq)
    begun_us = run.now_us

    def after(seconds: int) -> Settled | None:
        run.advance(begun_us + seconds * 1_000_000)
        for envelope, _, _ in run.take():
            reading.take(envelope)
        reading.end()
        return reading.settled

    assert after(29) is None
    settled = after(40)
    assert settled is not None
    assert (settled.outcome, settled.why_not) == ("", "since")


def test_prediction_of_a_lesson_comes_out_as_in_the_lesson(run: Run) -> None:
    assert STEP.prediction is not None
    choices = [choice.value for choice in STEP.prediction.choices]
    run.submit("producer send p1 orders-0 a:1")
    reading = None
    for _ in range(4000):
        run.step_event()
        ends = {name: one["log_end_offset"] for name, one in run.view["replicas"].items()}
        if set(ends.values()) == {1} and run.view["replicas"]["orders-0@b1"]["high_watermark"] == 0:
            run.take()
            reading = Reading(Question(step=STEP), run.view, run.now_us, run.seq)
            break
    assert reading is not None
    while reading.settled is None:
        run.step_event()
        for envelope, _, _ in run.take():
            reading.take(envelope)
        reading.end()
    assert choices[int(reading.settled.outcome)] == "HW"
    assert run.view["replicas"]["orders-0@b1"]["high_watermark"] == 0


def test_reading_takes_each_event_once(run: Run) -> None:
    question = Question(holds=("leader orders-0 elected",))
    reading = Reading(question, run.view, run.now_us, run.seq)
    before = msgspec.json.encode(run.view)
    run.submit("broker kill 1")
    run.advance(run.now_us + 30_000_000)
    made = [envelope for envelope, _, _ in run.take()]
    assert reading.settled is None
    for envelope in [*made[:5], *made[:5], *made[50:60], *made]:
        reading.take(envelope)
    assert reading.settled is not None
    assert type(made[reading.settled.seq - made[0][0]][4]).__name__ == "LeaderElected"
    assert msgspec.json.encode(run.view) != before, "the run went on"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (Question("when the moon is full", holds=("leader(orders-0) == 1",)), "when the moon is full"),
        (Question("leader elected", holds=("leader orders-0 elected",)), "leader orders-0 elected"),
        (Question(holds=("isr shrinks", "requests(p1) >= 2", "")), "requests(p1) >= 2"),
        (Question(asks="no_such(orders-0)", within_s=3), "no_such(orders-0)"),
        (Question(asks="elapsed_ms()", within_s=3), "elapsed_ms()"),
    ],
)
def test_unanswerable_quantity_is_reported(question: Question, text: str) -> None:
    assert question.unreadable == text
