"""Detection of stuck learners, with the reason: table 4.7 on scripted learners (acceptance statement 18)."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from lab.classroom.acts import At, facts, ops
from lab.classroom.stuck import StuckWatch
from tests.support.classroom.memory_class import ADA, BOB, TEACHER, US, MemoryClass

MINUTE = 60
#: eight minutes for four steps: two minutes a step are expected
EXPECTED = 2 * MINUTE


class Scripted:
    """A class whose learners are looked at once a second."""

    def __init__(self, learners: int = 7) -> None:
        self.room = MemoryClass(learners, steps=4, minutes=8, hints=(2, 0, 0, 0))
        self.watch = StuckWatch()
        self.began: list[tuple[float, str, str, str, int]] = []

    @property
    def now_s(self) -> float:
        return self.room.now_us / US

    def run(self, seconds: int, *, busy: tuple[str, ...] = ()) -> None:
        """Time passes; `busy` do something each second."""
        for _ in range(seconds):
            self.room.after(1)
            for p in busy:
                self.watch.touch(p)
            for noted in list(self.watch.look(self.room.state, self.room.now_us)):
                self.room.fact(noted)
                self.began.append((self.now_s, noted.p, noted.state, noted.why, noted.count))

    def of(self, p: str) -> list[tuple[float, str, str, int]]:
        return [(at, state, why, count) for at, q, state, why, count in self.began if q == p]

    def refuse(self, p: str, count: int) -> None:
        for _ in range(count):
            self.room.fact(facts.RefuseCommand(p, f"run-{p}/main"))
            self.watch.touch(p)

    def reach(self, p: str, step: int) -> None:
        self.room.fact(facts.ReachStep(p, "a-lesson", step, f"run-{p}/main", 1, 1))
        self.watch.touch(p)


@pytest.fixture
def class_() -> Scripted:
    return Scripted()


def test_raised_hand_needs_help_at_once(class_: Scripted) -> None:
    class_.run(5)
    class_.room.do(ADA, ops.RaiseHand(At(f"run-{ADA}/main")))
    class_.run(2)
    assert class_.of(ADA) == [(6, "asks", "hand", 0)]
    class_.room.do(TEACHER, ops.LowerHand(ADA))
    class_.run(2)
    assert class_.of(ADA)[-1][1] == ""


@pytest.mark.parametrize(
    ("trouble", "why", "count"),
    [
        (lambda c: c.refuse(ADA, 3), "refused", 3),
        (lambda c: c.room.fact(facts.TakeHint(ADA, "a-lesson", 1, 2)), "hints", 2),
        (lambda c: [c.room.fact(facts.ResetWork(ADA, "a-lesson")) for _ in range(2)], "resets", 2),
    ],
    ids=["three refused commands", "all hints", "two resets"],
)
def test_trouble_past_the_expected_time_counts_as_struggling(
    class_: Scripted, trouble: Callable[[Scripted], object], why: str, count: int
) -> None:
    class_.run(10, busy=(ADA,))
    trouble(class_)
    class_.run(int(1.5 * EXPECTED) + 5, busy=(ADA,))
    (began,) = class_.of(ADA)
    assert began[1:] == ("struggles", why, count)
    assert 0 < began[0] - 1.5 * EXPECTED <= 5


def test_loses_a_step_that_was_reached(class_: Scripted) -> None:
    class_.reach(ADA, 1)
    class_.run(10, busy=(ADA,))
    class_.room.fact(facts.LoseStep(ADA, "a-lesson", 1, f"run-{ADA}/main", 5, 5))
    class_.run(int(1.5 * EXPECTED) + 5, busy=(ADA,))
    assert [one[1:] for one in class_.of(ADA)] == [("struggles", "lost", 1)]


def test_two_refused_commands_do_not_count_as_struggling(class_: Scripted) -> None:
    class_.refuse(ADA, 2)
    class_.run(2 * EXPECTED, busy=(ADA,))
    assert class_.of(ADA) == []


def test_idle_past_the_expected_time_with_the_page_visible(class_: Scripted) -> None:
    class_.run(60, busy=(ADA, BOB))
    class_.run(EXPECTED + 65, busy=(BOB,))
    (began,) = class_.of(ADA)
    assert began[1:] == ("idle", "nothing", 0)
    assert -1 <= began[0] - (60 + 120) <= 5
    assert class_.of(BOB) == []


def test_late_past_three_times_the_expected_time(class_: Scripted) -> None:
    class_.run(3 * EXPECTED + 5, busy=(ADA,))
    (began,) = class_.of(ADA)
    assert began[1:] == ("late", "long", 0)
    assert 0 < began[0] - 3 * EXPECTED <= 5


def test_state_ends_with_progress(class_: Scripted) -> None:
    class_.run(3 * EXPECTED + 5, busy=(ADA,))
    class_.reach(ADA, 1)
    class_.run(2, busy=(ADA,))
    assert class_.of(ADA)[-1][1] == ""


def test_state_is_kept_for_30_seconds_after_its_condition(class_: Scripted) -> None:
    class_.run(EXPECTED + 65)
    assert class_.of(ADA)[-1][1] == "idle"
    at = class_.now_s
    class_.run(40, busy=(ADA,))
    ended = class_.of(ADA)[-1]
    assert ended[1] == ""
    assert 28 <= ended[0] - at <= 32


@pytest.mark.parametrize("why", ["paused", "held", "follows", "poll", "hidden", "away", "catching up"])
def test_time_without_own_work_is_not_counted(class_: Scripted, why: str) -> None:
    room_ = class_.room
    match why:
        case "paused":
            room_.do(TEACHER, ops.PauseAll())
        case "held" | "follows":
            room_.do(TEACHER, ops.TakeLead("lead/main"))
            if why == "held":
                room_.do(ADA, ops.Detach())
                room_.do(TEACHER, ops.Hold(300))
        case "poll":
            room_.do(TEACHER, ops.MakePoll("number", "?", "en"), texts=(1,))
            room_.do(TEACHER, ops.OpenPoll(1))
        case "hidden":
            class_.watch.set_hidden(ADA, True)
        case "catching up":
            class_.watch.set_catching_up(ADA, True)
        case "away":
            room_.fact(facts.GoAway(ADA, 0))
    class_.run(290)
    assert class_.watch.worked_us(ADA) <= 2 * US
    assert class_.of(ADA) == []


def test_learner_who_catches_up_is_not_stuck_but_may_ask(class_: Scripted) -> None:
    class_.run(3 * EXPECTED + 5, busy=(ADA,))
    assert class_.of(ADA)[-1][1] == "late"
    class_.watch.set_catching_up(ADA, True)
    class_.run(1)
    assert class_.of(ADA)[-1][1] == ""
    class_.room.do(ADA, ops.RaiseHand(At(f"run-{ADA}/main")))
    class_.run(1)
    assert class_.of(ADA)[-1][1] == "asks"
    class_.room.do(TEACHER, ops.LowerHand(ADA))
    class_.watch.set_catching_up(ADA, False)
    class_.run(2)
    assert class_.of(ADA)[-1][1] == "late", "the time before counts"


def test_expected_time_is_the_median_once_five_have_done_the_step(class_: Scripted) -> None:
    assert class_.watch.expected_us(class_.room.state, 1) == EXPECTED * US
    for number, p in enumerate([BOB, "p7", "p8", "p9", "p10"]):
        class_.run(100 if number == 0 else 50, busy=(ADA, BOB, "p7", "p8", "p9", "p10", "p11"))
        class_.reach(p, 1)
    class_.run(1)
    assert class_.watch.expected_us(class_.room.state, 1) / US == pytest.approx(200, abs=2)


def test_time_in_which_the_server_did_not_run_is_no_working_time(class_: Scripted) -> None:
    class_.run(30)
    class_.room.after(3600)
    class_.room.fact(facts.Resume(3_600_000, 1))
    class_.watch, class_.began = StuckWatch(), []
    class_.run(30, busy=(ADA, BOB))
    assert class_.began == []
    assert class_.watch.worked_us(ADA) / US == pytest.approx(60, abs=2)


def test_learner_who_has_done_all_steps_is_not_stuck_after_a_restart(class_: Scripted) -> None:
    for step in range(1, 5):
        class_.reach(ADA, step)
    class_.run(30)
    class_.watch, class_.began = StuckWatch(), []
    class_.run(4 * EXPECTED, busy=(BOB,))
    class_.watch = StuckWatch()
    class_.run(2, busy=(BOB,))
    assert class_.of(ADA) == []


def test_expected_time_is_at_least_a_minute() -> None:
    room_ = MemoryClass(steps=10, minutes=1)
    assert StuckWatch().expected_us(room_.state, 1) == 60 * US


class Story(NamedTuple):
    """What a learner does: at which second what; whether they do something each second; what the wall says, and when
    its condition holds.
    """

    acts: dict[int, Callable[[Scripted, str], object]]
    is_busy: bool = True
    says: tuple[str, str, int] | None = None
    due_s: float = 0.0


STORIES: dict[str, Story] = {
    "hand up": Story(
        {30: lambda c, p: c.room.do(p, ops.RaiseHand(At(f"run-{p}/main")))}, says=("asks", "hand", 0), due_s=30
    ),
    "three commands fail": Story(
        {10: lambda c, p: c.refuse(p, 3)}, says=("struggles", "refused", 3), due_s=1.5 * EXPECTED
    ),
    "all hints": Story(
        {10: lambda c, p: c.room.fact(facts.TakeHint(p, "a-lesson", 1, 2))},
        says=("struggles", "hints", 2),
        due_s=1.5 * EXPECTED,
    ),
    "two resets": Story(
        {second: lambda c, p: c.room.fact(facts.ResetWork(p, "a-lesson")) for second in (10, 20)},
        says=("struggles", "resets", 2),
        due_s=1.5 * EXPECTED,
    ),
    "a step is lost": Story(
        {
            5: lambda c, p: c.reach(p, 1),
            10: lambda c, p: c.room.fact(facts.LoseStep(p, "a-lesson", 1, f"run-{p}/main", 5, 5)),
        },
        says=("struggles", "lost", 1),
        due_s=10 + 1.5 * EXPECTED,
    ),
    "nothing is done": Story(
        {second: lambda c, p: c.watch.touch(p) for second in range(1, 61)},
        is_busy=False,
        says=("idle", "nothing", 0),
        due_s=60 + 2 * MINUTE,
    ),
    "long at a step": Story({}, says=("late", "long", 0), due_s=3 * EXPECTED),
    "two commands fail, then the step is done": Story(
        {10: lambda c, p: c.refuse(p, 2), 200: lambda c, p: c.reach(p, 1)}
    ),
    "three commands fail, then the step is done": Story(
        {10: lambda c, p: c.refuse(p, 3), 150: lambda c, p: c.reach(p, 1)}
    ),
    "page hidden": Story({5: lambda c, p: c.watch.set_hidden(p, True)}, is_busy=False),
    "away": Story({5: lambda c, p: c.room.fact(facts.GoAway(p, 0))}, is_busy=False),
    "follows": Story({}, is_busy=False),
}


def test_twelve_learners_are_in_the_states_of_the_table_with_their_reasons() -> None:
    """Acceptance statement 18: at once in one class, each state within five seconds of its condition, and no other."""
    class_ = Scripted(len(STORIES))
    learners = [person.p for person in class_.room.state.learners()]
    people = dict(zip(learners, STORIES.items(), strict=True))
    class_.room.do(TEACHER, ops.TakeLead("lead/main"))
    for p, (name, _) in people.items():
        if name != "follows":
            class_.room.do(p, ops.Detach())
    busy = tuple(p for p, (_, story) in people.items() if story.is_busy)
    for second in range(1, 3 * EXPECTED + 6):
        for p, (_, story) in people.items():
            if second in story.acts:
                story.acts[second](class_, p)
        class_.run(1, busy=busy)
    for p, (name, story) in people.items():
        began = class_.of(p)
        assert [one[1:] for one in began] == ([story.says] if story.says else []), name
        assert not began or -1 <= began[0][0] - story.due_s <= 5, (name, began)
