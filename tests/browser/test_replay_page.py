"""The replay of a recorded class in a real browser."""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from lab.actions.classes.live_class import class_folder
from lab.classroom.audio import store
from tests.support.axe import violations
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.class_pages import Page as ClassPage
from tests.support.classroom.sound import LENGTH_US, SLICES
from tests.support.lab_page import PHONE, WIDE, be, nothing_sticks_out
from tests.support.lab_server import PATIENCE_S, LabServer

ASKED = "Why does the high watermark wait?"
REPEATED = """async () => {
  const head = document.querySelector("hw-replay-bar .head");
  for (let returns = 0, before = 0, left = 3000; returns < 2; ) {
    if (!left--) throw new Error("it is not repeated");
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const now = parseFloat(head.style.left);
    if (now < before) returns++;
    before = now;
  }
}"""
HEARD = """async () => {
  const voice = document.getElementById("voice");
  while (voice.currentTime < 0.3) await new Promise((resolve) => requestAnimationFrame(resolve));
  return voice.src;
}"""


def stands(teacher: ClassPage) -> None:
    """Reads until the class knows that the leading lab is paused."""
    while (teacher.held.get("/lead_lab") or {}).get("mode") != "pause":
        teacher.read()


def keep_sound(slug: str) -> None:
    """Five seconds of a tone, from the begin of the class on."""
    folder, about = class_folder(slug), store.Arriving(0, "audio/webm")
    for index, data in enumerate(SLICES):
        store.put_slice(folder, 0, index, about, data, sha256(data).hexdigest())
    store.finish(folder, 0, len(SLICES), LENGTH_US, [])


@pytest.fixture(scope="module")
def recorded(lab_server: LabServer) -> Iterator[Classroom]:
    """A class in which a lab led: a topic was created, a poll was taken, a learner asked, and a broker was killed."""
    made = Classroom(lab_server, chapter="001-high-watermark-two-fetches")
    slug = made.visitors["p1"].new_run(name="The lab that led")
    with (
        made.page("p1") as teacher,
        made.page("p2") as ada,
        made.page("p3") as noah,
        made.visitors["p1"].socket(slug) as lab,
    ):
        teacher.until("snap")
        assert teacher.act("take_lead", lab=f"{slug}/main")["k"] == "done"
        assert teacher.act("add_chapter", text="A topic", lang="en")["k"] == "done"
        lab.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
        lab.run("producer open p1 --acks all")
        lab.run("producer send p1 orders --value a --count 5")
        lab.ask({"k": "time", "op": "pause"})
        stands(teacher)
        at = {"lab": f"{slug}/main", "seq": 1, "at_us": 0, "selection": "", "screen": "picture"}
        assert ada.act("ask", text=ASKED, lang="en", named=False, at=at)["k"] == "done"
        poll: dict[str, Any] = {
            "form": "choice",
            "text": "Who leads?",
            "lang": "en",
            "choices": ["b1", "b2"],
            "anonymous": False,
        }
        assert teacher.act("make_poll", **poll)["k"] == "done"
        assert teacher.act("open_poll", poll=1)["k"] == "done"
        assert ada.act("vote", poll=1, answer="0", sure=80)["k"] == "done"
        assert noah.act("vote", poll=1, answer="1", sure=60)["k"] == "done"
        assert teacher.act("close_poll", poll=1)["k"] == "done"
        assert teacher.act("add_chapter", text="A broker dies", lang="en")["k"] == "done"
        assert teacher.act("draw", anchor="broker:b1", points=[[-50, -80], [1050, -80], [1050, 1080]])["k"] == "done"
        lab.run("broker kill 1")
        last_seq = lab.events()[-1][0]
        while teacher.held["/lead_lab"]["seq"] < last_seq:
            teacher.read()
        typed = {"from_us": 10**12, "to_us": 10**12, "text": "b1 is <b>gone</b>"}
        recording = f"/api/classes/{made.slug}/recording"
        assert made.visitors["p1"].post_json(f"{recording}/captions/en/cues", typed).status == 200
        keep_sound(made.slug)
        assert teacher.act("end_class")["k"] == "done"
    yield made
    made.close()


@pytest.fixture
def replay(page: Page, recorded: Classroom, complaints: list[str]) -> Page:
    page.set_viewport_size(WIDE)
    be(page, recorded.visitors["p1"])
    page.goto(f"{recorded.server.address}/classes/{recorded.slug}/replay/")
    expect(page.locator("hw-replay-bar .track")).to_be_visible()
    return page


def test_replay_shows_the_class_and_the_lab_as_they_were(replay: Page, recorded: Classroom) -> None:
    replay.get_by_role("button", name="A topic").first.click()
    expect(replay.locator("hw-replay-poll")).not_to_contain_text("Who leads?")
    replay.get_by_role("button", name="A broker dies").first.click()
    expect(replay.locator(".hw-node.broker.up")).to_have_count(3)
    expect(replay.locator("hw-replay-poll")).to_contain_text("Who leads?")
    expect(replay.locator("hw-heat")).to_contain_text("Participant 2")
    expect(replay.locator("hw-heat .heat-legend")).to_contain_text("done with hints")
    frame = replay.locator("hw-heat .heat-frame")
    assert frame.evaluate("(frame) => frame.scrollWidth <= frame.clientWidth"), "the last column is cut off"
    expect(replay.locator(".hw-ink polyline")).to_have_count(0)
    replay.get_by_role("button", name="Questions 1").click()
    expect(replay.get_by_role("button", name=ASKED)).to_be_visible()
    for part in ("hw-replay-stage-bar", ".replay-dock", ".replay-side", "header"):
        assert violations(replay, within=part) == [], part


def test_axe_finds_nothing_in_the_replay(replay: Page) -> None:
    """Acceptance statement 25, of the replay. Names of lanes and cards describe the figures on them in words."""
    drawn = re.compile(r'label-content-name-mismatch: <g [^>]*class="hw-(lane|node|dock) ')
    for look in ("language=en&theme=dark", "language=zh-CN&theme=light"):
        replay.goto(f"{replay.url.split('?')[0]}?{look}&at=99:59")
        expect(replay.locator(".hw-node.broker.up")).to_have_count(2)
        for size in (WIDE, PHONE):
            replay.set_viewport_size(size)
            assert [one for one in violations(replay) if not drawn.match(one)] == [], (look, size)


def test_a_picture_or_a_page_that_cannot_be_loaded_is_explained_and_loaded_again(
    page: Page, recorded: Classroom
) -> None:
    be(page, recorded.visitors["p1"])
    page.set_viewport_size(WIDE)
    page.route("**/labs/*/segments/*", lambda route: route.abort())
    page.goto(f"{recorded.server.address}/classes/{recorded.slug}/replay/")
    message = page.locator("hw-replay-empty .message")
    expect(message).to_contain_text("The lab does not respond. This page loads the recording from the lab")
    page.unroute("**/labs/*/segments/*")
    message.get_by_role("button", name="Try again").click()
    expect(page.locator(".hw-node.broker.up").first).to_be_visible()
    expect(message).to_have_count(0)
    page.route("**/recording/page.*", lambda route: route.abort())
    page.get_by_role("button", name="Save as a page").click()
    expect(page.locator("hw-replay-save .message")).to_contain_text("Check your connection to the lab")
    page.unroute("**/recording/page.*")
    page.get_by_role("radio", name="A to B").check()
    expect(page.locator("hw-replay-save")).to_contain_text("Size of the page: about")


def test_failed_read_ahead_leaves_the_picture_without_a_message(page: Page, recorded: Classroom) -> None:
    def grown(route: Route) -> None:
        index = route.fetch().json()
        newest = index["segments"][-1]
        later = {key: value + 1 for key, value in newest.items() if key in ("n", "last_seq", "last_at_us")}
        later |= {"first_seq": later["last_seq"], "first_at_us": later["last_at_us"]}
        index["segments"].append(later)
        route.fulfill(json=index | {key: later[key] for key in ("last_seq", "last_at_us")})

    be(page, recorded.visitors["p1"])
    page.set_viewport_size(WIDE)
    ahead: list[str] = []
    page.route("**/labs/*/index.json", grown)
    page.on("requestfailed", lambda request: ahead.append(request.url))
    # No segment but the first is there.
    page.route(re.compile(r"/labs/\d+/segments/[1-9]\d*\.json"), lambda route: route.abort())
    page.goto(f"{recorded.server.address}/classes/{recorded.slug}/replay/")
    expect(page.locator(".hw-node.broker.up").first).to_be_visible()
    page.get_by_role("button", name="A topic").first.click()
    while not ahead:
        page.wait_for_event("requestfailed")
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    expect(page.locator("hw-replay-empty .message")).to_have_count(0)


def test_stepping_moves_the_lab_alone_events_link_to_the_class_time_and_playing_ends_at_the_end(replay: Page) -> None:
    number = replay.locator("hw-replay-stage-bar .mono")
    is_there = re.compile(r"event [1-9]\d* of")
    expect(number).to_contain_text(is_there)
    begins = number.inner_text()
    replay.get_by_role("button", name="A broker dies").first.click()
    expect(number).not_to_have_text(begins)
    expect(number).to_contain_text(is_there)
    shown = number.inner_text()
    replay.keyboard.press(",")
    expect(number).not_to_have_text(shown)
    clock = replay.locator("hw-replay-transport .clock").inner_text()
    replay.get_by_role("button", name="Back to").click()
    expect(number).to_have_text(shown)
    assert replay.locator("hw-replay-transport .clock").inner_text() == clock
    replay.get_by_role("button", name="Events").click()
    replay.locator(".instants button", has_text="killed").click()
    expect(replay.locator(".hw-node.broker.up")).to_have_count(2)
    expect(replay.locator(".hw-ink polyline")).to_have_count(1)
    replay.keyboard.press("Home")
    expect(replay.locator(".hw-node.broker.up")).not_to_have_count(2)
    replay.get_by_role("button", name="4×").click()
    replay.keyboard.press(" ")
    expect(replay.locator(".hw-node.broker.up")).to_have_count(2)
    expect(replay.get_by_role("button", name="Play")).to_be_visible()


def test_notes_are_written_at_an_instant_found_again_and_deleted(replay: Page) -> None:
    replay.get_by_role("button", name="A broker dies").first.click()
    replay.keyboard.press("n")
    replay.get_by_label("Note at").fill("Look at <b>the epoch</b>")
    replay.get_by_label("for the whole class").check()
    replay.get_by_role("button", name="Save", exact=True).click()
    written = replay.locator(".instants li", has_text="Look at <b>the epoch</b>")
    expect(written).to_contain_text("for the class")
    replay.keyboard.press("Home")
    replay.keyboard.press("/")
    replay.keyboard.type("EPOCH look")
    expect(written).to_contain_text("note")
    written.get_by_role("button").first.click()
    expect(replay.locator(".hw-node.broker.up")).to_have_count(3)
    assert violations(replay, within=".replay-side") == []
    replay.get_by_role("button", name="Notes", exact=True).click()
    written.get_by_role("button", name="Delete").click()
    expect(written).to_have_count(0)
    # An answer that is not the lab's is said in a sentence.
    replay.route("**/recording/notes", lambda route: route.fulfill(status=200, body="<p>Maintenance</p>"))
    replay.keyboard.press("n")
    replay.get_by_label("Note at").fill("The epoch")
    replay.get_by_role("button", name="Save", exact=True).click()
    expect(replay.get_by_text("The lab returned status 200.")).to_be_visible()


def test_staff_set_chapters_after_the_class_and_a_typed_time_seeks(replay: Page) -> None:
    replay.get_by_role("searchbox").fill("0:59")
    replay.get_by_role("button", name="Go to 0:59").click()
    expect(replay.locator(".hw-node.broker.up")).to_have_count(2)
    replay.get_by_role("button", name="Chapters", exact=True).click()
    replay.get_by_role("button", name="Add a chapter here").click()
    replay.get_by_label("Chapter that begins").fill("Wrap-up")
    replay.keyboard.press("Enter")
    expect(replay.locator("hw-replay-bar .chapter", has_text="Wrap-up")).to_be_visible()
    replay.get_by_role("button", name="Delete: Wrap-up").click()
    expect(replay.locator("hw-replay-bar .chapter", has_text="Wrap-up")).to_have_count(0)
    replay.keyboard.press("?")
    expect(replay.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(replay, within="dialog") == []


def test_captions_are_shown_in_the_language_chosen_found_corrected_and_uploaded(
    replay: Page, complaints: list[str]
) -> None:
    """Acceptance statement 22: captions; and the delay of the sound."""
    replay.get_by_role("button", name="Transcript").click()
    for name, shown in (("50 ms later", "50 ms"), ("50 ms earlier", "0 ms")):
        replay.get_by_role("button", name=name).click()
        expect(replay.get_by_role("group", name="Delay of the sound").get_by_role("status")).to_have_text(shown)
    replay.locator(".instants button", has_text="b1 is <b>gone</b>").click()
    caption = replay.locator("hw-replay-caption")
    expect(caption).to_have_text("b1 is <b>gone</b>")
    replay.get_by_role("button", name="Correct: b1").click()
    replay.get_by_role("textbox", name="Caption").fill("Broker 1 is gone.")
    replay.get_by_role("button", name="Save", exact=True).click()
    expect(caption).to_have_text("Broker 1 is gone.")
    replay.keyboard.press("c")
    expect(caption).to_have_text("")
    replay.get_by_role("combobox", name="Language").select_option("zh-CN")
    upload = replay.locator("input[type=file]")
    bad = {"name": "a.vtt", "mimeType": "text/vtt", "buffer": b"WEBVTT\n\n00:00.000 --> 00:00.900\n<img src=x>"}
    upload.set_input_files(bad)  # type: ignore[arg-type]
    expect(replay.get_by_role("alert")).to_contain_text("Line 4 of the file contains markup")
    complaints.clear()
    said = "b1 已停止，" + "首领从其余副本中选出，" * 4
    chinese = f"WEBVTT\n\n00:00.000 --> 00:59.000\n{said}".encode()
    upload.set_input_files({**bad, "buffer": chinese})  # type: ignore[arg-type]
    expect(caption).to_have_text(said)
    replay.set_viewport_size(PHONE)
    nothing_sticks_out(replay)
    box = caption.locator(".caption").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"], "it wraps"
    replay.set_viewport_size(WIDE)
    replay.locator("hw-replay-transport").get_by_label("Captions").select_option("both")
    expect(caption.locator("p")).to_have_count(2)
    assert violations(replay, within=".replay-side") == []
    replay.get_by_role("searchbox").fill("broker gone")
    found = replay.locator(".instants li", has_text="Broker 1 is gone.")
    expect(found).to_contain_text("said")
    box = found.bounding_box()
    assert box is not None and box["height"] < 40, "on one line"


def test_the_time_is_dragged_and_a_passage_is_chosen_repeated_and_saved(replay: Page) -> None:
    bar = replay.locator("hw-replay-bar")
    head, track = bar.locator(".head"), bar.locator(".track").bounding_box()
    assert track is not None
    left, width, y = track["x"], track["width"], track["y"] + 20

    def drag(from_x: float, part: float) -> None:
        replay.mouse.move(from_x, y)
        replay.mouse.down()
        replay.mouse.move(left + width * part, y, steps=3)
        replay.mouse.up()

    drag(left + 2, 0.75)
    expect(head).to_have_attribute("style", re.compile(r"left: *7[45]"))
    replay.get_by_role("button", name="A broker dies").first.click()
    replay.keyboard.press("l")
    start = replay.get_by_role("slider", name="Start of the repeated passage")
    box = start.bounding_box()
    assert box is not None
    drag(box["x"] + box["width"] / 2, 0.02)
    expect(start).to_have_attribute("style", re.compile(r"left: *[12](\.|%)"))
    assert violations(replay, within="hw-replay-bar") == []
    replay.keyboard.press("End")
    replay.keyboard.press(" ")
    replay.evaluate(REPEATED)
    replay.get_by_role("button", name="Save as a page").click()
    expect(replay.get_by_role("radio", name="A to B")).to_be_checked()


def test_charts_of_the_lab_share_the_playhead_and_seek_the_class(replay: Page, recorded: Classroom) -> None:
    replay.get_by_role("button", name="A broker dies").first.click()
    expect(replay.locator("hw-replay-stage-bar .mono")).to_contain_text(re.compile(r"event [1-9]\d* of"))
    led = replay.evaluate(
        "async (base) => (await fetch(base)).json()", f"/api/classes/{recorded.slug}/recording/map.json"
    )
    first_us = next(row[3] for row in led if row[1] == 0)
    marks = {"x": [first_us / 1e6], "y": [1], "customdata": [first_us], "mode": "markers", "marker": {"size": 90}}
    figure = {"data": [marks], "layout": {}, "table": {"columns": [], "rows": [], "count": 0}}
    stored = {"made_to": 1, "last_seq": 1, "internal": 0, "damage": [], "figures": {"offsets": figure}}
    replay.route("**/analytics/tables.json", lambda route: route.fulfill(json=stored))
    replay.get_by_role("button", name="Charts").click()
    chart = replay.locator("hw-replay-charts hw-chart")
    expect(chart.locator(".shapelayer path")).to_have_count(1)
    expect(replay.locator("#timeline")).to_be_hidden()
    line = chart.locator(".shapelayer path").get_attribute("d")
    shown = replay.locator("hw-replay-stage-bar .mono")
    before = shown.inner_text()
    chart.locator(".nsewdrag").hover()
    chart.locator(".nsewdrag").click()
    expect(shown).not_to_have_text(before)
    expect(chart.locator(".shapelayer path")).not_to_have_attribute("d", line or "")
    assert violations(replay, within="hw-replay-charts") == []
    replay.get_by_role("button", name="Messages").click()
    expect(replay.locator("#timeline")).to_be_visible()


def test_taking_over_creates_a_run_that_continues_from_the_instant(replay: Page, recorded: Classroom) -> None:
    replay.get_by_role("button", name="A broker dies").first.click()
    expect(replay.locator("hw-replay-stage-bar .mono")).to_contain_text(re.compile(r"event [1-9]\d* of"))
    replay.keyboard.press("b")
    replay.wait_for_url(re.compile(r"/r/\w+/main"))
    expect(replay.locator(".nodes .state.up")).to_have_count(3)
    assert replay.locator("h1").inner_text() != "The lab that led"
    taken = "/".join(replay.url.split("/r/")[1].split("?")[0].split("/")[:2])
    replay.goto(f"{recorded.server.address}/classes/{recorded.slug}/replay/?at=99:59")
    expect(replay.locator(".hw-node.broker.up")).to_have_count(2)
    replay.get_by_role("button", name="Compare with my lab").click()
    replay.wait_for_url(re.compile(rf"/compare/\?a=class/{recorded.slug}/0&b={taken}&of=a&"))
    broker = replay.locator("hw-differences tr", has_text=re.compile("b1.*state.*down.*up", re.DOTALL))
    expect(broker).to_be_visible()


def test_address_seeks_to_an_instant_and_learners_see_only_what_they_may(page: Page, recorded: Classroom) -> None:
    address = f"/api/classes/{recorded.slug}/recording/manifest.json"
    charts = [recorded.visitors[p].get(address).json["labs"][0]["charts"] for p in ("p1", "p2")]
    assert charts == [True, False], "of the lab that led, its owner has the tables"
    page.set_viewport_size(PHONE)
    be(page, recorded.visitors["p2"])
    page.goto(f"{recorded.server.address}/classes/{recorded.slug}/replay/?at=99:59")
    expect(page.locator(".hw-node.broker.up")).to_have_count(2)
    nothing_sticks_out(page)
    page.get_by_role("button", name="Compare with my lab").click()
    expect(page.get_by_role("status").filter(has_text="no run of your own")).to_be_visible()
    expect(page.locator("hw-heat")).to_have_count(0)
    assert (
        page.get_by_role("link", name="Open the lesson").get_attribute("href") == f"/course/{recorded.model.chapter}/"
    )
    nothing_sticks_out(page)
    assert violations(page, within=".replay-dock") == []


def test_recording_is_saved_as_a_page_that_replays_without_a_network(
    replay: Page, recorded: Classroom, browser: Browser, tmp_path: Path
) -> None:
    """Acceptance statement 23: a page that plays from a file."""
    replay.get_by_role("button", name="Save as a page").click()
    dialog = replay.get_by_role("dialog", name="Save the recording as a page")
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"^Size of the page: about \d+ KB\.$"))
    assert violations(replay, within="dialog") == []
    with replay.expect_download() as saved:
        dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"^Saved as Replication\.html, \d+ KB\.$"))
    file = tmp_path / "class.html"
    saved.value.save_as(file)
    wrong: list[str] = []
    context = browser.new_context(offline=True, viewport=PHONE, locale="en-US", color_scheme="dark")
    context.set_default_timeout(PATIENCE_S * 1000)
    page = context.new_page()
    own = ("file://", "blob:null/", "data:font/")
    page.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
    page.on("pageerror", lambda error: wrong.append(f"{error.message} {error.stack}"))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{file.as_uri()}#at=99:59")
    expect(page.locator(".hw-node.broker.up")).to_have_count(2)
    expect(page.locator(".hw-ink polyline")).to_have_count(1)
    nothing_sticks_out(page)
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="A broker dies").first.click()
    expect(page.locator(".hw-node.broker.up")).to_have_count(3)
    expect(page.locator("hw-replay-poll")).to_contain_text("Who leads?")
    for name in ("Take over from here", "Compare with my lab", "Save as a page", "Notes"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    assert page.locator("hw-heat").count() == 0
    page.get_by_role("searchbox").fill("watermark why")
    expect(page.locator(".instants li", has_text=ASKED)).to_have_count(1)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="To the start").click()
    page.get_by_role("button", name="Play", exact=True).click()
    # Its policy lets no text be a program, as waiting for a function would.
    assert page.evaluate(HEARD).startswith("blob:")
    page.locator(".about").click()
    expect(page.get_by_role("dialog", name="About this page")).to_contain_text("the whole recording")
    assert violations(page, within="dialog") == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("button", name="播放", exact=True)).to_be_visible()
    context.close()
    assert wrong == []
