"""Owning time: pause, steps, speed, pace by events, dragging back, acting in the past, branches."""

from collections.abc import Callable

from devtools.tour.lab_page import LabPage
from devtools.tour.shown import Shown
from devtools.tour.tour import Tour, until

TITLE = "time"
HUNDRED = 100
TRIES = 16
PAUSES_MS = (100, 1_000, 5_000, 10_000)
"""Pauses between checks during a drag: a slow machine shows the instant under the pointer late."""


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: own time").with_orders()
    for count in (HUNDRED, 2 * HUNDRED):
        lab.produce_to("orders-0").get_by_role("button", name="Produce 100").click()
        lab.until(_holds(count), f"{count} records")
        if count == HUNDRED:
            lab.lets_pass(0.5)

    with tour.stop("pause"):
        before = lab.pause()
        assert before.is_paused, f"The page says {before.state}."

    with tour.stop("one event, one message, back and on again"):
        first = lab.step("event")
        second = lab.step("RPC")
        assert second.at_us >= first.at_us >= before.at_us, "The clock went back."
        lab.page.get_by_role("button", name="Back one event").click()
        lab.until(
            lambda seen: seen.event == second.event - 1 and seen.is_past, f"event {second.event - 1}, in the past"
        )
        lab.page.get_by_role("button", name="Step one event").click()
        lab.until(lambda seen: seen.event == second.event and not seen.is_past, f"event {second.event} again")

    with tour.stop("speed from a thousandth to a hundredfold"):
        for rate in (0.001, 100.0, 0.0025):
            lab.speed(rate)
        lab.play()
        slow = lab.shown.at_us
        lab.page.wait_for_timeout(500)
        passed = lab.until(lambda seen: seen.at_us > slow, "a clock that runs").at_us - slow
        assert passed < 500_000, f"At 1/400× {passed} µs passed in half a second."

    with tour.stop("pace by events: each message can be followed"):
        lab.page.get_by_role("button", name="By events").click()
        lab.until(
            lambda seen: seen.state.endswith("BY EVENTS") and seen.messages, "messages in flight, paced by events"
        )
        event = lab.shown.event
        lab.until(lambda seen: seen.event > event, "the next event")
        lab.pause()
        lab.speed(1)
    _past_and_branches(tour, lab)


def _past_and_branches(tour: Tour, lab: LabPage) -> None:
    last = lab.shown
    with tour.stop("drag back on the timeline, to when there were a hundred records"):
        _drag_back(lab)
        assert lab.shown.event < last.event, "The number of the event did not go down."
        tour.pictures("past", lab.page)

    with tour.stop("acting in the past asks first; the old future stays"):
        lab.produce("orders-0", "another future")
        dialog = lab.sees(lab.page.get_by_role("dialog"), "a question")
        assert "opens a new branch" in dialog.inner_text(), f"It asks: {dialog.inner_text()}"
        dialog.get_by_role("button", name="Cancel").click()
        assert lab.shown.is_past and lab.branch == "main", "Cancelling did something."
        lab.produce("orders-0", "another future")
        lab.page.get_by_role("dialog").get_by_role("button", name="Fork here").click()
        until(lab.page, lambda: lab.branch != "main", "the page of a new branch")
        lab.until(lambda seen: seen.event > 0, "the branch's state")
        fork = lab.branch
        lab.play()
        lab.until(_holds(HUNDRED + 1), f"{HUNDRED + 1} records on {fork}")

    with tour.stop("from one branch to the other"):
        _go_to(lab, "main")
        lab.until(
            lambda seen: _holds(2 * HUNDRED)(seen) and seen.event >= last.event,
            f"the {2 * HUNDRED} records that main had, at event {last.event} or later",
        )
        _go_to(lab, fork)
        lab.until(_holds(HUNDRED + 1), f"{HUNDRED + 1} records on {fork}")

    with tour.stop("a bookmark gives an instant a name"):
        lab.pause()
        lab.press("m")
        dialog = lab.sees(lab.page.get_by_role("dialog"), "a form")
        dialog.get_by_role("textbox").fill("where it forked")
        dialog.get_by_role("button", name="Save bookmark").click()
        lab.sees(lab.page.locator(".message.ok", has_text="where it forked"), "a confirmation")


def _holds(count: int) -> Callable[[Shown], bool]:
    return lambda seen: _records(seen) == count


def _records(seen: Shown) -> int:
    """The number of records in the leader's log of orders-0; -1 if it has no leader."""
    partition = seen.partitions.get("orders-0")
    return partition.lanes[partition.leader].leo if partition and partition.leader in partition.lanes else -1


def _drag_back(lab: LabPage) -> None:
    """Drags the playhead to the left, then back and forth, until the strips show a hundred records."""
    canvas = lab.page.locator(".hw-density")
    box = canvas.bounding_box()
    assert box, "There is no timeline."
    x, y = box["x"] + box["width"] * 0.92, box["y"] + box["height"] / 2
    lab.page.mouse.move(x, y)
    lab.page.mouse.down()
    for turn, pause_ms in enumerate(PAUSES_MS):
        for _ in range(TRIES):
            x += box["width"] * 0.8 / TRIES * (1 if turn % 2 else -1)
            lab.page.mouse.move(x, y, steps=3)
            lab.until(lambda seen: seen.is_past, "an instant in the past")
            if _stays_at_a_hundred(lab, pause_ms):
                break
        else:
            continue
        break
    lab.page.mouse.up()
    lab.until(lambda seen: seen.is_past and _records(seen) == HUNDRED, f"an instant with {HUNDRED} records")


def _stays_at_a_hundred(lab: LabPage, pause_ms: int) -> bool:
    """Checks twice, because the page may show an earlier position of the pointer."""
    for _ in range(2):
        lab.page.wait_for_timeout(pause_ms)
        if _records(lab.shown) != HUNDRED:
            return False
    return True


def _go_to(lab: LabPage, branch: str) -> None:
    """Opens a branch from the menu of branches."""
    lab.page.locator("hw-branches summary").click()
    lab.page.locator("hw-branches a").filter(has=lab.page.get_by_text(branch, exact=True)).click()
    until(lab.page, lambda: lab.branch == branch, f"the page of {branch}")
