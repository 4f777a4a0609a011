"""The front page and the pages of lessons in a real browser: the recording, search, keyboard, widths."""

import re

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from lab.course.hero import hero_run
from tests.support.axe import violations
from tests.support.lab_page import PHONE, TABLET, WIDE, be, nothing_sticks_out, press
from tests.support.lab_server import LabServer, Visitor

LOST = "006-the-lost-record"


@pytest.fixture
def front(page: Page, lab_server: LabServer, complaints: list[str]) -> Page:
    """The front page, its recording loaded."""
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    expect(page.locator(".mini-cell.committed").first).to_be_attached()
    return page


@pytest.fixture
def reader(page: Page, visitor: Visitor, complaints: list[str]) -> Page:
    """A page that has signed in and is nowhere yet."""
    page.set_viewport_size(WIDE)
    be(page, visitor)
    return page


def to_instant(page: Page, ms: int) -> None:
    """Moves the recording's slider, which pauses it."""
    page.locator("[data-hero=scrub]").evaluate(
        "(slider, ms) => { slider.value = ms; slider.dispatchEvent(new Event('input')); }", str(ms)
    )


def shown_lane(page: Page, broker: str) -> str:
    """The state of each cell of a replica in the recording's picture."""
    lane = page.locator(".mini-lane", has_text=re.compile(f"^{broker}"))
    return " ".join(name.removeprefix("mini-cell ") for name in lane.locator(".mini-cell").evaluate_all(
        "(cells) => cells.map((cell) => cell.getAttribute('class'))"
    ))  # fmt: skip


@pytest.mark.usefixtures("moving")
def test_recording_plays_by_itself_and_can_be_paused(front: Page) -> None:
    clock = front.locator("[data-hero=clock]")
    expect(clock).to_have_text(re.compile(r"^00:0[1-9] / "))
    front.get_by_role("region", name="Recording: the lost record").get_by_role("button", name="Pause").click()
    expect(front.get_by_role("region", name="Recording").get_by_role("button", name="Play")).to_be_visible()
    stopped = clock.inner_text()
    front.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert clock.inner_text() == stopped


def test_recording_shows_how_the_record_is_lost(front: Page) -> None:
    pace = hero_run().pace
    to_instant(front, 0)
    expect(front.locator("[data-hero=caption]")).to_contain_text("A record is replicated")
    assert shown_lane(front, "b1").startswith("committed committed committed committed free")
    to_instant(front, pace[-1][0])
    expect(front.locator("[data-hero=caption]")).to_contain_text("holds another record")
    assert "leader" in (front.locator(".mini-lane").nth(2).get_attribute("class") or "")
    assert "offline" in (front.locator(".mini-lane").nth(0).get_attribute("class") or "")
    picture = front.locator(".mini")
    expect(picture).to_have_attribute("aria-label", "b3 leads; the high watermark is 6")


def test_recording_is_taken_over_at_the_instant_shown(front: Page) -> None:
    hero = hero_run()
    to_instant(front, hero.pace[-1][0])
    front.get_by_role("button", name="Take over here").click()
    expect(front).to_have_url(re.compile(r"/r/\w+/main\?p=ledger-0"))
    expect(front.locator(".hw-partition", has_text="ledger-0")).to_contain_text("leader b3")
    expect(front.locator(".tp .tag")).to_contain_text("PAUSED")


def test_recording_does_not_play_with_reduced_motion(page: Page, lab_server: LabServer, complaints: list[str]) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    expect(page.locator("[data-hero=caption]")).to_contain_text("The acknowledged record is lost")
    expect(page.get_by_role("region", name="Recording").get_by_role("button", name="Play")).to_be_visible()


def test_a_newcomer_finds_a_recorded_class_to_replay(front: Page) -> None:
    replay = front.get_by_role("button", name="Replay a recorded class")
    for size in (WIDE, TABLET, PHONE):
        front.set_viewport_size(size)
        expect(replay).to_be_in_viewport(ratio=1)
    replay.click()
    expect(front).to_have_url(re.compile(r"/classes/\w+/replay/"))
    front.set_viewport_size(WIDE)
    expect(front.locator(".hw-node.broker.up").first).to_be_visible()
    front.get_by_role("searchbox").fill("truncated")
    front.locator(".instants button", has_text="ledger-0@b1: truncated").click()
    expect(front.locator("hw-replay-stage-bar .tag.bad")).to_contain_text("lost")
    front.get_by_role("button", name="Play", exact=True).click()
    expect(front.locator("hw-replay-caption")).to_contain_text("dora:12")
    front.goto(front.url.partition("?")[0].replace("/replay/", "/transcript/"))
    for size in (TABLET, PHONE):
        front.set_viewport_size(size)
        nothing_sticks_out(front)


def test_search_is_reached_and_used_by_keyboard(front: Page) -> None:
    field = front.get_by_role("combobox", name="Find a lesson")
    # It comes after the recording, which `front` waits for.
    expect(field).to_be_visible()
    press(front, "/")
    expect(field).to_be_focused()
    front.keyboard.type("lost rec")
    expect(front.get_by_role("option").first).to_contain_text("The lost record")
    expect(field).to_have_attribute("aria-activedescendant", "found-0")
    front.keyboard.press("Escape")
    expect(front.get_by_role("option")).to_have_count(0)
    press(front, "/")
    field.fill("high watermark")
    terms = front.get_by_role("option", name=re.compile("Term"))
    expect(terms.first).to_contain_text("records below this offset are committed")
    field.fill("zzzz")
    expect(front.get_by_role("status").filter(has_text="Nothing found.")).to_be_visible()
    field.fill("lost rec")
    expect(front.get_by_role("option").first).to_contain_text("The lost record")
    front.keyboard.press("Enter")
    expect(front).to_have_url(re.compile(rf"/course/{LOST}/$|/r/\w+/main$"))


def test_lesson_is_started_from_its_page(front: Page) -> None:
    front.get_by_role("link", name=re.compile("^The lost record 4")).click()
    expect(front.get_by_role("heading", name="The lost record", level=1)).to_be_visible()
    front.get_by_role("button", name=re.compile("Start")).click()
    expect(front.locator("hw-exercise .step.now")).to_contain_text("This cluster is of era 0.10")
    front.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name=re.compile("Lesson")).click()
    expect(front).to_have_url(re.compile(rf"/course/{LOST}/$"))
    expect(front.get_by_role("link", name="Continue at step 1 of 6")).to_be_visible()


def test_texts_of_a_lesson_that_is_started_in_an_open_lab_are_loaded(front: Page, lab_server: LabServer) -> None:
    front.get_by_role("button", name="Open a lab").click()
    expect(front.locator(".hw-partition", has_text="orders-0")).to_contain_text("leader")
    front.get_by_role("tab", name="Lesson").click()
    front.get_by_role("button", name=re.compile("^(Start|Repeat the lesson): The high watermark")).click()
    expect(front.locator("hw-exercise .step.now")).to_contain_text("acks")


@pytest.mark.parametrize("address", ["/", "/?view=note", "/?view=map", f"/course/{LOST}/", "/glossary/", "/runs/"])
def test_axe_finds_nothing_and_every_width_fits(reader: Page, lab_server: LabServer, address: str) -> None:
    for look in ("theme=dark&language=en", "theme=light&language=zh-CN"):
        reader.goto(f"{lab_server.address}{address}{'&' if '?' in address else '?'}{look}")
        if address == "/":
            expect(reader.locator(".mini-cell.committed").first).to_be_attached()
        for size in (TABLET, PHONE, WIDE):
            reader.set_viewport_size(size)
            nothing_sticks_out(reader)
        assert violations(reader) == [], look
        if address == "/":
            reader.keyboard.press("/")
            reader.keyboard.type("o")
            expect(reader.get_by_role("option").first).to_be_visible()
            assert violations(reader) == [], look


def test_axe_reports_a_planted_fault(front: Page) -> None:
    front.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    assert [one.partition(":")[0] for one in violations(front)] == ["button-name"]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_map_shows_every_title_in_full(reader: Page, lab_server: LabServer, language: str) -> None:
    reader.goto(f"{lab_server.address}/?view=map&language={language}")
    titles = reader.locator(".map-node > span:nth-child(2)")
    expect(titles.first).to_be_visible()
    cut = titles.evaluate_all(
        """(all) => all.filter((one) => {
          const box = one.closest(".map-node").getBoundingClientRect(), own = one.getBoundingClientRect();
          return own.right > box.right || own.bottom > box.bottom;
        }).map((one) => one.textContent)"""
    )
    assert cut == []
