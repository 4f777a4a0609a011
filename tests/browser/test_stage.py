"""The drawings in a real browser, on a recording that the engine made."""

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from broker_core.partitions import broker_node
from devtools.tour.cells import cells_of, click_record
from lab.texts.i18n import LANGUAGES, merged
from tests.support.browser_recording import write_recording
from tests.support.paths import ROOT


class _Files(http.server.SimpleHTTPRequestHandler):
    """`/static/` from the repository, `/api/runs/r/main/` and `/texts/` from the recording, the gallery at `/`."""

    def __init__(self, *args: Any, recording: Path, **kwargs: Any) -> None:
        self.recording = recording
        super().__init__(*args, **kwargs)

    def translate_path(self, path: str) -> str:
        path = path.partition("?")[0]
        if path.startswith("/static/"):
            return str(ROOT / path[1:])
        if path.startswith("/api/runs/r/main/"):
            return str(self.recording / path.removeprefix("/api/runs/r/main/"))
        if path.startswith("/texts/"):
            return str(self.recording / path[1:])
        return str(ROOT / "tests" / "js" / "gallery.html")

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stage") / "recording"
    write_recording(folder)
    (folder / "texts").mkdir()
    for language in LANGUAGES:
        (folder / "texts" / f"{language}.json").write_bytes(merged(language))
    return folder


@pytest.fixture(scope="module")
def events(recording: Path) -> list[list[Any]]:
    paths = sorted((recording / "segments").iterdir(), key=lambda path: int(path.stem))
    return [event for path in paths for event in json.loads(path.read_text(encoding="utf-8"))["ev"]]


@pytest.fixture(scope="module")
def address(recording: Path) -> Iterator[str]:
    handler = functools.partial(_Files, recording=recording)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def gallery(page: Page, address: str) -> Iterator[Any]:
    """Opens the drawings; fails the test when the page has thrown or logged an error."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)

    def show(query: str, width: int = 785, height: int = 820) -> Page:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{address}?{query}")
        page.wait_for_function("window.player?.view && document.querySelector('.hw-lane')")
        settle(page)
        return page

    yield show
    assert wrong == []


def settle(page: Page) -> None:
    """Waits until the page is where it was going, and the drawings have nothing left to do."""
    page.wait_for_function("!player.loading && player.goal_us === player.at_us")
    page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 30)), 30))")


def seq_of(events: list[list[Any]], kind: str, after: int = 0) -> int:
    found = next(event[0] for event in events if event[0] > after and event[4][0] == kind)
    assert isinstance(found, int)
    return found


def test_cells_match_the_view(gallery: Any, events: list[list[Any]]) -> None:
    """Each visible replica has as many committed, uncommitted and truncated cells as its offsets imply."""
    last = len(events)
    for seq in (seq_of(events, "BatchAppended"), seq_of(events, "HighWatermarkAdvanced"), last // 2, last):
        page = gallery(f"seq={seq}")
        shown = page.evaluate(
            """() => [...document.querySelectorAll(".hw-lane")].map((lane) => ({
                   name: lane.querySelector(".hw-lane-name").textContent,
                   leads: lane.classList.contains("leader"),
                   numbers: [...lane.querySelectorAll(".hw-number")].slice(0, 2).map((one) => one.textContent) }))"""
        )
        for lane, drawn in zip(page.locator(".hw-lane").all(), shown, strict=True):
            cells = cells_of(lane)
            drawn |= {"committed": cells["committed"], "open": cells["open"]}
        view = page.evaluate("player.view")
        expected = []
        for partition_id, partition in sorted(view["partitions"].items()):
            order = [partition["leader"], *sorted(set(partition["replicas"]) - {partition["leader"]})]
            for broker in [one for one in order if one in partition["replicas"]]:
                replica = view["replicas"].get(f"{partition_id}@b{broker}")
                leo, hw = (replica["log_end_offset"], replica["high_watermark"]) if replica else (0, 0)
                up = view["nodes"][broker_node(broker)]["state"] != "down" and replica and replica["role"] != "offline"
                expected.append(
                    {
                        "name": broker_node(broker),
                        "leads": bool(partition["leader"] == broker and up),
                        "committed": min(hw, leo),
                        "open": max(0, leo - hw),
                        "numbers": [str(leo), str(hw)] if replica else ["–", "–"],
                    }
                )
        assert shown == expected, f"after event {seq}"


@pytest.mark.usefixtures("moving")
def test_message_is_drawn_at_its_time(gallery: Any, events: list[list[Any]]) -> None:
    sent = next(event for event in events if event[4][0] == "RpcSent" and event[4][2] == "Produce")
    sent_us, due_us = sent[1], sent[4][6]
    page = gallery(f"at={sent_us}")
    places = []
    for part in (0.0, 0.25, 0.5, 0.75):
        page.evaluate("(at) => player.seekTime(at)", sent_us + round((due_us - sent_us) * part))
        settle(page)
        place = page.evaluate(
            """(id) => { const label = player.view.rpcs[id].label;
                 const pills = [...document.querySelectorAll(".hw-pill")];
                 const pill = pills.find((one) => one.textContent.startsWith(label));
                 return pill.getAttribute("transform").match(/[-\\d.]+/g).map(Number); }""",
            sent[4][1],
        )
        places.append(place)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(places)]
    for dx, dy in steps:
        assert dx == pytest.approx(steps[0][0], abs=0.6)
        assert dy == pytest.approx(steps[0][1], abs=0.6)
    assert abs(steps[0][0]) + abs(steps[0][1]) > 3


def test_faults_of_brokers_and_links_are_drawn(gallery: Any, events: list[list[Any]]) -> None:
    page = gallery(f"seq={seq_of(events, 'LinkCut')}")
    assert "link cut" in (page.locator(".hw-badge").text_content() or "")
    assert page.locator(".hw-link.cut").count() == 1
    page = gallery(f"seq={seq_of(events, 'BrokerStopped')}")
    assert page.locator(".hw-node.broker.down").count() == 1
    assert page.locator(".hw-lane.offline").count() == 2


def test_pointer_shows_details(gallery: Any, events: list[list[Any]]) -> None:
    page = gallery(f"seq={len(events)}")
    offset = 2
    click_record(page.locator(".hw-lane").first, offset)
    leader = page.evaluate("player.view.partitions['orders-0'].leader")
    record = {"type": "record", "id": f"orders-0@b{leader}:{offset}"}
    assert page.evaluate("said.findLast(([name]) => name === 'hw-select')") == ["hw-select", record]
    assert page.evaluate("said.findLast(([name]) => name === 'hw-hover')") == ["hw-hover", record]
    page.locator(".hw-lane").first.focus()
    page.keyboard.press("ArrowRight")
    moved = page.evaluate("said.findLast(([name]) => name === 'hw-select')[1].id")
    assert moved == f"orders-0@b{leader}:{offset + 1}"
    expect(page.locator(".hw-cursor").first).to_be_visible()


def test_menu_of_a_broker_sends_lines_of_the_shell(gallery: Any, events: list[list[Any]]) -> None:
    page = gallery(f"seq={len(events)}")
    page.locator(".hw-node.broker").nth(1).click(button="right", position={"x": 60, "y": 12})
    menu = page.get_by_role("menu")
    assert {"broker kill 2", "broker freeze 2", "broker stop 2"} <= set(menu.locator("code").all_inner_texts())
    page.keyboard.press("Escape")
    assert menu.count() == 0
    page.locator(".hw-node.broker").nth(1).click(button="right", position={"x": 60, "y": 12})
    page.get_by_role("menuitem", name="broker kill 2").click()
    assert page.evaluate("said.at(-1)") == ["hw-command", {"line": "broker kill 2"}]


def test_open_menu_follows_the_broker(gallery: Any, events: list[list[Any]]) -> None:
    stopped = next(event for event in events if event[4][0] == "BrokerStopped")
    number = stopped[4][1].removeprefix("b")
    page = gallery(f"seq={stopped[0] - 1}")
    page.locator(".hw-node.broker", has_text=f"broker {number}").click(button="right", position={"x": 60, "y": 12})
    kill, start = (page.get_by_role("menuitem", name=f"broker {verb} {number}") for verb in ("kill", "start"))
    expect(kill).to_be_enabled()
    expect(start).to_have_count(0)
    page.evaluate(f"player.seekSeq({stopped[0]})")
    expect(kill).to_be_disabled()
    expect(start).to_be_enabled()
    kill.click(force=True)
    assert page.get_by_role("menu").is_visible(), "what cannot be done is not sent"
    start.click()
    assert page.evaluate("said.at(-1)") == ["hw-command", {"line": f"broker start {number}"}]


def test_dragging_the_timeline_seeks_and_drawing_stops_afterwards(gallery: Any, events: list[list[Any]]) -> None:
    page = gallery(f"seq={len(events) // 2}")
    before = page.evaluate("player.at_us")
    box = page.locator(".hw-density").bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 0.6, box["y"] + 20
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 150, y, steps=5)
    page.mouse.up()
    settle(page)
    after = page.evaluate("player.at_us")
    assert after != before
    expected = next(event[0] for event in reversed(events) if event[1] <= after)
    assert page.evaluate("player.seq") == expected
    requested = [-1, page.evaluate("frames_asked")]
    while requested[-2] != requested[-1]:
        page.wait_for_timeout(400)
        requested.append(page.evaluate("frames_asked"))
        assert len(requested) < 50, "nothing moves, and yet frames are drawn"


def test_both_languages_and_themes_draw_without_an_error(gallery: Any, events: list[list[Any]]) -> None:
    seq = seq_of(events, "RpcHeld")
    grounds = set()
    for theme in ("dark", "light"):
        for language in ("en", "zh-CN"):
            page = gallery(f"seq={seq}&theme={theme}&lang={language}")
            grounds.add(page.evaluate("getComputedStyle(document.querySelector('.hw-card')).fill"))
            role = page.locator(".hw-lane-role").first.text_content()
            assert role == {"en": "leader", "zh-CN": "首领"}[language]
    assert len(grounds) == 2


def test_cards_of_a_phone_say_less_rather_than_cut_a_number(gallery: Any, events: list[list[Any]]) -> None:
    page = gallery(f"seq={len(events)}", width=390, height=844)
    lines = page.locator(":is(.hw-node.broker, .hw-node.producer) .hw-card-line").all_text_contents()
    assert any("acked" in line for line in lines), lines
    assert not [line for line in lines if line.endswith("…")], lines


BOXES = """(selector) => [...document.querySelectorAll(selector)]
    .filter((one) => one.textContent || one.matches("rect"))
    .map((one) => one.getBoundingClientRect().toJSON())"""


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    across = one["left"] < other["right"] and other["left"] < one["right"]
    return across and one["top"] < other["bottom"] and other["top"] < one["bottom"]


@pytest.mark.parametrize(("width", "lines"), [(785, 2), (1100, 1)])
def test_legend_fits_beside_the_cards(gallery: Any, events: list[list[Any]], width: int, lines: int) -> None:
    for language in LANGUAGES:
        page = gallery(f"seq={len(events)}&lang={language}", width=width)
        words = page.evaluate(BOXES, ".hw-legend text")
        assert len(words) == 9 and len({round(one["top"]) for one in words}) <= lines
        everything = [*page.evaluate(BOXES, ".hw-legend > *"), *page.evaluate(BOXES, ".hw-card")]
        assert not [(one, other) for one in words for other in everything if one != other and overlap(one, other)]


def test_waiting_requests_are_below_the_words_of_their_broker(gallery: Any, events: list[list[Any]]) -> None:
    """On all brokers, of which the controller has one line more."""
    for broker in {event[2]: event[0] for event in events if event[4][0] == "RequestParked"}.values():
        page = gallery(f"seq={broker}")
        waiting, lines = page.evaluate(BOXES, ".hw-dock-plate"), page.evaluate(BOXES, ".hw-node.broker .hw-card-line")
        assert waiting and lines
        near = [{**one, "top": one["top"] - 3} for one in waiting]
        assert not [(one, other) for one in near for other in lines if overlap(one, other)]


def test_phone_shows_strips_and_a_resize_is_followed(gallery: Any, events: list[list[Any]]) -> None:
    page = gallery(f"seq={len(events)}", width=390, height=844)
    assert page.evaluate("document.querySelector('.hw-strips').getBoundingClientRect().width") <= 390
    narrow = cells_of(page.locator(".hw-lane").first)["slots"]
    page.set_viewport_size({"width": 1100, "height": 820})
    page.wait_for_function("document.querySelector('.hw-strips').getBoundingClientRect().width > 1000")
    settle(page)
    assert cells_of(page.locator(".hw-lane").first)["slots"] > narrow


#: A window that moves between screens: `moveTo(ratio)` changes its resolution and notifies the queries concerned.
SCREENS = """
let ratio = 1;
const queries = [];
const media = window.matchMedia.bind(window);
Object.defineProperty(window, "devicePixelRatio", { get: () => ratio });
window.matchMedia = (text) => {
    const asked = /^\\(resolution: ([\\d.]+)dppx\\)$/.exec(text);
    if (!asked) return media(text);
    const query = Object.assign(new EventTarget(), { ratio: Number(asked[1]) });
    queries.push(query);
    return query;
};
window.moveTo = (next) => {
    const concerned = queries.filter((query) => query.ratio === ratio || query.ratio === next);
    ratio = next;
    for (const query of concerned) query.dispatchEvent(new Event("change"));
};
"""


def test_each_change_of_the_resolution_is_followed(gallery: Any, page: Page, events: list[list[Any]]) -> None:
    page.add_init_script(SCREENS)
    gallery(f"seq={len(events)}")
    for ratio in (2, 1.5, 3):
        page.evaluate("(ratio) => moveTo(ratio)", ratio)
        page.wait_for_function(
            """(ratio) => [...document.querySelectorAll("canvas")].every(
                (canvas) => Math.abs(canvas.width - canvas.getBoundingClientRect().width * ratio) <= ratio)""",
            arg=ratio,
            timeout=10_000,
        )
