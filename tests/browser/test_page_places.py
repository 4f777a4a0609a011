"""The lab's page in a real browser against the real server: languages, themes, widths, connections."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.axe import violations
from tests.support.lab_page import (
    PHONE,
    TABLET,
    WIDE,
    Line,
    console,
    nothing_sticks_out,
    partition,
    pause,
    press,
    shows_event,
    sign_in,
)
from tests.support.lab_server import LabServer

# Languages, themes, widths, connections


def test_language_and_theme_change_keep_the_place(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    press(page, ",")
    expect(page).to_have_url(re.compile(r"#seq=\d+$"))
    there = int(page.url.rpartition("=")[2])
    shows_event(page, there)
    page.get_by_role("link", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.get_by_role("button", name="生产一条")).to_be_visible()
    expect(page.locator(".tp .tag")).to_contain_text("过去")
    shows_event(page, there)
    page.get_by_role("link", name="切换深色模式").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.get_by_role("tab", name="延迟区").click()
    page.locator("hw-purgatory button").first.click()
    page.get_by_role("button", name="显示字节").click()
    expect(page.locator("hw-message-bytes .hex")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("hw-message-bytes .field-row.on")).to_contain_text("request_api_key")
    expect(page.locator("hw-message-bytes .message-field")).to_contain_text("1 Fetch")


def test_lab_fits_a_narrow_window(with_topic: Page) -> None:
    page = with_topic
    for size in (TABLET, PHONE):
        page.set_viewport_size(size)
        page.reload()
        expect(partition(page, "orders-0")).to_contain_text("HW 0")
        nothing_sticks_out(page)
        for selector in (".tbtn .play", ".clock", ".rail", "#inspector .tabs"):
            box = page.locator(selector).bounding_box()
            assert box and box["x"] >= 0 and box["x"] + box["width"] <= size["width"], (selector, size)
        for node in page.locator(".hw-node").all():
            box = node.bounding_box()
            name = node.get_attribute("aria-label")
            assert box and box["x"] >= 0 and box["x"] + box["width"] <= size["width"], (name, size)


def test_large_view_fits_and_takes_the_pointer_where_it_is(with_topic: Page) -> None:
    page = with_topic
    press(page, *"pppp")
    expect(partition(page, "orders-0")).to_contain_text("HW 4")
    pause(page)
    before = page.locator(".clock").bounding_box()
    page.get_by_role("link", name="Toggle the large view").click()
    after = page.locator(".clock").bounding_box()
    assert before and after and after["height"] == pytest.approx(before["height"] * 1.25, abs=1)
    expect(page.locator("#inspector")).to_be_hidden()
    for width, height in ((1280, 800), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        nothing_sticks_out(page)
        for selector in (".tbtn .play", ".clock", ".mark-it", ".theme", ".cv-h .drawer >> nth=1", "#timeline", "#side"):
            box = page.locator(selector).bounding_box()
            assert box and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height, (selector, width)
    cells = page.locator("canvas.hw-cells").first
    expect(cells).to_have_attribute("data-pitch", "21.8")
    box = cells.bounding_box()
    assert box
    page.mouse.click(box["x"] + 3.5 * 21.8 * 1.25, box["y"] + 12)
    expect(page).to_have_url(re.compile(r"sel=record:orders-0@b\d:3\b"))
    node = page.locator(".hw-node", has_text="broker 1").bounding_box()
    assert node
    page.mouse.click(node["x"] + 30, node["y"] + 20, button="right")
    menu = page.locator(".hw-menu").bounding_box()
    assert menu and abs(menu["x"] - node["x"] - 30) < 2 and abs(menu["y"] - node["y"] - 20) < 2
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-density", "comfortable")


def test_large_view_leaves_a_screen_as_much_room_as_on_a_laptop(lab: Page) -> None:
    page = lab
    page.set_viewport_size({"width": 1200, "height": 720})
    page.get_by_role("button", name="Inspector").click()
    expect(page.locator("#inspector")).to_be_visible()
    press(page, "d")
    expect(page).to_have_url(re.compile("view=disk"))
    heights = []
    for width, height in ((1200, 720), (1500, 900)):
        page.set_viewport_size({"width": width, "height": height})
        dock = page.locator("#time").bounding_box()
        assert dock
        heights.append(dock["height"])
        page.get_by_role("link", name="Toggle the large view").click()
    assert heights[1] == pytest.approx(heights[0] * 1.25, abs=1)


SCREENS = {"d": "disk", "n": "zookeeper", "o": "producers", "l": "alarms"}


@pytest.mark.parametrize("look", ["language=en&theme=dark", "language=zh-CN&theme=light"])
def test_axe_finds_nothing_on_the_screens(with_topic: Page, look: str) -> None:
    """Acceptance statement 25, of the page of a lab. Names of lanes and cards describe the figures on them in words."""
    page = with_topic
    page.goto(f"{page.url.split('?')[0]}?{look}")
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    drawn = re.compile(r'label-content-name-mismatch: <g [^>]*class="hw-(lane|node|dock) ')
    found = []
    for size in (PHONE, WIDE):
        page.set_viewport_size(size)
        nothing_sticks_out(page)
        found += violations(page)
    for key, screen in SCREENS.items():
        press(page, key)
        expect(page).to_have_url(re.compile(f"view={screen}"))
        for size in (PHONE, WIDE):
            page.set_viewport_size(size)
            nothing_sticks_out(page)
            found += violations(page)
    assert [one for one in found if not drawn.match(one)] == []


def test_long_names_leave_room_for_the_rest(lab: Page) -> None:
    name = "-".join(["a-topic-of-which-the-name-does-not-end"] * 5)
    console(lab, f"kafka-topics.sh --create --topic {name} --partitions 1 --replication-factor 3")
    expect(lab.locator(".hw-partition").first).to_contain_text("HW 0")
    for size in (WIDE, TABLET, PHONE):
        lab.set_viewport_size(size)
        lab.reload()
        expect(lab.locator(".hw-partition").first).to_contain_text("HW 0")
        nothing_sticks_out(lab)
        if size == WIDE:
            expect(lab.locator(".cv-h .topic")).to_have_attribute("title", name)
            box = lab.locator(".inv .tag.ok").bounding_box()
            canvas = lab.locator("#main").bounding_box()
            assert box and canvas and box["x"] + box["width"] <= canvas["x"] + canvas["width"]


def test_browser_goes_back_from_screen_to_screen(lab: Page, lab_server: LabServer) -> None:
    run = lab.url
    lab.goto(f"{lab_server.address}/runs/")
    lab.goto(run)
    expect(lab.locator(".number")).to_have_text(re.compile(r"event \d"))
    press(lab, "d")
    expect(lab).to_have_url(re.compile(r"view=disk"))
    press(lab, "n")
    expect(lab).to_have_url(re.compile(r"view=zookeeper"))
    lab.go_back()
    expect(lab).to_have_url(re.compile(r"view=disk"))
    expect(lab.locator("hw-disk .disk")).to_be_visible()
    expect(lab.locator("hw-zookeeper")).to_be_hidden()
    lab.go_back()
    expect(lab.locator(".hw-topology")).to_be_visible()
    expect(lab).not_to_have_url(re.compile(r"view="))
    lab.go_forward()
    lab.go_forward()
    expect(lab.locator("hw-zookeeper .zk-tree")).to_be_visible()
    for _ in range(3):
        lab.go_back()
    expect(lab.get_by_role("button", name="Start the cluster")).to_be_visible()


def test_screen_background_reaches_the_bars_of_a_phone(lab: Page) -> None:
    lab.set_viewport_size(PHONE)
    lab.reload()
    expect(lab.locator(".hw-node").first).to_be_attached()
    expect(lab.locator(".number")).to_have_text(re.compile(r"event \d"))
    for key, screen in (("o", "hw-producers"), ("g", "hw-groups"), ("r", "hw-transactions"), ("l", "hw-alarm-screen")):
        press(lab, key)
        expect(lab.locator(f"#main > {screen}:not([hidden])")).to_have_count(1)
        grounds = _grounds(lab)
        assert len(set(grounds)) == 1, (screen, grounds)
        press(lab, key)
        expect(lab.locator(f"#main > {screen}:not([hidden])")).to_have_count(0)


def _grounds(page: Page) -> list[str]:
    """The colours of the ground right above the bars at the bottom, and that of the screen itself."""
    grounds: list[str] = page.evaluate("""() => {
      const top = (what) => document.querySelector(what).getBoundingClientRect().top;
      const bars = Math.min(top("#inspector"), top(".rail"));
      const below = (y) => document.elementsFromPoint(200, y).filter((one) => !one.closest("hw-messages"));
      const colours = (y) => below(y).map((one) => getComputedStyle(one).backgroundColor);
      const ground = (y) => colours(y).find((colour) => colour !== "rgba(0, 0, 0, 0)");
      const shown = document.querySelector("#main > :not([hidden], hw-stage-bar, hw-empty, #stage)");
      return [...[bars - 3, bars - 25, bars - 80].map(ground), getComputedStyle(shown).backgroundColor];
    }""")
    return grounds


def test_side_panel_pushes_the_picture_aside_in_a_narrow_window_and_the_inspector_is_a_sheet_on_a_phone(
    lab: Page,
) -> None:
    lab.set_viewport_size(TABLET)
    lab.reload()
    # Its scripts have come, and listen to keys.
    expect(lab.locator(".number")).to_have_text(re.compile(r"event \d"))
    expect(lab.locator("#side")).to_be_hidden()
    press(lab, "e", "c")
    expect(lab.locator("#side")).to_be_visible()
    expect(lab.locator("#inspector")).to_be_hidden()
    edge = lab.locator("#side").evaluate("(side) => side.getBoundingClientRect().right")
    for beside in ("#stage", "#time", ".tp", "#console-line"):
        assert lab.locator(beside).evaluate("(one) => one.getBoundingClientRect().left") >= edge
    press(lab, "Alt+1")
    expect(lab.locator("#inspector")).to_be_visible()
    lab.get_by_role("button", name="Inspector").click()
    expect(lab.locator("#inspector")).to_be_hidden()
    press(lab, "e")
    expect(lab.locator("#side")).to_be_hidden()
    expect(lab.locator("#inspector")).to_be_visible()
    lab.set_viewport_size(PHONE)
    lab.reload()
    lab.get_by_role("tab", name="znodes").click()
    expect(lab.get_by_role("treeitem", name="brokers")).to_be_visible()
    lab.get_by_role("button", name="Close the inspector").click()
    expect(lab.get_by_role("treeitem", name="brokers")).not_to_be_in_viewport()


def test_damaged_values_in_the_browser_do_not_stop_the_page(lab: Page) -> None:
    lab.add_init_script(
        'for (const name of ["panels", "console", "finished"]) localStorage.setItem(`highwater.${name}`, "{damaged")'
    )
    lab.reload()
    expect(lab.locator(".nodes .state.up")).to_have_count(3)
    press(lab, "c")
    expect(lab.get_by_role("log", name="Console")).to_be_visible()


def test_second_page_shows_the_same_state(with_topic: Page, complaints: list[str]) -> None:
    page = with_topic
    other = page.context.new_page()
    other.on("pageerror", lambda error: complaints.append(error.message))
    other.goto(page.url)
    expect(partition(other, "orders-0")).to_contain_text("LEO 0")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(other, "orders-0")).to_contain_text("LEO 1")
    pause(other)
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")


def test_lost_connection_is_shown_and_restored(page: Page, lab_server: LabServer, complaints: list[str]) -> None:
    line = Line(page, "/ws/runs/")
    sign_in(page, lab_server)
    page.get_by_role("button", name="Start the cluster").click()
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    line.go_down()
    expect(page.locator("hw-connection")).to_contain_text("Connection lost")
    line.come_back()
    expect(page.locator("hw-connection")).to_have_text("")
    assert line.opened > 1
    expect(console(page, "kafka-topics.sh --list")).not_to_contain_text("running")
