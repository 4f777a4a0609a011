"""The walk of `make tour` as tests: the same stops, in a real browser, against a lab in a process of its own.

`make soak` walks through all chapters. Outside of it those remain whose stops no other test has: `runs`, which starts
clusters on a real ZooKeeper and wakes a recorded one, and `sight`, which inspects messages, files and what leaders
know of followers.
"""

import fcntl
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from playwright.sync_api import Browser, Locator, Page

from devtools.tour.cells import cells_of
from devtools.tour.chapters import CHAPTERS, runs, sight
from devtools.tour.contexts import WarmContexts
from devtools.tour.lab_page import LabPage
from devtools.tour.lab_process import LabProcess, running_lab
from devtools.tour.photographer import SETTLED, SIZES, Photographer, check_width
from devtools.tour.shown import Shown
from devtools.tour.tour import Tour, until
from lab.analytics.jvm import archive_path, working_java
from tests.support.lab_page import STILL
from tests.support.soak import IS_SOAK

# Chapters wait for what they expect, long enough for a machine that has other things to do.
pytestmark = pytest.mark.timeout(3600)

WALKED = CHAPTERS if IS_SOAK else (runs, sight)


@contextmanager
def no_archive_is_made() -> Iterator[None]:
    """Locks the archive of Spark's classes. A lab that has run for a while makes it, which takes half a minute of a
    core; the labs of these tests end too soon to gain from it.
    """
    archive = archive_path(working_java())
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        # Another process may be making it.
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    """A lab as `make lab` starts it, on a real ZooKeeper. It makes no class archive meanwhile."""
    process = LabProcess(tmp_path_factory.mktemp("tour"))
    with no_archive_is_made():
        process.start()
        yield process
        process.stop()


class WidthCheck(Photographer):
    """Takes no pictures: looks whether something sticks out at the side, at each width."""

    def take(self, name: str, page: Page, prepare: Callable[[Page], None]) -> None:
        """Gives the page's own window each width in turn; what `prepare` would open is open there."""
        before = page.viewport_size
        assert before
        for width in sorted(SIZES):
            page.set_viewport_size({"width": width, "height": SIZES[width]})
            page.evaluate(SETTLED)
            check_width(page, name)
        page.set_viewport_size(before)
        page.evaluate(SETTLED)


@pytest.fixture
def tour(process: LabProcess, browser: Browser, contexts: WarmContexts, tmp_path: Path) -> Iterator[Tour]:
    """A walk."""
    running = running_lab(process.data)
    assert running, "the lab has ended"
    shots = WidthCheck(browser, tmp_path, contexts=contexts)
    tour = Tour(browser, running.address, process.data, shots=shots, process=process, contexts=contexts, options=STILL)
    yield tour
    tour.close_pages()


@pytest.mark.soak
@pytest.mark.parametrize("chapter", WALKED, ids=lambda chapter: chapter.TITLE)
def test_chapter(tour: Tour, chapter: ModuleType) -> None:
    with tour.chapter(chapter.TITLE):
        chapter.walk(tour)
    assert tour.failures == []
    assert tour.stops > 1


def test_failed_stop_leaves_one_line_and_a_screenshot_and_the_next_chapter_runs(
    browser: Browser, tmp_path: Path
) -> None:
    said: list[str] = []
    tour = Tour(
        browser, "http://127.0.0.1:1/sign-in/?token=x", tmp_path, shots=Photographer(browser, tmp_path), say=said.append
    )
    with tour.chapter("first"):
        page = tour.visitor().new_page()
        page.set_content("<p>Here I am.</p>")
        with tour.stop("something that is there"):
            until(page, page.get_by_text("Here I am.").is_visible, "a paragraph")
        with tour.stop("something that is not"):
            until(page, page.get_by_text("Nobody").is_visible, "somebody", seconds=0.2)
        with tour.stop("what would come after it"):
            pass
    with tour.chapter("second"), tour.stop("another one"):
        pass
    assert [line.split(" (")[0] for line in said[:3]] == [
        "ok   first: something that is there",
        "FAIL first: something that is not: somebody was expected within 0.2 s.",
        "ok   second: another one",
    ]
    assert tour.failures == ["first: something that is not: somebody was expected within 0.2 s."]
    assert (tmp_path / "failed-1-1.png").stat().st_size > 0


def test_each_key_does_what_its_description_says(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Keys").with_orders()
    lab.produce("orders-0", "one")
    lab.until(lambda seen: seen.partitions["orders-0"].lanes["b1"].hw == 1, "a record")
    lab.pause()
    lab.press("?")
    rows = lab.sees(lab.page.get_by_role("dialog"), "the list of keys").locator(".keys > div").all()
    listed = [row.inner_text().splitlines()[-1] for row in rows]
    lab.page.keyboard.press("Escape")
    keys = Keys(lab)
    assert listed == list(keys.effects), "the list of keys and what is tested here are not the same"
    for effect in keys.effects.values():
        effect()


def _is_visible(what: Locator, visible: bool) -> bool:
    return what.first.is_visible() == visible


def _has_rate(rate: str, seen: Shown) -> bool:
    return seen.rate == rate


def _has_pitch(lane: Locator, large: float, same: bool) -> bool:
    return (cells_of(lane)["pitch"] == large) == same


class Keys:
    """By the description of a key: presses it and waits for its effect, in a run paused at the newest instant."""

    def __init__(self, lab: LabPage) -> None:
        self.lab = lab
        self.page = lab.page
        find = self.page.get_by_role("dialog", name="Find")
        bookmark = self.page.get_by_role("dialog", name="Bookmark")
        self.effects: dict[str, Callable[[], object]] = {
            "play, pause": self.play,
            "step one RPC": lambda: self.moves("Enter", lambda before, seen: seen.event > before.event),
            "step forward one event": lambda: self.moves(".", lambda before, seen: seen.event > before.event),
            "step back one event": lambda: self.moves(",", lambda before, seen: seen.event == before.event - 1),
            "same, for the selected node": self.lane,
            "slower, faster": self.speed,
            "pace by events": self.paced,
            "go to the start": lambda: self.moves("Home", lambda before, seen: seen.event == 1),
            "go to now": self.now,
            "0–90 % of the run": lambda: self.moves("5", lambda before, seen: 1 < seen.event < before.event),
            "select a broker": self.select,
            "find": lambda: self.opens("/", find),
            "toggle small cells": self.zoom,
            "show requests to ZooKeeper as messages": self.zookeeper,
            "disk screen": lambda: self.turns("d", self.page.locator("hw-disk .disk"), True),
            "ZooKeeper and the controller": lambda: self.turns("n", self.page.locator("hw-zookeeper > *"), True),
            "consumer groups": lambda: self.turns("g", self.page.locator("hw-groups > *"), True),
            "producers": lambda: self.turns("o", self.page.locator("hw-producers > *"), True),
            "transactions": lambda: self.turns("r", self.page.locator("hw-transactions > *"), True),
            "alarms": lambda: self.turns("l", self.page.locator("hw-alarm-screen > *"), True),
            "table view": lambda: self.turns("v", self.page.locator("hw-table table"), True),
            "collapse side panels": lambda: self.turns("\\", self.page.locator("hw-inspector"), False),
            "panel: lesson": lambda: self.turns("e", self.page.locator("hw-exercise"), True),
            "panel: act": self.act,
            "console": lambda: self.turns("c", self.page.locator("#console-line"), True),
            "fork here": self.fork,
            "bookmark": lambda: self.opens("m", bookmark),
            "Pause when a condition is met": lambda: self.opens("u", self.page.get_by_role("dialog")),
            "copy a link to this instant": self.share,
            "produce one record": lambda: self.moves("p", lambda before, seen: seen.event > before.event),
            "actions on the selected broker": lambda: self.opens("k", self.page.get_by_role("menu")),
            "cut the selected link": self.cut,
            "why this value?": self.why,
            "hint": self.hint,
            "keyboard shortcuts": lambda: self.opens("?", self.page.get_by_role("dialog")),
            "deselect, close": self.deselect,
        }

    def moves(self, key: str, moved: Callable[[Shown, Shown], bool]) -> None:
        before = self.lab.rests()
        self.lab.press(key)
        self.lab.until(lambda seen: moved(before, seen), f"another instant after {key}")
        self.lab.press("End")
        self.lab.until(lambda seen: not seen.is_past, "the newest instant after End")

    def opens(self, key: str, what: Locator) -> None:
        self.lab.press(key)
        self.lab.sees(what, f"what {key} opens")
        self.page.keyboard.press("Escape")
        until(self.page, lambda: not what.is_visible(), f"that Escape closes what {key} opens")

    def turns(self, key: str, what: Locator, first: bool) -> None:
        """Toggles it twice."""
        for visible in (first, not first):
            self.lab.press(key)
            until(self.page, partial(_is_visible, what, visible), f"what {key} shows and hides")

    def play(self) -> None:
        self.lab.press("Space")
        self.lab.until(lambda seen: seen.state.endswith("PLAYING"), "time that runs")
        self.lab.press("Space")
        self.lab.until(lambda seen: seen.is_paused, "time that stands still")

    def lane(self) -> None:
        self.lab.press("Alt+2")
        self.moves(">", lambda before, seen: seen.event > before.event)
        # to b2's last event, before which there are others of b2
        self.lab.press("<")
        self.lab.until(lambda seen: seen.is_past, "the past after <")
        self.moves("<", lambda before, seen: seen.event < before.event)
        self.lab.press("Escape")

    def speed(self) -> None:
        for key, rate in (("[", "1/2×"), ("]", "1×")):
            self.lab.press(key)
            self.lab.until(partial(_has_rate, rate), f"the speed {rate}")

    def paced(self) -> None:
        self.lab.press("t")
        self.lab.until(lambda seen: seen.state.endswith("BY EVENTS"), "time paced by events")
        self.lab.press("t")
        self.lab.until(lambda seen: seen.is_paused, "time that stands still")

    def zookeeper(self) -> None:
        for stored in ("on", "off"):
            self.lab.press("q")
            until(self.page, partial(self._keeps_zookeeper, stored), f"messages of ZooKeeper {stored}")

    def _keeps_zookeeper(self, stored: str) -> bool:
        return bool(self.page.evaluate("key => localStorage.getItem(key)", "highwater.zookeeper") == stored)

    def now(self) -> None:
        self.lab.press("Home")
        self.lab.until(lambda seen: seen.is_past, "the past")
        self.lab.press("End")
        self.lab.until(lambda seen: not seen.is_past, "the newest instant")

    def select(self) -> None:
        self.lab.press("Alt+2")
        self.lab.sees(self.page.locator("hw-inspector").get_by_text("known brokers"), "the card of a broker")

    def zoom(self) -> None:
        lane = self.page.locator(".hw-lane").first
        large = cells_of(lane)["pitch"]
        for same in (False, True):
            self.lab.press("z")
            until(self.page, partial(_has_pitch, lane, large, same), "cells of another size")

    def act(self) -> None:
        self.turns("a", self.page.locator("hw-act"), True)
        self.lab.press("a")

    def fork(self) -> None:
        self.lab.press("b")
        self.page.get_by_role("dialog", name="Fork here").get_by_role("button", name="Fork here").click()
        until(self.page, lambda: self.lab.branch != "main", "the page of a new branch")
        self.lab.until(lambda seen: seen.brokers_up == 3, "three brokers there")
        self.lab.pause()

    def share(self) -> None:
        self.lab.press("s")
        self.lab.sees(self.page.locator(".message.ok", has_text="copied"), "a word that it is copied")

    def cut(self) -> None:
        self.lab.link("cut", 1, 2)
        badge = self.page.locator(".hw-badge")
        self.lab.sees(badge, "the badge of a cut link").press("Enter")
        self.lab.press("x")
        until(self.page, lambda: not badge.count(), "a link that is restored")

    def why(self) -> None:
        self.lab.press("Alt+2", "w")
        self.lab.sees(self.page.locator("hw-why section"), "an answer")

    def hint(self) -> None:
        self.page.get_by_role("tab", name="Lesson", exact=True).click()
        # "Repeat the lesson" where another test has finished it.
        self.page.get_by_role("button", name=re.compile(": The high watermark takes two")).click()
        self.lab.sees(self.page.locator("hw-exercise .step.now"), "the first step of the exercise")
        self.lab.press("h")
        self.lab.sees(self.page.locator("hw-exercise .hint.shown"), "the first hint")

    def deselect(self) -> None:
        self.lab.press("Alt+1")
        inspector = self.page.locator("hw-inspector")
        self.lab.sees(inspector.get_by_text("known brokers"), "the card of a broker")
        self.lab.press("Escape")
        self.lab.sees(inspector.get_by_text("Click a broker"), "what to click")
