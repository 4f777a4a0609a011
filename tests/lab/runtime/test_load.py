"""What a server that is behind leaves out, step by step, and in which order labs wake."""

import asyncio
from itertools import pairwise

from lab.classroom.buckets import US
from lab.runtime.pacer import Pacer
from lab.runtime.sharing.load import STEPS, Load
from lab.runtime.sharing.wakes import WakeQueue


def after(load: Load, seconds: float, late_s: float, from_s: float) -> float:
    """Measures ten times a second; returns when that ends."""
    for tenth in range(int(seconds * 10)):
        load.measured(late_s, from_s + tenth / 10)
    return from_s + seconds


def test_steps_are_added_while_the_loop_is_late_and_removed_afterwards() -> None:
    load, reports = Load(), list[int]()
    forget = load.on_change(reports.append)
    now_s = after(load, 2.9, 0.06, 0.0)
    assert load.step == 0
    now_s = after(load, 0.3, 0.01, now_s)
    now_s = after(load, 2.9, 0.06, now_s)
    assert load.step == 0, "it was late for less than 3 s at a time"
    now_s = after(load, 30, 0.2, now_s)
    assert load.step == len(STEPS)
    assert not load.accepts_observers
    now_s = after(load, 29, 0.0, now_s)
    assert load.step == len(STEPS)
    now_s = after(load, 32, 0.0, now_s)
    assert load.step == len(STEPS) - 2
    forget()
    after(load, 300, 0.0, now_s)
    assert load.step == 0
    assert reports == [*range(len(STEPS) + 1), len(STEPS) - 1, len(STEPS) - 2]


def test_each_step_reduces_one_more_kind_of_work() -> None:
    load, seen = Load(), []
    for step in range(len(STEPS) + 1):
        load.step = step
        seen.append((load.tiles_s, load.pointer_hz, load.beat_s, load.sleeps_at_once, load.max_rate,
                     load.wakes_at_once, load.accepts_observers))  # fmt: skip
    assert [sum(a != b for a, b in zip(one, other, strict=True)) for one, other in pairwise(seen)] == [1] * len(STEPS)


def test_rate_of_a_lab_is_limited_and_kept() -> None:
    pacer = Pacer(lambda: 0.0)
    pacer.set_rate(20.0)
    pacer.max_rate = 1.0
    assert (pacer.played_rate, pacer.rate) == (1.0, 20.0)
    pacer.max_rate = float("inf")
    assert pacer.played_rate == 20.0


def test_labs_wake_two_at_a_time_in_their_order() -> None:
    async def run() -> tuple[list[int], int]:
        queue, order, awake, most = WakeQueue(lambda: 2), list[int](), 0, 0

        async def wake(number: int) -> None:
            nonlocal awake, most
            async with queue.turn():
                awake += 1
                most = max(most, awake)
                order.append(number)
                await asyncio.sleep(0)
                awake -= 1

        waking = [asyncio.create_task(wake(number)) for number in range(9)]
        await asyncio.sleep(0)
        waking[4].cancel()
        waking[2].cancel()
        await asyncio.gather(*waking, return_exceptions=True)
        async with asyncio.timeout(US):
            async with queue.turn():
                return order, most

    order, most = asyncio.run(run())
    assert order == [0, 1, 3, 5, 6, 7, 8]
    assert most == 2


def test_waiting_lab_reports_how_many_wake_first() -> None:
    async def run() -> dict[str, list[int | None]]:
        queue, reports = WakeQueue(lambda: 2), {name: list[int | None]() for name in "abcde"}
        ready = {name: asyncio.Event() for name in reports}

        async def wake(name: str) -> None:
            async with queue.turn(reports[name].append):
                await ready[name].wait()

        waking = {name: asyncio.create_task(wake(name)) for name in reports}
        await asyncio.sleep(0)
        waking["c"].cancel()
        await asyncio.sleep(0)
        for name in "abde":
            ready[name].set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await asyncio.gather(*waking.values(), return_exceptions=True)
        return reports

    reports = asyncio.run(run())
    assert reports["a"] == reports["b"] == [0, None], "both wake at once"
    assert reports["c"] == [2, None], "cancelled while it waited"
    assert reports["d"] == [3, 2, 0, None]
    assert reports["e"][:2] == [4, 3] and reports["e"][-2:] == [0, None]
