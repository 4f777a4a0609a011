"""The log of learning events: what is acknowledged stays, whatever happens to the process or to the clock."""

import os
import random
import signal
import threading
from io import StringIO
from itertools import count
from typing import NoReturn

import msgspec
import pytest
from django.test import override_settings

from lab.learning import append, history_of, summary_of
from lab.learning.events import (
    KINDS,
    HintShown,
    LessonFinished,
    LessonStarted,
    PredictionGiven,
    PredictionSettled,
    ReviewAnswered,
    StepChecked,
    TransferAnswered,
    encode,
)
from lab.learning.log import close_all, delete_history, learner_id
from lab.management.commands.dump_log import run as dump

USER = 7
HOUR_MS = 3_600_000
NOON_MS = 1_780_000_000_000


@pytest.fixture(autouse=True)
def data(tmp_path):
    """A data folder of the test's own."""
    with override_settings(DATA=tmp_path):
        yield tmp_path
        close_all()


def started(**more) -> LessonStarted:
    return LessonStarted(lesson="011-acks", run="r1", branch="main", seq=4, at_us=9, era="3.9", **more)


def test_events_are_read_back_in_order_with_seq_and_time() -> None:
    assert append(USER, started(), NOON_MS) == 1
    assert append(USER, StepChecked(lesson="011-acks", step="three", seconds=12.5, attempt=2), NOON_MS + 5) == 2
    found = history_of(USER)
    assert [(one.seq, one.at_ms, type(one.event).__name__) for one in found] == [
        (1, NOON_MS, "LessonStarted"),
        (2, NOON_MS + 5, "StepChecked"),
    ]
    assert found[0].event == started()


def test_log_survives_a_clean_restart_and_an_unclean_one() -> None:
    append(USER, started(), NOON_MS)
    close_all()
    append(USER, HintShown(lesson="011-acks", step="three", hint=1), NOON_MS)
    from lab.learning import log

    log._learners.clear()  # as a process that ends without closing anything
    assert [one.seq for one in history_of(USER)] == [1, 2]
    assert summary_of(USER).lessons["011-acks"].hints == 1


def test_learner_is_named_by_an_opaque_id_of_this_installation(data) -> None:
    append(USER, started())
    folder = data / "learning" / learner_id(USER)
    assert (folder / "learning-0" / "00000000000000000000.log").is_file()
    assert str(USER) not in learner_id(USER).strip("0123456789abcdef")
    assert learner_id(USER) != learner_id(USER + 1)


def test_kafkas_dump_tool_reads_the_log(data) -> None:
    append(USER, started(), NOON_MS)
    close_all()
    path = data / "learning" / learner_id(USER) / "learning-0" / "00000000000000000000.log"
    out = StringIO()
    assert dump(["--files", str(path), "--print-data-log"], out, out) == 0
    assert '"k":"LessonStarted"' in out.getvalue()


def test_record_of_another_version_is_skipped_with_a_note() -> None:
    append(USER, started(), NOON_MS)
    from lab.learning import log

    journal = log._learner(USER).journal
    journal.append(encode(started()).replace(b'"LessonStarted"', b'"LessonDreamt"'), NOON_MS)
    journal.append(msgspec.json.encode({"k": "LessonStarted", "v": 9, "lesson": "011-acks"}), NOON_MS)
    journal.append(b"\xff not JSON", NOON_MS)
    log._learners.clear()
    append(USER, started(), NOON_MS)
    assert [one.seq for one in history_of(USER)] == [1, 5]
    summary = summary_of(USER)
    assert [one.seq for one in summary.skipped] == [2, 3, 4]
    assert "version 9" in summary.skipped[1].why
    assert summary.lessons["011-acks"].attempts == 2


@pytest.mark.parametrize("p", [-0.1, 0.0, 0.3, 0.42, 1.0, 1.5, float("nan")])
def test_invalid_probability_is_refused(p) -> None:
    with pytest.raises(ValueError, match="stops"):
        append(USER, PredictionGiven(lesson="011-acks", step="how-many", choice="0", choices=4, p=p))
    assert history_of(USER) == []


def test_transfer_question_may_be_answered_without_confidence() -> None:
    append(USER, TransferAnswered(lesson="011-acks", choice="a", choices=3, right=True))
    with pytest.raises(ValueError, match="stops"):
        append(USER, TransferAnswered(lesson="011-acks", choice="a", choices=3, right=True, p=0.4))
    assert [point.count for point in summary_of(USER).calibration] == [0] * 5
    assert summary_of(USER).lessons["011-acks"].transfer_right is True


def test_decreasing_clock_does_not_move_cards_or_summary_back() -> None:
    lesson = "011-acks"
    append(USER, LessonFinished(lesson=lesson), NOON_MS)
    day = 24 * HOUR_MS
    answer = ReviewAnswered(
        lesson=lesson, count=0, question_seed=1, choice="a", choices=4, p=0.7, outcome="a", right=True, brier=0.12,
        rating=3, ms=900,
    )  # fmt: skip
    append(USER, answer, NOON_MS + 3 * day)
    due_ms = summary_of(USER, NOON_MS + 3 * day).next_due_at_ms
    append(USER, HintShown(lesson=lesson, step="x", hint=1), NOON_MS - 400 * day)
    summary = summary_of(USER, NOON_MS - 400 * day)
    assert summary.next_due_at_ms == due_ms
    assert summary.at_ms == NOON_MS + 3 * day
    assert summary.lessons[lesson].retrievability == 1.0


def test_deletion_removes_the_log_and_the_next_event_begins_another(data) -> None:
    append(USER, started())
    append(USER + 1, started())
    delete_history(USER)
    assert not (data / "learning" / learner_id(USER)).exists()
    assert summary_of(USER).events == 0
    assert append(USER, started()) == 1
    assert len(history_of(USER + 1)) == 1


def test_threads_append_without_losing_or_repeating_a_seq() -> None:
    seqs: list[int] = []

    def work() -> None:
        seqs.extend(append(USER, HintShown(lesson="011-acks", step="x", hint=1)) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seqs) == list(range(1, 201))
    assert [one.seq for one in history_of(USER)] == sorted(seqs)


def test_every_kind_of_event_has_a_word_for_the_export() -> None:
    assert {name for name, kind in KINDS.items() if not kind.kind} == set()


def test_nothing_acknowledged_is_lost_by_a_kill_at_any_instant(data) -> None:
    # One process after the other is killed over the same log, at drawn instants, and leaves half a batch behind: each
    # start recovers what the last one wrote.
    draw = random.Random(50)
    acknowledged: dict[int, str] = {}
    for _ in range(50):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            write_until_killed(writing)
        os.close(writing)
        with os.fdopen(reading) as answers:
            for _ in range(draw.randint(1, 40)):
                note(acknowledged, answers.readline())
            os.kill(child, signal.SIGKILL)
            for line in answers:
                note(acknowledged, line)
        os.waitpid(child, 0)
        tear(data, draw)
    stored = {one.seq: one.event.step for one in history_of(USER) if isinstance(one.event, PredictionSettled)}
    assert len(acknowledged) > 500
    assert {seq: stored.get(seq) for seq in acknowledged} == acknowledged
    assert sorted(stored) == list(range(1, max(stored) + 1))


def write_until_killed(answers: int) -> NoReturn:
    """A process that appends, and acknowledges each event when it is written."""
    try:
        for number in count(1):
            step = f"s{number}"
            event = PredictionSettled(
                lesson="011-acks", step=step, choice="a", choices=4, p=0.7, outcome="a", right=True, brier=0.12
            )
            os.write(answers, f"{append(USER, event)} {step}\n".encode())
    finally:
        os._exit(1)


def note(acknowledged: dict[int, str], line: str) -> None:
    if line.endswith("\n"):
        seq, step = line.split()
        acknowledged[int(seq)] = step


def tear(data, draw: random.Random) -> None:
    """Half a batch at the end, as a write leaves it that the kill has interrupted."""
    path = data / "learning" / learner_id(USER) / "learning-0" / "00000000000000000000.log"
    content = path.read_bytes()
    with path.open("ab") as file:
        file.write(content[: draw.randint(1, 80)])
