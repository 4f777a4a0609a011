"""The lab's page in a real browser against the real server: what somebody can do with it, by hand and by key."""

import re
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from lab.analytics.figures import figures
from tests.lab_server import LabServer

WIDE, TABLET, PHONE = {"width": 1440, "height": 900}, {"width": 1024, "height": 768}, {"width": 390, "height": 844}


@pytest.fixture
def complaints(page: Page) -> Iterator[list[str]]:
    """What the browser complains of: errors of scripts, refused styles and scripts, answers with an error."""
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(f"{error.message}\n{error.stack}"))
    page.on("console", lambda said: heard.append(f"{said.text} {said.location}") if said.type == "error" else None)
    yield heard
    assert heard == []


@pytest.fixture
def lab(page: Page, lab_server: LabServer, complaints: list[str]) -> Page:
    """The page of a new run of three brokers, time playing."""
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    page.get_by_role("button", name="Start the cluster").click()
    expect(page.locator(".nodes .state.up")).to_have_count(3, timeout=10_000)
    return page


@pytest.fixture
def with_topic(lab: Page) -> Page:
    """The same with a topic `orders` of three partitions."""
    lab.get_by_role("button", name="Create orders").click()
    lab.get_by_role("dialog").get_by_role("button", name="Create topic").click()
    expect(lab.locator(".nodes").get_by_text("orders", exact=True)).to_be_visible()
    expect(partition(lab, "orders-0")).to_contain_text("leader")
    return lab


def partition(page: Page, name: str) -> Locator:
    return page.locator(".hw-partition", has_text=name)


def press(page: Page, *keys: str) -> None:
    """Keys of the page itself: no field has the focus."""
    page.evaluate("document.activeElement.blur()")
    for key in keys:
        page.keyboard.press(key)


def pause(page: Page) -> None:
    press(page, "Space")
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")


def number(page: Page) -> int:
    """The event that is shown."""
    return int(re.sub(r"\D", "", page.locator(".number").inner_text()))


def shows_event(page: Page, seq: int) -> None:
    """The page comes to show that event."""
    grouped = f"{seq:,}".replace(",", r"\D")
    expect(page.locator(".number")).to_have_text(re.compile(rf"(?<!\d){grouped}(?!\d)"))


def console(page: Page, line: str) -> Locator:
    """Sends a line in the console; what it printed is below."""
    if not page.locator("#console-line").is_visible():
        press(page, "c")
    page.locator("#console-line").fill(line)
    page.keyboard.press("Enter")
    entry = page.locator("hw-console li", has=page.get_by_text(line, exact=True)).last
    expect(entry).to_be_visible()
    return entry


# Forms


def test_a_topic_and_records_by_the_forms(with_topic: Page) -> None:
    page = with_topic
    page.get_by_label("key", exact=True).fill("k1")
    page.get_by_label("value", exact=True).fill("it's a value")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 1")
    page.get_by_role("button", name="Produce 100").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 101")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator(".follower")).to_contain_text("at 101")
    page.get_by_role("button", name="Stream").click()
    expect(page.get_by_role("button", name="Stop", exact=False).first).to_be_visible()
    page.locator("hw-produce").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stream")).to_be_visible()


def test_a_record_of_which_the_key_is_null_and_acks_are_0(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("radio", name="0").click()
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 1")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator(".follower .records")).to_contain_text("null")


def test_a_refused_topic_is_one_clear_message(lab: Page) -> None:
    lab.get_by_role("button", name="Create orders").click()
    lab.get_by_label("Replication factor").fill("9")
    lab.get_by_role("dialog").get_by_role("button", name="Create topic").click()
    expect(lab.get_by_role("alert")).to_contain_text("9")
    lab.get_by_role("alert").get_by_role("button", name="Close").click()
    expect(lab.get_by_role("alert")).to_have_count(0)


def test_killing_and_starting_a_broker(with_topic: Page) -> None:
    page = with_topic
    row = page.locator(".nodes li", has_text="broker 2")
    row.get_by_role("button", name="Kill").click()
    expect(row).to_contain_text("down")
    row.get_by_role("button", name="Start").click()
    expect(row).to_contain_text("up", timeout=20_000)


# Console


def test_the_console_completes_remembers_and_says_no(with_topic: Page) -> None:
    page = with_topic
    expect(console(page, "kafka-topics.sh --list")).to_contain_text("orders")
    field = page.locator("#console-line")
    field.fill("kafka-top")
    page.keyboard.press("Tab")
    expect(field).to_have_value("kafka-topics.sh ")
    field.fill("")
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("kafka-topics.sh --list")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_value("")
    field.fill("frobnicate")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("frobnicate")
    expect(field).to_have_value("frobnicate")


def test_a_command_that_runs_can_be_interrupted(lab: Page) -> None:
    entry = console(lab, "sleep 600s")
    entry.get_by_role("button", name="Interrupt").click()
    expect(entry.get_by_role("button", name="Interrupt")).to_have_count(0)


# Time


def test_steps_back_and_on_and_home_and_now(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    here = number(page)
    press(page, ".")
    expect(page.locator(".number")).not_to_have_text(re.compile(rf"\b{here}$"))
    there = number(page)
    press(page, ",")
    expect(page.locator(".tp .tag")).to_contain_text("PAST")
    shows_event(page, there - 1)
    press(page, "Home")
    expect(page.locator(".number")).to_have_text("event 1")
    expect(page).to_have_url(re.compile(r"#seq=1$"))
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")
    shows_event(page, there)
    press(page, "Enter")
    expect(page.locator(".number")).not_to_have_text(re.compile(rf"\b{there}$"))


def test_an_address_with_an_instant_opens_there(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    press(page, "5")
    expect(page).to_have_url(re.compile(r"[?&]t=\d+\.\d{6}"))
    there, clock = number(page), page.locator(".clock").inner_text()
    page.reload()
    expect(page.locator(".clock")).to_have_text(clock)
    shows_event(page, there)
    press(page, ",", ",")
    expect(page).to_have_url(re.compile(rf"#seq={there - 2}$"))
    page.reload()
    shows_event(page, there - 2)


def test_acting_in_the_past_asks_and_forks(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    old = page.url
    press(page, ",", ",", "p")
    dialog = page.get_by_role("dialog", name="This is the past")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    press(page, "p")
    dialog.get_by_role("button", name="Fork here").click()
    expect(page).to_have_url(re.compile(r"/main-2"), timeout=10_000)
    expect(page.locator("hw-branches")).to_contain_text("1 fork")
    page.locator("hw-branches summary").click()
    page.get_by_role("link", name="main from the beginning").click()
    expect(page).to_have_url(re.compile(re.escape(old.split("?")[0]) + r"(\?|$)"))


def test_speed(lab: Page) -> None:
    press(lab, "[")
    expect(lab.locator(".speed b")).to_have_text("1/2×")
    press(lab, "]", "]")
    expect(lab.locator(".speed b")).to_have_text("2×")


def test_a_bookmark_stands_on_the_timeline(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    press(page, "m")
    page.get_by_label(re.compile("Name of the bookmark")).fill("before the storm")
    page.get_by_role("button", name="Save bookmark").click()
    expect(page.get_by_role("status").filter(has_text="before the storm")).to_be_visible()


# Looking


def test_the_inspector_follows_the_selection(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("HW 1")
    pause(page)
    press(page, "Alt+1")
    inspector = page.locator("#inspector")
    expect(inspector).to_contain_text("broker epoch")
    page.locator(".hw-lane.leader").first.press("Enter")
    expect(inspector).to_contain_text("'s view of orders-0")
    inspector.get_by_role("button", name="1", exact=True).first.click()
    expect(inspector).to_contain_text("Why")
    expect(inspector.locator(".chain li")).not_to_have_count(0)


def test_find_goes_to_an_offset_and_shows_its_bytes(with_topic: Page) -> None:
    page = with_topic
    page.get_by_label("value", exact=True).fill("hello")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("HW 1")
    pause(page)
    press(page, "/")
    page.get_by_role("textbox", name="Find").fill("orders-0 0")
    page.keyboard.press("Enter")
    inspector = page.locator("#inspector")
    expect(inspector).to_contain_text("hello")
    expect(inspector).to_contain_text("committed")
    expect(inspector.locator(".hex")).to_contain_text("68")
    inspector.get_by_role("button", name="files").click()
    expect(inspector.locator(".file-list")).to_contain_text("00000000000000000000.log")
    inspector.get_by_role("button", name="bytes", exact=True).click()
    expect(inspector.locator(".leg")).to_contain_text("partitionLeaderEpoch")


def test_the_znode_tree_by_keys(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("tab", name="znodes").click()
    page.get_by_role("treeitem", name="ids").click()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".data")).to_contain_text("PLAINTEXT://")


def test_the_table_says_the_same_and_sorts(with_topic: Page) -> None:
    page = with_topic
    press(page, "v")
    table = page.locator(".facts-table", has=page.get_by_role("heading", name="Replicas"))
    expect(table.locator("tbody tr")).to_have_count(9)
    before = table.locator("tbody tr").first.inner_text()
    table.get_by_role("button", name="partition").click()
    expect(table.locator("tbody tr").first).not_to_have_text(before)
    table.locator("tbody tr").first.click()
    expect(page.locator("#inspector")).to_contain_text("Segments")
    press(page, "v")
    expect(page.locator(".hw-partition")).not_to_have_count(0)


def test_single_letters_can_be_switched_off(lab: Page) -> None:
    press(lab, "?")
    lab.get_by_label("Single-letter keys").uncheck()
    lab.get_by_role("dialog").get_by_role("button", name="Close").click()
    press(lab, "v")
    expect(lab.locator("hw-table")).to_be_hidden()
    press(lab, "Space")
    expect(lab.locator(".tp .tag")).to_contain_text("PAUSED")


def test_letters_in_a_field_are_letters(lab: Page) -> None:
    press(lab, "c")
    lab.locator("#console-line").press_sequentially("vbmk?")
    expect(lab.locator("#console-line")).to_have_value("vbmk?")
    expect(lab.get_by_role("dialog")).to_have_count(0)


# Exercise


def step_until(page: Page, reached: Callable[[], bool]) -> None:
    for _ in range(60):
        if reached():
            return
        before = page.locator(".number").inner_text()
        press(page, "Enter")
        expect(page.locator(".number")).not_to_have_text(before)
    raise AssertionError("60 messages were not enough")


def test_the_exercise_from_start_to_debrief(lab: Page) -> None:
    page = lab
    page.get_by_role("tab", name="Exercise").click()
    page.get_by_role("button", name="Start: The high watermark").click()
    expect(page.locator(".step.now .n")).to_have_text("1")
    for line in page.locator(".step.now .code-line").all_inner_texts():
        console(page, line)
    press(page, "c")

    def at(step: str) -> Callable[[], bool]:
        return lambda: page.locator(".step.now .n").inner_text() == step

    step_until(page, at("2"))
    step_until(page, at("3"))
    page.get_by_role("button", name="Hint 1 of").click()
    expect(page.locator(".hint.shown")).to_have_count(1)
    page.get_by_role("radio").nth(1).click()
    page.get_by_role("button", name="Lock in").click()
    expect(page.locator(".verdict")).to_contain_text("it was")
    step_until(page, lambda: page.locator(".debrief").count() == 1)
    expect(page.locator(".cap", has_text="Exercise 1")).to_contain_text("finished")


# Languages, themes, widths, connections


def test_chinese_and_light_without_losing_the_place(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    press(page, ",")
    expect(page).to_have_url(re.compile(r"#seq=\d+$"))
    there = number(page)
    page.get_by_role("link", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.get_by_role("button", name="生产一条")).to_be_visible()
    expect(page.locator(".tp .tag")).to_contain_text("过去")
    shows_event(page, there)
    page.get_by_role("link", name="深色或浅色").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


@pytest.mark.parametrize("size", [TABLET, PHONE], ids=["tablet", "phone"])
def test_nothing_sticks_out_of_a_narrow_window(with_topic: Page, size) -> None:
    page = with_topic
    page.set_viewport_size(size)
    page.reload()
    expect(partition(page, "orders-0")).to_contain_text("HW 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    for selector in (".tbtn .play", ".clock", ".rail", "#inspector .tabs"):
        box = page.locator(selector).bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= size["width"], selector


def test_the_exercise_is_a_drawer_in_a_narrow_window(lab: Page) -> None:
    lab.set_viewport_size(TABLET)
    lab.reload()
    expect(lab.locator("#side")).to_be_hidden()
    press(lab, "e")
    expect(lab.locator("#side")).to_be_visible()
    press(lab, "e")
    expect(lab.locator("#side")).to_be_hidden()


def test_the_inspector_is_a_sheet_on_a_phone(lab: Page) -> None:
    lab.set_viewport_size(PHONE)
    lab.reload()
    lab.get_by_role("tab", name="znodes").click()
    expect(lab.get_by_role("treeitem", name="brokers")).to_be_visible()
    lab.get_by_role("button", name="Close the inspector").click()
    expect(lab.get_by_role("treeitem", name="brokers")).not_to_be_in_viewport()


def test_a_second_page_sees_the_same(with_topic: Page, complaints: list[str]) -> None:
    page = with_topic
    other = page.context.new_page()
    other.on("pageerror", lambda error: complaints.append(error.message))
    other.goto(page.url)
    expect(partition(other, "orders-0")).to_contain_text("LEO 0")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(other, "orders-0")).to_contain_text("LEO 1")
    pause(other)
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")


def test_a_lost_connection_says_so_and_comes_back(page: Page, lab_server: LabServer, complaints: list[str]) -> None:
    sockets: list[WebSocketRoute] = []
    is_down = False

    def pass_on(route: WebSocketRoute) -> None:
        sockets.append(route)
        if is_down:
            route.close(code=1012)
        else:
            route.connect_to_server()

    page.route_web_socket(re.compile("/ws/runs/"), pass_on)
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    page.get_by_role("button", name="Start the cluster").click()
    expect(page.locator(".nodes .state.up")).to_have_count(3, timeout=10_000)
    is_down = True
    sockets[-1].close(code=1012)
    expect(page.locator("hw-connection")).to_contain_text("Connection lost")
    is_down = False
    expect(page.locator("hw-connection")).to_have_text("", timeout=20_000)
    assert len(sockets) > 1
    expect(console(page, "kafka-topics.sh --list")).not_to_contain_text("running")


# Analytics


def test_charts_come_one_by_one_and_a_click_seeks(lab: Page) -> None:
    page = lab
    # the charts below are of the first three seconds, in most of which nothing happens
    expect(page.locator(".clock")).to_have_text(re.compile(r"^00:(0[3-9]|[1-5])"), timeout=30_000)
    pause(page)
    rows = {
        "isr": [["orders-0", 1, "leader", 0, 3_000_000], ["orders-0", 2, "isr", 0, 3_000_000]],
        "offsets": [
            ["orders-0@b1", "log_end_offset", 1_000_000, 4],
            ["orders-0@b1", "high_watermark", 1_000_000, 4],
        ],
    }
    found = [figures({"isr": rows["isr"]}, 3_000_000, "en"), figures(rows, 3_000_000, "en", ["isr"])]
    # the next answer comes when the page has shown what the one before it says, and is given until then
    answers = [
        {"state": "queued", "progress": 0, "stage": "", "figures": None, "error": None},
        {"state": "running", "progress": 0.5, "stage": "isr", "figures": found[0], "error": None},
        {"state": "done", "progress": 1, "stage": "done", "figures": found[1], "error": None},
    ]
    page.route("**/analytics/start", lambda route: route.fulfill(json={"job": "j1"}))
    page.route("**/analytics/j1.json*", lambda route: route.fulfill(json=answers[0]))
    page.get_by_role("link", name="Analytics").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    del answers[0]
    expect(page.get_by_role("heading", name="In-sync replicas")).to_be_visible()
    del answers[0]
    expect(page.get_by_role("heading", name="LEO and high watermark")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    leader = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--leader').trim()")
    drawn = page.evaluate(
        "[...document.querySelectorAll('.plot')].flatMap(plot => plot.data.map(({line}) => line?.color))"
    )
    assert leader in drawn and not any(colour and colour.startswith("--") for colour in drawn)
    box = page.locator(".plot").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"/main\?t=\d\.\d{6}"))


def test_an_analysis_that_fails_says_what_to_do(lab: Page, complaints: list[str]) -> None:
    page = lab
    refusal = {"what": "Spark did not start.", "expected": "Java 17 was expected.", "todo": "Install it."}
    page.route("**/analytics/start", lambda route: route.fulfill(status=503, json=refusal))
    page.goto(page.url.split("?")[0] + "/analytics")
    for sentence in refusal.values():
        expect(page.get_by_role("alert")).to_contain_text(sentence)
    page.unroute("**/analytics/start")
    assert all("503" in complaint for complaint in complaints)
    complaints.clear()


def test_the_list_of_runs_works_without_javascript(lab_server: LabServer, browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}")
    page.get_by_label("Name", exact=True).last.fill("Without scripts")
    page.get_by_role("button", name="Start the cluster").click()
    page.goto(f"{lab_server.address}/runs/")
    run = page.locator(".run", has_text="Without scripts")
    run.locator("summary").click()
    run.get_by_role("textbox", name="Name").fill("Renamed")
    run.get_by_role("button", name="Rename").click()
    run = page.locator(".run", has_text="Renamed")
    run.locator("summary").click()
    run.get_by_role("button", name="Duplicate").click()
    expect(page.locator(".run", has_text="Renamed")).to_have_count(2)
    for _ in range(2):
        run = page.locator(".run", has_text="Renamed").first
        run.locator("summary").click()
        run.get_by_role("checkbox").check()
        run.get_by_role("button", name="Delete").click()
    expect(page.locator(".run", has_text="Renamed")).to_have_count(0)
    page.get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", name="你的运行")).to_be_visible()
    context.close()
