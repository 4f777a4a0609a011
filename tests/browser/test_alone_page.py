"""A page that is one file: opened from the disk without a network, it plays and seeks, and shows what the lab shows."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from broker_core.events.replica import HighWatermarkAdvanced
from lab.runtime.host import Host
from tests.support.lab_page import PHONE, WIDE, be, nothing_sticks_out
from tests.support.lab_server import LabServer, Visitor

SCRIPT = (
    "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
    "producer open p1 --acks all",
    "producer send p1 orders-0 k:first k:second",
    "producer send p1 orders-0 k:third",
)
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def run(lab_server: LabServer) -> str:
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name="Played <b>alone</b>", seed="7")
    with visitor.socket(run) as socket:
        socket.play(SCRIPT)
    return run


@pytest.fixture
def open_file(browser: Browser, visitor: Visitor, run: str, tmp_path: Path) -> Iterator[Open]:
    """Opens a saved page from the disk, without a network. Any request but those of its own parts fails the test."""
    wrong: list[str] = []

    def is_outside(url: str) -> bool:
        return not url.startswith(("file://", "blob:null/", "data:font/"))

    def open(hash: str = "", span: str = "", **options: Any) -> Page:
        file = tmp_path / "page.html"
        file.write_bytes(visitor.get(f"/api/runs/{run}/main/page.html{span}").body)
        context = browser.new_context(offline=True, viewport=options.pop("viewport", WIDE), **options)
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.on("request", lambda request: wrong.append(request.url) if is_outside(request.url) else None)
        page.on("websocket", lambda socket: wrong.append(socket.url))
        page.on("pageerror", lambda error: wrong.append(f"{error.message} {error.stack}"))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(f"{file.as_uri()}{hash}")
        expect(page.locator("#lab:not(.loading) .number")).not_to_be_empty()
        return page

    yield open
    for context in browser.contexts:
        for page in context.pages:
            if page.url.startswith("file:"):
                context.close()
                break
    assert wrong == []


def number_of(page: Page) -> int:
    return int("".join(re.findall(r"\d", page.locator(".number").inner_text())))


def test_page_shows_what_the_lab_shows_at_an_instant(open_file: Open, lab_server: LabServer, run: str) -> None:
    async def view_at(host: Host, seq: int) -> Any:
        return (await host.lab(run, "main")).recording.view_at(seq)

    async def last_risen(host: Host) -> int:
        recording = (await host.lab(run, "main")).recording
        events = recording.events(1, recording.last_seq)
        return [seq for seq, _, _, _, event in events if isinstance(event, HighWatermarkAdvanced)][1]

    seq = lab_server.call(last_risen)
    replicas = lab_server.call(lambda host: view_at(host, seq))["replicas"]
    page = open_file(f"#language=en&seq={seq}")
    assert number_of(page) == seq
    page.keyboard.press("v")
    rows = page.locator("hw-table section", has_text="Replicas").first.locator("tbody tr")
    expect(rows).to_have_count(3)
    for cells in [row.locator("td, th").all_inner_texts() for row in rows.all()]:
        replica = replicas[f"{cells[0]}@{cells[1].replace('broker ', 'b')}"]
        assert [int(cell) for cell in cells[4:6]] == [replica["log_end_offset"], replica["high_watermark"]], cells
    marks = {(one["log_end_offset"], one["high_watermark"]) for one in replicas.values()}
    assert len(marks) > 1


def test_page_plays_by_itself_and_seeks(open_file: Open) -> None:
    page = open_file(locale="en-US")
    expect(page.locator("h1")).to_have_text("Played <b>alone</b>")
    expect(page.get_by_text("REPLAY")).to_be_visible()
    expect(page.locator(".number")).not_to_have_text(re.compile(r"event 1$"))
    page.keyboard.press("Space")
    expect(page.get_by_text("PAUSED")).to_be_visible()
    # From the first event, so that the number that is read is not that of the pause.
    page.keyboard.press("Home")
    expect(page.locator(".number")).to_have_text(re.compile(r"event 1$"))
    page.keyboard.press("End")
    expect(page.locator(".number")).not_to_have_text(re.compile(r"event 1$"))
    end = number_of(page)
    page.keyboard.press("5")
    expect(page.locator(".number")).not_to_have_text(re.compile(rf"event {end}$"))
    middle = number_of(page)
    page.keyboard.press(".")
    expect(page.locator(".number")).to_have_text(re.compile(rf"event {middle + 1}$"))
    page.keyboard.press("Home")
    expect(page.locator(".number")).to_have_text(re.compile(r"event 1$"))
    # At its end it begins again.
    page.keyboard.press("End")
    page.keyboard.press("Space")
    expect(page.get_by_text("REPLAY")).to_be_visible()


def test_page_has_nothing_that_needs_a_lab(open_file: Open) -> None:
    page = open_file("#language=en&seq=300")
    for name in ("Console", "Fork here", "Bookmark", "Disk", "Share", "Act", "Files"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(page.get_by_role("tab", name="Files")).to_have_count(0)
    page.keyboard.press("Alt+1")
    expect(page.locator("#tab-panel")).to_contain_text("broker 1")
    expect(page.locator("#tab-panel .acts")).to_have_count(0)
    page.locator("#stage").get_by_text("broker 1").first.click(button="right")
    expect(page.locator(".hw-menu")).to_have_count(0)
    for key in ("n", "g", "o", "r", "l", "v"):
        page.keyboard.press(key)
        expect(page.locator("#main > :visible:not(hw-stage-bar)").first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Open a (producer|consumer)"))).to_have_count(0)


def test_page_describes_itself_in_both_languages_and_themes(open_file: Open) -> None:
    page = open_file("#seq=300", viewport=PHONE, locale="zh-CN", color_scheme="light")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    nothing_sticks_out(page)
    page.locator(".about").click()
    expect(page.get_by_role("dialog")).to_contain_text("关于此页面")
    expect(page.get_by_role("dialog")).to_contain_text("SIL OPEN FONT LICENSE", use_inner_text=False)
    page.keyboard.press("Escape")
    page.locator(".theme").click()
    page.get_by_role("button", name="EN").click()
    expect(page.locator("#lab:not(.loading) .number")).to_have_text(re.compile(r"event 300$"))
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_branch_is_saved_from_its_menu(page: Page, visitor: Visitor, run: str, complaints: list[str]) -> None:
    be(page, visitor)
    page.goto(f"{visitor.server.address}/r/{run}/main?dialog=page")
    dialog = page.get_by_role("dialog", name="Save the branch as a page")
    dialog.get_by_label("A to B").check()
    dialog.get_by_label("From (s)").fill("5")
    dialog.get_by_label("To (s)").fill("4")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The excerpt contains no event.")
    dialog.get_by_label("Whole branch").check()
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Save").click()
    assert saved.value.suggested_filename.endswith(".html")
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"^Saved as .*\.html, \d+ KB\.$"))
    complaints[:] = [one for one in complaints if "status of 400" not in one]
