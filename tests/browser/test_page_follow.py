"""Following a presenter in a real browser: their view is shown, and one's own place is kept."""

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.support.lab_page import (
    PHONE,
    SHOWN,
    TABLET,
    TOPIC,
    WIDE,
    console,
    disagreement,
    lead_and_follow,
    press,
    settle,
    shown,
    wait_until,
)
from tests.support.lab_server import LabServer, Visitor

KEYS = [",", ".", ",", ".", "3", "5", "7", "9", "d", "n", "g", "o", "r", "l", "v", "c", "Home", "End", "Enter"]


PATIENCE_S = 30.0


def agree(leader: Page, follower: Page, *, but: str = "") -> None:
    """Waits until the follower shows what the leader looks at, but for one field of the view."""
    until = time.monotonic() + PATIENCE_S
    while True:
        why = disagreement(shown(leader), shown(follower), but)
        if not why:
            return
        assert time.monotonic() < until, why
        follower.wait_for_timeout(20)


def played_run(visitor: Visitor) -> str:
    """A run with a topic whose partitions have some records, paused."""
    run = visitor.new_run()
    with visitor.socket(run) as socket:
        socket.ask({"k": "time", "op": "rate", "value": 10})
        socket.run(TOPIC)
        socket.run("producer open p1 --acks all")
        for n in range(3):
            socket.run(f"producer send p1 orders-{n} " + " ".join(f"value-{i}" for i in range(50)))
        socket.ask({"k": "time", "op": "pause"})
    return run


@pytest.fixture(scope="module")
def led_run(lab_server: LabServer) -> str:
    """The presenter's run, which is looked at and at most stepped through."""
    return played_run(Visitor(lab_server).sign_in())


@pytest.fixture(scope="module")
def own_run(lab_server: LabServer) -> str:
    """The follower's, for tests in which they do the same. The others act in one of their own."""
    return played_run(Visitor(lab_server).sign_in())


def navigate(page: Page, dice: random.Random) -> str:
    """Does one thing of those that lead somewhere else; returns which."""
    kind = dice.choice(["key", "key", "select", "pan", "time"])
    if kind == "key":
        key = dice.choice(KEYS)
        press(page, key)
        return key
    if shown(page)["screen"] != "picture":
        press(page, "Escape")
        page.locator(".cv-h .seg button").first.click()
    if kind == "select":
        things = page.locator(".hw-strips [role=button], .hw-node")
        if things.count():
            things.nth(dice.randrange(things.count())).dispatch_event("click")
    elif kind == "pan":
        box = page.locator(".hw-strips").bounding_box()
        assert box
        page.mouse.move(box["x"] + 300, box["y"] + 60)
        page.mouse.wheel(dice.choice([-90, -200, 60]), 0)
    else:
        box = page.locator(".hw-spacetime").bounding_box()
        assert box
        page.mouse.click(box["x"] + dice.uniform(120, 500), box["y"] + 100)
    return kind


@pytest.mark.soak
def test_follower_shows_what_the_presenter_looks_at(
    context: BrowserContext, visitor: Visitor, led_run: str, own_run: str, rounds: Any
) -> None:
    """Acceptance statement 10: over 1,000 random navigations in `make soak`, at three widths."""
    leader, follower = lead_and_follow(context, visitor, led_run, own_run)
    press(follower, "f")
    dice = random.Random(20)
    for size in (WIDE, TABLET, PHONE):
        follower.set_viewport_size(size)
        for n in range(rounds(340)):
            done = navigate(leader, dice)
            try:
                agree(leader, follower)
            except AssertionError as difference:
                raise AssertionError(f"{size['width']} px, step {n}, after {done}: {difference}") from None
    expect(follower.get_by_role("button", name="Following Lin")).to_have_attribute("aria-pressed", "true")


SCROLLED = """() => [...document.querySelectorAll("#lab *")].filter(({ scrollTop }) => scrollTop)
  .map((one) => `${one.localName}.${one.className} ${Math.round(one.scrollTop)}`)"""


@pytest.mark.soak
def test_own_view_is_restored_after_following(
    context: BrowserContext, visitor: Visitor, led_run: str, own_run: str, rounds: Any
) -> None:
    """Acceptance statement 12: 100 times in `make soak`."""
    leader, follower = lead_and_follow(context, visitor, led_run, own_run)
    follower.set_viewport_size({"width": 1280, "height": 620})
    dice = random.Random(12)
    for n in range(rounds(100)):
        done = navigate(follower, dice)
        follower.evaluate("""(part) => { for (const one of document.querySelectorAll("#stage, #tab-panel, .tables"))
            one.scrollTop = part * (one.scrollHeight - one.clientHeight); }""", dice.random())  # fmt: skip
        settle(follower)
        before, scrolled = shown(follower), follower.evaluate(SCROLLED)
        press(follower, "f")
        expect(follower.get_by_role("button", name="Following Lin")).to_be_visible()
        navigate(leader, dice)
        agree(leader, follower)
        press(follower, "f")
        expect(follower.get_by_role("button", name="Lin is presenting")).to_be_visible()
        follower.wait_for_function(f"(wanted) => String(({SCROLLED})()) === String(wanted)", arg=scrolled)
        settle(follower)
        after = shown(follower)
        assert {**after, "overlay": ""} == {**before, "overlay": ""}, (n, done)


LATE_FRAMES = """() => {
  const ask = window.requestAnimationFrame;
  window.requestAnimationFrame = (draw) => setTimeout(() => ask.call(window, draw), 300);
}"""


def test_follower_sees_what_the_presenter_scrolls_to_on_a_slow_machine(
    context: BrowserContext, visitor: Visitor, led_run: str, own_run: str
) -> None:
    """The offsets are in sight only when they have been drawn, long after the presenter has scrolled."""
    leader, follower = lead_and_follow(context, visitor, led_run, own_run)
    press(follower, "f")
    agree(leader, follower)
    leader.evaluate(LATE_FRAMES)
    for _ in range(3):
        before = shown(leader)["ranges"]
        wheel_sideways(leader)
        wait_until(
            leader,
            f"async () => JSON.stringify((await ({SHOWN})()).ranges) !== '{json.dumps(before, separators=(',', ':'))}'",
        )
        agree(leader, follower)


def click(page: Page, selector: str) -> None:
    page.locator(selector).first.click()


def wheel_sideways(page: Page) -> None:
    box = page.locator(".hw-strips").bounding_box()
    assert box
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.wheel(-200, 0)


def type_line(page: Page) -> None:
    press(page, "c")
    page.locator("#console-line").fill("kafka-topics.sh --list")
    page.keyboard.press("Enter")


def walk_lane(page: Page) -> None:
    """To the next event of the selected node, of which there is none yet."""
    press(page, ">")


#: By the names of static/lab/ui/store/interactions.js, which lists for all 33 whether they end following. Those that
#: take a class or a lesson are judged in test_class_page.py and classes/test_mistakes_page.py.
DETACHING: dict[str, Callable[[Page], object]] = {
    "command": type_line,
    "bookmark": lambda page: (press(page, "m"), page.locator("dialog .btn.pri").click()),
    "fork": lambda page: (press(page, "b"), page.locator("dialog .btn.pri").click()),
    "play": lambda page: press(page, "Space"),
    "speed": lambda page: press(page, "["),
    "live": walk_lane,
    "step": lambda page: press(page, "."),
    "seek": lambda page: press(page, "3"),
    "screen": lambda page: press(page, "d"),
    "partition": lambda page: page.locator(".hw-partition-header").nth(2).dispatch_event("click"),
    "selection": lambda page: page.locator(".hw-node").nth(1).dispatch_event("click"),
    "pan": wheel_sideways,
    "follow": lambda page: press(page, "f"),
}
HARMLESS: dict[str, Callable[[Page], object]] = {
    "hover": lambda page: page.locator(".hw-lane").first.hover(),
    "tooltip": lambda page: page.locator("hw-share button").hover(),
    "help": lambda page: (press(page, "?"), page.keyboard.press("Escape")),
    "share": lambda page: press(page, "s"),
    "theme": lambda page: click(page, "[data-preference=theme]"),
    "density": lambda page: (click(page, "[data-preference=density]"), click(page, "[data-preference=density]")),
    "panels": lambda page: press(page, "\\", "\\"),
    "tab": lambda page: page.get_by_role("tab", name="Files").click(),
    "console": lambda page: (press(page, "c"), press(page, "c")),
    "resize": lambda page: (page.set_viewport_size(TABLET), page.set_viewport_size(WIDE)),
    "scroll": lambda page: page.mouse.wheel(0, 200),
    "focus": lambda page: [page.keyboard.press("Tab") for _ in range(12)],
}


def test_what_ends_following_and_what_does_not(context: BrowserContext, visitor: Visitor, led_run: str) -> None:
    """Acceptance statement 11: the interactions of every page of a lab."""
    leader, follower = lead_and_follow(context, visitor, led_run, played_run(visitor))
    own = shown(follower)
    leader.locator(".hw-node").nth(2).dispatch_event("click")
    following = follower.get_by_role("button", name="Following Lin")
    for name, do in [*HARMLESS.items(), *DETACHING.items()]:
        if not following.is_visible():
            press(follower, "f")
        expect(following).to_be_visible()
        agree(leader, follower, but="tab")
        do(follower)
        if name in HARMLESS:
            follower.wait_for_timeout(50)
            expect(following, name).to_be_visible()
            continue
        expect(following, name).to_be_hidden()
        settle(follower)
        now = shown(follower)
        for what in ("branch", "shown_seq", "screen", "selection", "partition"):
            assert now[what] == own[what], (name, what)
    assert shown(leader)["mode"] == "pause"


#: The event that the lab beside shows; null without one.
BESIDE_SEQ = """async () => {
  const { theirs } = await moduleOf("/ui/store/beside.js");
  return theirs.peek()?.seq ?? null;
}"""


def test_presenters_lab_is_live_beside_the_learners_own(
    context: BrowserContext, visitor: Visitor, led_run: str
) -> None:
    leader, follower = lead_and_follow(context, visitor, led_run, played_run(visitor))
    own, beside = shown(follower), follower.locator("hw-beside")
    follower.get_by_role("button", name="Beside", exact=True).click()
    expect(beside.locator(".hw-topology .hw-node").first).to_be_visible()
    expect(beside.locator(".hw-cells").first).to_be_visible(timeout=PATIENCE_S * 1000)
    for key in ("3", ",", "5"):
        press(leader, key)
        settle(leader)
        wait_until(follower, f"async () => (await ({BESIDE_SEQ})()) === {shown(leader)['shown_seq']}")
    left, right = beside.bounding_box(), follower.locator("#main").bounding_box()
    assert left and right and left["x"] + left["width"] <= right["x"] and abs(left["width"] - right["width"]) <= 2
    varies: dict[str, object] = {"ranges": {}, "behind": None}
    assert shown(follower) | varies == own | varies, "one's own lab stays where it was"
    nodes = beside.locator(".hw-node")
    nodes.nth(1).dispatch_event("click")
    assert shown(follower)["selection"] == "", "what is chosen there is of another lab"
    assert "beside" in console(follower, "kafka-topics.sh --create --topic beside --partitions 1").inner_text()
    expect(beside).to_be_visible()
    press(leader, "d")
    expect(beside.get_by_role("status")).to_contain_text("Disk")
    press(follower, "f")
    expect(follower.get_by_role("button", name="Following Lin")).to_be_visible()
    expect(beside).to_be_hidden()
    follower.get_by_role("button", name="Beside", exact=True).click()
    expect(follower.get_by_role("button", name="Lin is presenting")).to_be_visible()
    expect(beside).to_be_visible()
    follower.set_viewport_size(TABLET)
    expect(beside).to_be_hidden()
    expect(follower.get_by_role("button", name="Beside", exact=True)).to_be_hidden()


def test_pointer_stays_on_the_element_it_points_at(
    context: BrowserContext, visitor: Visitor, led_run: str, own_run: str
) -> None:
    leader, follower = lead_and_follow(context, visitor, led_run, own_run)
    press(follower, "f")
    for size in (TABLET, PHONE):
        follower.set_viewport_size(size)
        agree(leader, follower)
        spot = leader.evaluate("""async () => {
            const { stage } = await moduleOf("/ui/pages/lab/stage.js");
            const { left, top } = document.querySelector(".hw-cells").getBoundingClientRect();
            return stage.peek().spotAt(left + 40, top + 9);
        }""")
        assert spot["anchor"]["type"] == "record"
        point = """async (spot) => {
            const { stage } = await moduleOf("/ui/pages/lab/stage.js");
            stage.peek().setPointer("Lin", spot);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const { x, y } = document.querySelector(".hw-pointer").getBoundingClientRect();
            const { out } = document.querySelector(".hw-pointer").dataset;
            return { out, x, y, ...stage.peek().frameOf(spot.anchor) };
        }"""
        there = follower.evaluate(point, spot)
        for side, size_of, part in (("x", "w", "u"), ("y", "h", "v")):
            box, frame = there["box"], there["frame"]
            wanted = box[side] + spot[part] * box[size_of]
            if not there["out"]:
                assert abs(there[side] - wanted) < 1
            assert frame[side] <= there[side] <= frame[side] + frame[size_of]
        far = follower.evaluate(point, {**spot, "anchor": {"type": "record", "id": "orders-0@b1:900000"}})
        assert far["out"] == "right"
