"""The lab's page in a real browser against the real server: going through time, an exercise, the charts of a run."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from devtools.tour.lab_page import newest_event
from lab.analytics.figures.bands import bands
from lab.analytics.figures.parts import Figure, Words
from lab.analytics.figures.stored import STORED, figure_of
from lab.analytics.serve.heads import with_heads
from lab.exercises.loader import exercises
from tests.support.lab_page import (
    MODULES,
    PHONE,
    WIDE,
    console,
    nothing_sticks_out,
    number,
    pause,
    press,
    shows_event,
    wait_until,
)
from tests.support.lab_server import LabServer

# Time


def test_step_back_forward_home_and_live(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    here = page.locator(".number").inner_text()
    press(page, ".")
    expect(page.locator(".number")).not_to_have_text(here)
    there = newest_event(page)
    shows_event(page, there)
    press(page, ",")
    expect(page.locator(".tp .tag")).to_contain_text("PAST")
    shows_event(page, there - 1)
    press(page, "Home")
    expect(page.locator(".number")).to_have_text("event 1")
    expect(page).to_have_url(re.compile(r"#seq=1$"))
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.locator(".tp .tag")).to_contain_text("PAUSED")
    shows_event(page, there)
    here = page.locator(".number").inner_text()
    press(page, "Enter")
    expect(page.locator(".number")).not_to_have_text(here)


def test_stepping_shows_the_last_messages_close_up_until_it_is_played(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    page.evaluate(MODULES)
    assert page.evaluate(_SPAN_US) > 1_000_000
    for _ in range(4):
        before = page.locator(".number").inner_text()
        press(page, "Enter")
        expect(page.locator(".number")).not_to_have_text(before)
    wait_until(page, f"async () => await ({_SPAN_US})() < 100_000")
    press(page, "Space")
    wait_until(page, f"async () => await ({_SPAN_US})() > 1_000_000")


_SPAN_US = """async () => (await moduleOf("/ui/pages/lab/stage.js")).stage.peek().cameras.window.span_us"""


def test_transport_of_the_past_fits_its_window(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    address = page.url.partition("?")[0]
    # English last: the choice is remembered.
    for language in ("zh-CN", "en"):
        page.goto(f"{address}?language={language}#seq=1")
        for width in (1280, 1279, 1024):
            page.set_viewport_size({"width": width, "height": 800})
            expect(page.locator(".tp .now")).to_be_visible()
            page.wait_for_function(_TRANSPORT_FITS, arg=width, timeout=20_000)


_TRANSPORT_FITS = """(width) => {
  const transport = document.querySelector(".tp");
  return innerWidth === width && document.documentElement.scrollWidth <= width
    && transport.scrollWidth <= transport.clientWidth;
}"""


def test_address_with_an_instant_opens_there(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    press(page, "5")
    expect(page).to_have_url(re.compile(r"[?&]t=\d+\.\d{6}"))
    # the address may be written before the clock is
    seconds, millis, micros = re.findall(r"[?&]t=(\d+)\.(\d{3})(\d{3})", page.url)[0]
    clock = re.compile(rf"\b{int(seconds) % 60:02}\.{millis}\s{micros} µs")
    expect(page.locator(".clock")).to_have_text(clock)
    there = number(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page, "s")
    expect(page.get_by_role("status").filter(has_text="Copied the link to")).to_be_visible()
    assert f"t={int(seconds)}.{millis}{micros}&" in page.evaluate("navigator.clipboard.readText()")
    page.reload()
    expect(page.locator(".clock")).to_have_text(clock)
    shows_event(page, there)
    press(page, ",", ",")
    expect(page).to_have_url(re.compile(rf"#seq={there - 2}$"))
    page.reload()
    shows_event(page, there - 2)


def test_action_in_the_past_asks_and_forks(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    old = page.url
    press(page, ",", ",", "p")
    dialog = page.get_by_role("dialog", name="Viewing the past")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    press(page, "p")
    dialog.get_by_role("button", name="Fork here").click()
    expect(page).to_have_url(re.compile(r"/main-2"))
    expect(page.locator("hw-branches")).to_contain_text("1 fork")
    page.locator("hw-branches summary").click()
    page.get_by_role("link", name="main from the start of the run").click()
    expect(page).to_have_url(re.compile(re.escape(old.split("?")[0]) + r"(\?|$)"))


def test_speed_is_chosen_and_shown(lab: Page) -> None:
    press(lab, "[")
    expect(lab.locator(".speed b")).to_have_text("1/2×")
    press(lab, "]", "]")
    expect(lab.locator(".speed b")).to_have_text("2×")


def test_bookmark_is_announced_and_run_pauses_when_the_chosen_condition_is_met(with_topic: Page) -> None:
    page = with_topic
    pause(page)
    press(page, "m")
    page.get_by_label(re.compile("Bookmark name")).fill("before the storm")
    page.get_by_role("button", name="Save bookmark").click()
    expect(page.get_by_role("status").filter(has_text="before the storm")).to_be_visible()
    press(page, "u")
    dialog = page.get_by_role("dialog", name="Pause when a condition is met")
    field = dialog.get_by_label("Condition")
    expect(dialog.locator("option[value='isr orders-0 shrinks']")).to_have_count(1)
    field.fill("isr orders-0 explodes")
    dialog.get_by_role("button", name="Pause there").click()
    expect(page.get_by_text("Cannot pause at isr orders-0 explodes.")).to_be_visible()
    field.fill("leader orders-0 elected")
    dialog.get_by_role("button", name="Pause there").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".pause-when")).to_contain_text("leader orders-0 elected")
    page.get_by_role("slider", name="Speed").fill("1")
    console(page, "broker kill 1")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Paused: leader orders-0 elected.")).to_be_visible()
    expect(page.locator(".pause-when")).to_have_count(0)


# Exercise


def step_until(page: Page, reached: Callable[[], bool]) -> None:
    for _ in range(60):
        if reached():
            return
        before = page.locator(".number").inner_text()
        press(page, "Enter")
        expect(page.locator(".number")).not_to_have_text(before)
    raise AssertionError("60 messages were not enough")


def test_exercise_from_start_to_debrief(lab: Page) -> None:
    page = lab
    page.get_by_role("tab", name="Lesson").click()
    expect(page.locator("hw-exercise .ex-card")).to_have_count(len(exercises()))
    expect(page.locator("hw-exercise .ex-card.next")).to_have_count(1)
    # another test of this process may have finished it
    page.get_by_role("button", name=re.compile("^(Start|Repeat the lesson): The high watermark")).click()
    expect(page.locator(".step.now .n")).to_have_text("1")
    for line in page.locator(".step.now .code-line").all_inner_texts():
        console(page, line)
    press(page, "c")

    def at(step: str) -> Callable[[], bool]:
        return lambda: page.locator(".step.now .n").inner_text() == step

    step_until(page, at("2"))
    step_until(page, at("3"))
    page.get_by_role("tab", name="RPCs").click()
    page.locator("hw-rpcs").get_by_role("button", name=re.compile("Fetch")).first.click()
    expect(page.locator("#inspector")).to_contain_text("hidden until you predict")
    page.get_by_role("button", name="Hint 1 of").click()
    expect(page.locator(".hint.shown")).to_have_count(1)
    page.get_by_role("radio").nth(1).click()
    # what the steps behind the question say, and what it is all about, would be the answer
    expect(page.locator(".step")).to_have_count(4)
    expect(page.locator(".step").nth(3)).to_contain_text("2 more steps follow")
    expect(page.locator(".concept")).to_have_count(0)
    page.get_by_role("radio", name="70 %").click()
    page.get_by_role("button", name="Lock in").click()
    expect(page.locator(".step").nth(3)).to_contain_text("passes the record")
    expect(page.locator(".concept")).to_have_count(0)
    expect(page.locator(".verdict")).to_contain_text("the outcome was")
    step_until(page, lambda: page.locator(".debrief").count() == 1)
    expect(page.locator(".concept")).to_have_count(1)
    expect(page.locator(".cap", has_text="Lesson 4.")).to_contain_text("finished")


# Analytics


def has_theme_and_faults(page: Page) -> None:
    """Two charts have the colours of the theme, and the faults that are listed above them behind their marks."""
    leader = page.evaluate(
        "() => { const probe = document.body.appendChild(document.createElement('i'));"
        " probe.style.color = 'var(--leader)'; return getComputedStyle(probe).color; }"
    )
    drawn = page.evaluate(
        "[...document.querySelectorAll('.plot')].flatMap(plot => plot.data.map(({line}) => line?.color))"
    )
    assert leader in drawn and not any(colour and colour.startswith("--") for colour in drawn)
    shades = page.evaluate(
        "[...document.querySelectorAll('.plot')].map(({layout: {shapes}}) =>"
        " shapes.filter(({type}) => type === 'rect').map(({x0, x1}) => [x0, x1]))"
    )
    assert shades == [[[1.2, 2], [2.2, 3]]] * 2
    expect(page.locator(".bands li")).to_have_text(["b2 down 1.200 – 2.000 s", "link b1 – b3 cut since 2.200 s"])


def isr_and_offsets() -> list[Figure]:
    """Two charts of a replica that leads."""
    orders = {"topic": "orders", "incarnation": 1, "partition": 0, "broker": 1}
    roles = [{**orders, "role": "leader", "at_us": 0, "from_us": 0, "to_us": 3_000_000, "seq": 8}]
    positions = [
        {**orders, "measure": measure, "at_us": 1_000_000, "value": 4, "seq": 9}
        for measure in ("log_end", "high_watermark")
    ]
    return [
        with_heads(figure_of(STORED[name], rows, Words("en"), *beside, internal=False) or {}, STORED[name], "en")
        for name, rows, beside in (("isr", roles, ()), ("offsets", positions, (roles,)))
    ]


def test_charts_appear_one_by_one_and_a_click_seeks(lab: Page) -> None:
    page = lab
    # the charts below are of the first three seconds, in most of which nothing happens
    expect(page.locator(".clock")).to_have_text(re.compile(r"^(00:(0[3-9]|[1-5])|0[1-9]:)"))
    pause(page)
    faults = [
        {"fault": "stopped", "subject": "2", "other": "", "from_seq": 5, "from_us": 1_200_000, "to_us": 2_000_000},
        {"fault": "link cut", "subject": "b1", "other": "b3", "from_seq": 6, "from_us": 2_200_000, "to_us": None},
    ]
    isr, offsets = isr_and_offsets()
    # the next answer comes when the page has shown what the one before it says, and is given until then
    stored = {"made_to": 0, "last_seq": 9, "figures": {}, "internal": 0, "damage": [], "bands": [], "faults": 0}
    address = f"/api/runs/{page.url.split('/r/')[1].split('/')[0]}/main/analytics/tables.json"
    assert page.evaluate("async (at) => Object.keys(await (await fetch(at)).json()).sort()", address) == sorted(stored)
    answers = [
        ({"state": "queued", "progress": 0, "stage": "", "published": 0, "error": None}, stored),
        (
            {"state": "running", "progress": 0.5, "stage": "tables", "published": 1, "error": None},
            {**stored, "figures": {"isr": isr}},
        ),
        (
            {"state": "done", "progress": 1, "stage": "done", "published": 2, "error": None},
            {
                **stored,
                "made_to": 9,
                "figures": {"offsets": offsets, "isr": isr},
                "bands": bands(faults, 3_000_000, Words("en")),
                "faults": 2,
            },
        ),
    ]
    page.route("**/analytics/tables.json", lambda route: route.fulfill(json=answers[0][1]))
    page.route("**/analytics/tables/start", lambda route: route.fulfill(json={"job": "j1"}))
    page.route("**/analytics/tables/j1.json", lambda route: route.fulfill(json=answers[0][0]))
    page.get_by_role("link", name="Analytics").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.route("**/analytics/tables/j1/cancel", lambda route: route.fulfill(json={"state": "running"}))
    with page.expect_request("**/analytics/tables/j1/cancel"):
        page.get_by_role("button", name="Cancel").click()
    del answers[0]
    expect(page.get_by_role("heading", name="In-sync replicas")).to_be_visible()
    del answers[0]
    expect(page.get_by_role("heading", name="LEO and high watermark")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    has_theme_and_faults(page)
    expect(page.locator("hw-chart").nth(1).locator("th")).to_contain_text(
        ["topic", "partition", "broker", "role of the"]
    )
    marks = page.evaluate("document.querySelector('.plot').data.flatMap(({customdata}) => customdata)")
    assert [1_000_000, 9] in marks
    box = page.locator(".plot").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"/main\?t=\d\.\d{6}"))


def test_failed_analysis_is_explained(lab: Page, complaints: list[str]) -> None:
    page = lab
    refusal = {"what": "Spark did not start.", "expected": "Java 17 was expected.", "todo": "Install it."}
    page.route("**/analytics/tables/start", lambda route: route.fulfill(status=503, json=refusal))
    page.goto(page.url.split("?")[0] + "/analytics")
    for sentence in refusal.values():
        expect(page.get_by_role("alert")).to_contain_text(sentence)
    page.unroute("**/analytics/tables/start")
    assert all("503" in complaint for complaint in complaints)
    complaints.clear()


def test_list_of_runs_works_without_javascript(lab_server: LabServer, browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/runs/")
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
        run.get_by_role("checkbox", name="Permanently delete").check()
        run.get_by_role("button", name="Delete").click()
    expect(page.locator(".run", has_text="Renamed")).to_have_count(0)
    page.get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", name="你的运行")).to_be_visible()
    context.close()


# Legends of charts in a narrow window

PHASES = ("finding the coordinator", "joining", "stable", "syncing", "without an owner", "rebalance failed")
HEIGHT = 176


def figure_with_legend(names: tuple[str, ...]) -> dict[str, Any]:
    bars = [
        {"type": "bar", "orientation": "h", "y": ["g · c1"], "base": [number], "x": [1], "name": name,
         "showlegend": True, "customdata": [None], "marker": {"color": "--leader"}}
        for number, name in enumerate(names)
    ]  # fmt: skip
    return {
        "data": bars, "layout": {"height": HEIGHT, "barmode": "overlay"},
        "table": {"columns": [], "rows": [], "count": 0},
    }  # fmt: skip


@pytest.fixture
def charts(lab: Page) -> Page:
    """The page with one chart, whose legend has a line for each bar in a narrow window."""
    stored = {
        "made_to": 9, "last_seq": 9, "figures": {"rebalances": figure_with_legend(PHASES)}, "internal": 0, "bands": [],
        "faults": 0, "damage": [],
    }  # fmt: skip
    lab.route("**/analytics/tables.json*", lambda route: route.fulfill(json=stored))
    return lab


def test_legend_has_all_its_lines_and_the_marks_keep_their_height(charts: Page) -> None:
    page = charts
    address = f"{page.url.partition('?')[0].rstrip('/')}/analytics"
    heights = []
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        page.goto(address)
        expect(page.locator("hw-chart .legend .traces")).to_have_count(len(PHASES))
        nothing_sticks_out(page)
        marks = page.locator("hw-chart .plot .nsewdrag")
        page.wait_for_function(_HAS_ROOM)
        box = marks.bounding_box()
        assert box is not None
        heights.append(box["height"])
    assert heights[1] > heights[0] - 30


#: The legend ends above the marks, and is not cut.
_HAS_ROOM = """() => {
  const place = (name) => document.querySelector(`hw-chart .plot ${name}`).getBoundingClientRect();
  const names = [...document.querySelectorAll("hw-chart .legend text")].map((name) => name.getBoundingClientRect());
  const legend = place(".legend .bg");
  return legend.bottom <= place(".nsewdrag").top + 2 && names.every((name) => name.bottom <= legend.bottom + 2);
}"""
