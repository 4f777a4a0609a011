"""A latecomer replays a class while it goes on: what their page shows, and what staff see of them."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.classroom.class_pages import Classroom
from tests.support.lab_page import PHONE, WIDE, be, nothing_sticks_out
from tests.support.lab_server import LabServer


@pytest.fixture
def made(lab_server: LabServer) -> Iterator[Classroom]:
    found = Classroom(lab_server, people="late")
    yield found
    found.close()


@pytest.fixture
def board(made: Classroom, newcomer: Callable[[], Page]) -> Page:
    page = newcomer()
    be(page, made.visitors["p1"])
    page.goto(f"{made.server.address}/classes/{made.slug}/board/")
    expect(page.locator(".tile")).to_have_count(2)
    assert page.locator(".tile b").all_text_contents() == ["Name 2", "Name 3"], "they are in order from the first on"
    return page


def replayed(page: Page, made: Classroom, p: str) -> None:
    be(page, made.visitors[p])
    page.set_viewport_size(WIDE)
    page.goto(f"{made.server.address}/classes/{made.slug}/replay/")


def test_latecomer_replays_the_running_class_and_catches_up(
    page: Page, made: Classroom, board: Page, complaints: list[str]
) -> None:
    slug = made.visitors["p1"].new_run(name="The lab that leads")
    tile = board.locator(".tile", has_text="Name 2")
    with made.page("p1") as teacher, made.visitors["p1"].socket(slug) as lab:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{slug}/main")["k"] == "done"
        lab.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        lab.ask({"k": "time", "op": "pause"})
        teacher.until_held("/lead_lab mode", "pause")
        expect(tile).not_to_contain_text("catching up")
        replayed(page, made, "p2")
        expect(page.locator(".hw-node.broker.up")).to_have_count(3)
        expect(page.get_by_role("button", name="2×")).to_have_attribute("aria-pressed", "true")
        # Staff see where the latecomer is, in the wall, in the list and in the dialog.
        expect(tile).to_contain_text("catching up · <1 min")
        expect(tile).to_have_attribute("title", "catching up · under 1 min behind")
        expect(board.locator(".tile", has_text="Name 3")).not_to_contain_text("catching up")
        board.get_by_role("button", name="Participants").click()
        expect(board.get_by_role("row", name="Name 2")).to_contain_text("catching up")
        board.get_by_role("link", name="中文").click()
        expect(tile).to_contain_text("补看中 · <1 分钟")
        lab.run("broker kill 1")
        last_seq = lab.events()[-1][0]
        while teacher.held["/lead_lab"]["seq"] < last_seq:
            teacher.read()
        # The class is quiet, and time passes.
        page.keyboard.press("End")
        expect(page.locator("hw-replay-transport")).to_contain_text(re.compile(r"0:(0[2-9]|[1-5]\d) behind"))
        for size in (PHONE, WIDE):
            page.set_viewport_size(size)
            nothing_sticks_out(page)
        page.get_by_role("button", name="To the start").click()
        page.get_by_role("button", name="Play", exact=True).click()
        # Within two seconds of now the replay becomes the class.
        page.wait_for_url(re.compile(rf"/r/{slug}/main"))
        expect(page.locator(".nodes .state.up")).to_have_count(2)
        expect(tile).not_to_contain_text("补看中")


def test_who_is_removed_while_catching_up_is_told_and_holds_no_place(page: Page, made: Classroom, board: Page) -> None:
    replayed(page, made, "p2")
    expect(board.locator(".tile", has_text="Name 2")).to_contain_text("catching up")
    with made.page("p1") as teacher:
        teacher.until("snap")
        assert teacher.act("kick", p="p2")["k"] == "done"
        expect(page.get_by_role("alert")).to_contain_text("You are no longer in this class.")
        expect(board.locator(".tile")).to_have_count(1)
        assert teacher.act("end_class")["k"] == "done"


def test_replay_that_has_caught_up_asks_a_server_that_is_gone_once_a_second(
    page: Page, made: Classroom, board: Page
) -> None:
    replayed(page, made, "p2")
    expect(board.locator(".tile", has_text="Name 2")).to_contain_text("catching up")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "manifest.json" in request.url else None)
    page.route("**/manifest.json", lambda route: route.abort())
    page.keyboard.press("End")
    behind = page.locator("hw-replay-transport")
    expect(behind).to_contain_text(re.compile(r"0:0[3-9] behind"))
    page.get_by_role("button", name="Play", exact=True).click()
    asked.clear()
    # For at most 15 s.
    expect(behind).to_contain_text(re.compile(r"0:1[2-8] behind"), timeout=20_000)
    assert len(asked) <= 25
