"""The heap of things to do: order, cancelling, and that what was cancelled does not stay."""

import random

from broker_core.sim.scheduler import Scheduler


def drained(scheduler: Scheduler) -> list[tuple[int, int]]:
    items = []
    while (item := scheduler.pop()) is not None:
        items.append((item[0], item[1]))
    return items


def test_tasks_run_by_due_time_then_in_insertion_order() -> None:
    scheduler = Scheduler()
    first, second, third = (scheduler.at(due_us, "b1", None) for due_us in (20, 10, 10))
    assert scheduler.next_due_us() == 10
    assert drained(scheduler) == [(10, second), (10, third), (20, first)]
    assert scheduler.now_us == 20


def test_overdue_tasks_run_at_once() -> None:
    scheduler = Scheduler()
    scheduler.advance_to(50)
    late = scheduler.at(10, "b1", None)
    assert drained(scheduler) == [(50, late)]


def test_tasks_that_the_clock_has_passed_are_late_and_keep_their_order() -> None:
    scheduler = Scheduler()
    second, first, third = (scheduler.at(due_us, "b1", None) for due_us in (20, 10, 200))
    scheduler.advance_to(100)
    last = scheduler.at(150, "b1", None)
    times = []
    while (item := scheduler.pop()) is not None:
        times.append((item[1], scheduler.now_us))
    assert times == [(first, 100), (second, 100), (last, 150), (third, 200)]


def test_cancelled_tasks_do_not_run_and_others_keep_their_order() -> None:
    scheduler = Scheduler()
    draws = random.Random(7)
    waiting: dict[int, int] = {}
    for _ in range(5_000):
        due_us = draws.randrange(1_000)
        waiting[scheduler.at(due_us, "b1", None)] = due_us
        if len(waiting) > 20:
            cancelled = draws.choice(list(waiting))
            del waiting[cancelled]
            scheduler.cancel(cancelled)
    assert len(scheduler) == len(waiting)
    assert drained(scheduler) == sorted((due_us, timer_id) for timer_id, due_us in waiting.items())
    assert scheduler.next_due_us() is None


def test_cancelled_deadlines_use_no_memory() -> None:
    scheduler = Scheduler()
    for now_us in range(10_000):
        scheduler.advance_to(now_us)
        scheduler.cancel(scheduler.at(now_us + 30_000_000, "b1", None))
    assert len(scheduler._heap) < 200
