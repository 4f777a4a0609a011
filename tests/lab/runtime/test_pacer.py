"""Simulated time against a wall clock that the test moves."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from lab.runtime.pacer import (
    BUDGET_S,
    CATCH_UP_S,
    CHUNK_EVENTS,
    MAX_EMPTY_S,
    MAX_GAP_S,
    MAX_LATE_S,
    MAX_SLICE_S,
    MIN_FLIGHT_S,
    Pacer,
)
from tests.support.recorded_runs import Wall


class Messages:
    """A core in which messages fly, (sent_us, due_us), and timers wait. Each takes `cost_s` of the wall."""

    def __init__(
        self, wall: Wall, flights: Sequence[tuple[int, int]], timers: Sequence[int] = (), cost_s: float = 0.0
    ) -> None:
        self._wall = wall
        self._cost_s = cost_s
        self.now_us = 0
        self._flights = {f"r{n}": flight for n, flight in enumerate(flights)}
        self._due = sorted([due for _, due in flights] + [sent for sent, _ in flights] + list(timers))
        self.happened: list[tuple[float, int]] = []

    @property
    def next_due_us(self) -> int | None:
        return self._due[0] if self._due else None

    @property
    def view(self) -> Mapping[str, Any]:
        in_flight = {
            name: {"sent_us": sent, "due_us": due, "held": ""}
            for name, (sent, due) in self._flights.items()
            if sent <= self.now_us and due in self._due
        }
        return {"rpcs": in_flight}

    def advance(self, until_us: int, *, max_events: int | None = None) -> int:
        made = 0
        while self._due and self._due[0] <= until_us:
            self.now_us = max(self.now_us, self._due.pop(0))
            self._wall.now_s += self._cost_s
            self.happened.append((self._wall.now_s, self.now_us))
            made += 1
            if made == max_events:
                return made
        self.now_us = until_us
        return made


def drive(pacer: Pacer, core: Messages, wall: Wall, seconds: float, tick_s: float = 0.033) -> None:
    end_s = wall.now_s + seconds
    while wall.now_s < end_s:
        wall.now_s += tick_s
        pacer.run_slice(core)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.mark.parametrize("rate", [0.001, 0.0025, 0.333, 1.0, 7.5, 100.0])
def test_time_passes_at_the_rate(wall: Wall, rate: float) -> None:
    pacer, core = Pacer(wall), Messages(wall, [], timers=list(range(0, 10**9, 10**6)))
    pacer.set_rate(rate)
    pacer.set_mode("play")
    drive(pacer, core, wall, 3.0)
    assert core.now_us == pytest.approx(3.0e6 * rate, rel=0.02)


def test_time_does_not_pass_while_paused(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [], timers=[10])
    drive(pacer, core, wall, 5.0)
    assert core.now_us == 0 and pacer.horizon_us(core) == 0
    pacer.set_mode("play")
    drive(pacer, core, wall, 0.1)
    assert core.now_us < 200_000


def test_suspended_laptop_does_not_fast_forward(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [])
    pacer.set_mode("play")
    wall.now_s += 3_600
    pacer.run_slice(core)
    assert core.now_us <= MAX_GAP_S * 1e6


def test_short_stall_is_caught_up_in_small_steps(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [])
    pacer.set_mode("play")
    wall.now_s += 0.24
    steps_us = []
    for _ in range(5):
        before_us = core.now_us
        pacer.run_slice(core)
        steps_us.append(core.now_us - before_us)
        wall.now_s += 0.033
    assert max(steps_us) <= CATCH_UP_S * 1e6
    assert core.now_us == pytest.approx((0.24 + 4 * 0.033) * 1e6, abs=2)


def test_slow_engine_falls_behind_and_slices_stay_within_the_budget(wall: Wall) -> None:
    pacer = Pacer(wall)
    core = Messages(wall, [], timers=list(range(0, 10**7, 10)), cost_s=0.000_02)
    pacer.set_rate(100)
    pacer.set_mode("play")
    for _ in range(20):
        wall.now_s += 0.033
        before_s = wall.now_s
        pacer.run_slice(core)
        assert wall.now_s - before_s < 2 * BUDGET_S
    assert 0 < core.now_us < 20 * 0.033 * 100 * 1e6


def test_page_may_extrapolate_to_the_next_due_event(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [], timers=[5_000, 10_000_000])
    pacer.set_mode("play")
    assert pacer.horizon_us(core) == 5_000
    core.advance(6_000)
    assert pacer.horizon_us(core) == 1_006_000


def shown_s(core: Messages, flight: tuple[int, int]) -> float:
    """How long a message was on screen."""
    sent, due = (next(at_s for at_s, at_us in core.happened if at_us == instant) for instant in flight)
    return due - sent


def test_event_paced_shows_each_message_for_at_least_700_ms(wall: Wall) -> None:
    flights = [(1_000, 1_500), (1_200, 3_200), (50_000, 50_010), (50_005, 51_000)]
    pacer, core = Pacer(wall), Messages(wall, flights)
    pacer.set_mode("event_paced")
    drive(pacer, core, wall, 600.0, tick_s=0.01)
    assert core.next_due_us is None
    for flight in flights:
        assert shown_s(core, flight) >= MIN_FLIGHT_S - 0.02


def test_event_paced_shortens_idle_time(wall: Wall) -> None:
    flights = [(0, 500), (5_000_000, 5_000_500), (3_600_000_000, 3_600_000_500)]
    pacer, core = Pacer(wall), Messages(wall, flights)
    pacer.set_mode("event_paced")
    drive(pacer, core, wall, 10.0, tick_s=0.01)
    assert core.next_due_us is None
    at = {at_us: at_s for at_s, at_us in core.happened}
    for (_, due), (sent, _) in itertools.pairwise(flights):
        assert at[sent] - at[due] <= MAX_EMPTY_S + 0.03


def test_event_paced_does_not_lengthen_short_idle_time(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [], timers=[100_000, 200_000])
    pacer.set_mode("event_paced")
    drive(pacer, core, wall, 0.3)
    assert core.next_due_us is None


def test_event_paced_passes_messages_that_take_no_time(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [(1_000, 1_000), (1_000, 1_000)])
    pacer.set_mode("event_paced")
    drive(pacer, core, wall, 2.0)
    assert core.next_due_us is None


def follow(pacer: Pacer, core: Messages, wall: Wall, seconds: float) -> None:
    """Runs slices as the lab does: one after the other while the cluster is behind."""
    end_s = wall.now_s + seconds
    while wall.now_s < end_s:
        began_s = wall.now_s
        pacer.run_slice(core)
        assert wall.now_s - began_s < 2 * BUDGET_S
        wall.now_s += pacer.pause_before_next_slice_s(began_s) or 1e-4


def test_cluster_in_real_time_catches_up_after_a_suspension(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=range(0, 40_000_000, 5_000), cost_s=5e-5)
    pacer.set_mode("play")
    pacer.run_slice(core)
    began_s = wall.now_s
    wall.now_s += 30
    pacer.run_slice(core)
    assert 25 < pacer.behind_s < 30
    follow(pacer, core, wall, 3.0)
    assert pacer.behind_s == 0
    assert core.now_us == pytest.approx((wall.now_s - began_s) * 1e6, abs=50_000)


def test_overloaded_cluster_catches_up_after_the_load(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=range(0, 2_000_000, 33), cost_s=5e-5)
    pacer.set_mode("play")
    began_s = wall.now_s
    follow(pacer, core, wall, 2.0)
    assert 0.5 < pacer.behind_s < 1
    assert pacer.pause_before_next_slice_s(wall.now_s) == 0
    follow(pacer, core, wall, 2.0)
    assert pacer.behind_s == 0
    assert core.now_us == pytest.approx((wall.now_s - began_s) * 1e6, abs=50_000)


def test_input_of_an_overloaded_cluster_has_wall_time(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=range(0, 2_000_000, 33), cost_s=5e-5)
    pacer.set_mode("play")
    began_s = wall.now_s
    follow(pacer, core, wall, 0.5)
    assert pacer.behind_s > 0.1
    assert pacer.arrival_us(core) == pytest.approx((wall.now_s - began_s) * 1e6, abs=1)


def test_cluster_is_behind_as_long_as_work_is_late(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=range(0, 2_000_000, 33), cost_s=5e-5)
    pacer.set_mode("play")
    follow(pacer, core, wall, 0.5)
    core.now_us = pacer.arrival_us(core)
    pacer.run_slice(core)
    assert pacer.behind_s > 0.1
    assert pacer.pause_before_next_slice_s(wall.now_s) == 0


def test_input_after_a_suspension_makes_no_work_very_late(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=range(0, 40_000_000, 5_000), cost_s=5e-5)
    pacer.set_mode("play")
    pacer.run_slice(core)
    wall.now_s += 30
    pacer.run_slice(core)
    assert core.now_us < 25_000_000
    assert core.next_due_us is not None
    assert pacer.arrival_us(core) == core.next_due_us + MAX_LATE_S * 1e6


def test_input_does_not_advance_a_run_with_a_page(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [], timers=range(0, 2_000_000, 33), cost_s=5e-5)
    pacer.set_mode("play")
    drive(pacer, core, wall, 0.5)
    wall.now_s += 0.2
    assert pacer.arrival_us(core) == core.now_us


def test_reached_rate_is_lower_than_the_chosen_one_on_a_slow_machine(wall: Wall) -> None:
    pacer, core = Pacer(wall), Messages(wall, [], timers=range(0, 5_000_000, 25), cost_s=5e-5)
    pacer.set_mode("play")
    assert pacer.reached_rate is None
    drive(pacer, core, wall, 5.0)
    assert pacer.reached_rate is not None and 0.05 < pacer.reached_rate < 0.6
    pacer.set_mode("pause")
    assert pacer.reached_rate is None


@pytest.mark.parametrize("at_us", [800_000, 1_200_000])
def test_booted_cluster_is_set_to_wall_time(wall: Wall, at_us: int) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [])
    core.advance(1_000_000)
    pacer.set_mode("play")
    pacer.follow_from(at_us)
    follow(pacer, core, wall, 1.0)
    assert core.now_us == pytest.approx(at_us + 1_000_000, abs=50_000)


class Recovering:
    """An engine that works for 20 ms each 10 ms of its time, and emits no event of it."""

    next_due_us = None
    view: ClassVar[Mapping[str, Any]] = {"rpcs": {}}

    def __init__(self, wall: Wall) -> None:
        self.now_us = 0
        self._wall = wall

    def advance(self, until_us: int, *, max_events: int | None = None) -> int:
        while self.now_us // 10_000 < until_us // 10_000:
            self.now_us = (self.now_us // 10_000 + 1) * 10_000
            self._wall.now_s += 0.02
        self.now_us = until_us
        return 0


def test_slice_ends_when_its_budget_is_spent_by_work_without_events(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Recovering(wall)
    pacer.set_mode("play")
    pacer.run_slice(core)
    wall.now_s += 10
    for _ in range(20):
        began_s = wall.now_s
        pacer.run_slice(core)
        assert wall.now_s - began_s < 0.05
    assert pacer.behind_s > 9


def test_slice_gets_its_budget_of_work_when_the_processor_is_shared(wall: Wall) -> None:
    pacer = Pacer(wall, work_clock=lambda: wall.now_s / 3, follows_wall=True)
    core = Messages(wall, [], timers=range(0, 10**7, 1_000), cost_s=3e-4)
    pacer.set_mode("play")
    pacer.run_slice(core)
    wall.now_s += 5
    before_us = core.now_us
    pacer.run_slice(core)
    events = (core.now_us - before_us) / 1_000
    assert 0.9 * BUDGET_S / 1e-4 <= events <= 2 * BUDGET_S / 1e-4


def test_slice_ends_by_wall_time_when_it_waits_without_the_processor(wall: Wall) -> None:
    pacer, core = Pacer(wall, work_clock=Wall(), follows_wall=True), Recovering(wall)
    pacer.set_mode("play")
    pacer.run_slice(core)
    wall.now_s += 10
    began_s = wall.now_s
    pacer.run_slice(core)
    assert MAX_SLICE_S <= wall.now_s - began_s < MAX_SLICE_S + 0.05


def test_work_of_one_instant_is_run_in_slices(wall: Wall) -> None:
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=[0] * 1_000, cost_s=1e-3)
    pacer.set_mode("play")
    began_s = wall.now_s
    pacer.run_slice(core)
    pacer.finish_instant(core)
    assert wall.now_s - began_s < 0.1 and core.happened
    # at once, and not after the pause that is made before timers
    assert pacer.pause_before_due_s(core) == 0
    for _ in range(1_000 // CHUNK_EVENTS + 1):
        wall.now_s += 0.001
        began_s = wall.now_s
        pacer.run_slice(core)
        assert wall.now_s - began_s < 0.1
    assert len(core.happened) == 1_000


def test_turn_of_a_client_has_the_budget_of_one_slice(wall: Wall) -> None:
    """It runs what is due, takes what has arrived, and runs what that sets off. The answer waits for its end."""
    pacer, core = Pacer(wall, follows_wall=True), Messages(wall, [], timers=range(0, 10**6, 500), cost_s=1e-3)
    pacer.set_mode("play")
    pacer.run_slice(core)
    wall.now_s += 1
    for _ in range(20):
        began_s, before = wall.now_s, len(core.happened)
        pacer.run_slice(core)
        core._due[:0] = [core.now_us] * 50
        pacer.finish_instant(core)
        assert wall.now_s - began_s <= BUDGET_S + CHUNK_EVENTS * 1e-3
        assert len(core.happened) > before
