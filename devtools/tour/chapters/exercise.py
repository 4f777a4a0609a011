"""The exercise "The high watermark takes two fetches", from its start to the debrief."""

import re
from collections.abc import Callable

from playwright.sync_api import Page

from devtools.tour.lab_page import LabPage
from devtools.tour.shown import Shown, ShownLane
from devtools.tour.tour import Tour, until

TITLE = "exercise"


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: the high watermark takes two fetches")

    with tour.stop("start: the set-up makes its topic, the run is paused"):
        lab.lesson_panel().get_by_role("button", name="Start: The high watermark").click()
        lab.sees(lab.page.locator("hw-exercise .step.now"), "the first step")
        seen = lab.until(lambda seen: seen.is_paused and _lanes(seen), "orders-0, and a paused run")
        end = _leader_lane(seen).leo

    with tour.stop("a hint"):
        lab.press("h")
        lab.sees(lab.page.locator("hw-exercise .hint.shown"), "the first hint")

    with tour.stop("step 1: one record waits in the purgatory"):
        lab.produce("orders-0", "hello", key="greeting")
        lab.until(lambda seen: "1 in flight" in seen.node("p1").lines, "a producer that has sent something")
        lab.lesson_panel()
        lab.steps_until(lambda seen: _leader_lane(seen).leo == end + 1, "the append")
        _done(lab, 1)

    with tour.stop("step 2: both followers have it, and the leader does not know"):
        lab.steps_until(_both_predict(end + 1), "two fetches on their way that say so")
        _done(lab, 2)

    with tour.stop("step 3: the outcome is hidden until it was predicted"):
        lab.tab("RPCs").get_by_role("button", name=re.compile("Fetch")).first.click()
        lab.sees(lab.tab("Inspect").get_by_text("hidden until you predict"), "a veil over what will happen")
        tour.pictures("exercise", lab.page, _open_panel)
        panel = lab.lesson_panel()
        panel.get_by_role("radio").filter(has_text="unchanged").click()
        panel.get_by_role("radio", name="70 %").click()
        panel.get_by_role("button", name="Lock in").click()
        _done(lab, 3)
        lab.sees(panel.get_by_text(f"As predicted: {end}"), "the prediction beside what happened")

    with tour.stop("step 4: the leader's high watermark passes the record"):
        lab.steps_until(lambda seen: _leader_lane(seen).hw == end + 1, "the high watermark")
        _done(lab, 4)

    with tour.stop("step 5: the followers learn of it; the debrief"):
        lab.steps_until(lambda seen: {lane.hw for lane in _lanes(seen)} == {end + 1}, "the same at all replicas")
        _done(lab, 5)
        lab.sees(panel.locator(".debrief"), "the debrief")

    with tour.stop("in Chinese: the same steps, still done"):
        lab.page.get_by_role("link", name="中文").click()
        until(lab.page, lambda: lab.page.locator("html").get_attribute("lang") == "zh-CN", "the page in Chinese")
        until(lab.page, lambda: lab.page.locator("hw-exercise .step.done").count() == 5, "five steps that are done")
        said = lab.page.locator("hw-exercise h2").inner_text()
        assert "高水位" in said, f"The exercise is called {said}."


def _open_panel(page: Page) -> None:
    """Narrow windows begin without the side panel."""
    page.locator(".hw-lane").first.wait_for()
    step = page.locator("hw-exercise .step.now")
    if not step.is_visible():
        page.keyboard.press("e")
    step.wait_for()


def _done(lab: LabPage, steps: int) -> None:
    done = lab.page.locator("hw-exercise .step.done")
    until(lab.page, lambda: done.count() >= steps, f"step {steps} with its tick")


def _lanes(seen: Shown) -> list[ShownLane]:
    partition = seen.partitions.get("orders-0")
    return list(partition.lanes.values()) if partition else []


def _leader_lane(seen: Shown) -> ShownLane:
    partition = seen.partitions["orders-0"]
    return partition.lanes[partition.leader]


def _both_predict(offset: int) -> Callable[[Shown], bool]:
    """All logs end at `offset`, and both followers are asking for it."""

    def wanted(seen: Shown) -> bool:
        asking = sum(message.startswith(f"Fetch @{offset}") for message in seen.messages)
        return asking == 2 and {lane.leo for lane in _lanes(seen)} == {offset}

    return wanted
