"""Runs that are carried away. A page that is one file: opened from the disk without a network, it plays and seeks, and
shows what the lab shows. The form that imports a run: steps, progress, cancellation, a reload, a refusal, the end
of the session.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from broker_core.events.replica import HighWatermarkAdvanced
from lab.actions import execution, import_run
from lab.runtime.host import Host
from tests.support.axe import violations
from tests.support.imports.made_up import ENDLESS, file_with
from tests.support.lab_page import PHONE, WIDE, be, nothing_sticks_out, shows_event, sign_in
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

SCRIPT = (
    "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
    "producer open p1 --acks all",
    "producer send p1 orders-0 k:first k:second",
    "producer send p1 orders-0 k:third",
)
Open = Callable[..., Page]
FILE = "input[type=file]"


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
    shows_event(page, seq)
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


# Imports


def choose(page: Page, file: Path) -> None:
    form = page.locator(".import-run")
    form.locator(FILE).set_input_files(file)
    form.get_by_role("button", name="Import a run").click()


def polls(page: Page) -> list[dict[str, Any]]:
    """What polls of an import get from now on: the last answer of the list; while it is empty, none."""
    answers: list[dict[str, Any]] = []
    page.route("**/api/imports/*.json", lambda route: route.fulfill(**answers[-1]) if answers else route.abort())
    return answers


def state(state: str, stage: str = "", address: str = "") -> dict[str, Any]:
    """An answer to a poll."""
    error = {"what": "The file was refused.", "expected": "", "todo": ""} if state == "failed" else None
    return {"json": {"state": state, "stage": stage, "done": 0, "of": 0, "address": address, "error": error}}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    file = tmp_path / "short.hwrun"
    file.write_bytes(file_with(tmp_path / "short", None))
    return file


def import_endless(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Locator:
    """Begins an import that does not end by itself; returns its form."""
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 10 * PATIENCE_S)
    monkeypatch.setattr(import_run, "MAX_EVENTS_BEYOND", 10**9)
    file = tmp_path / "endless.hwrun"
    file.write_bytes(file_with(tmp_path / "endless", ENDLESS))
    choose(page, file)
    return page.locator(".import-run")


def test_an_import_is_followed_reloaded_and_cancelled(
    signed_in: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = import_endless(signed_in, tmp_path, monkeypatch)
    cancel = form.get_by_role("button", name="Cancel")
    expect(cancel).to_be_focused()
    now = form.locator("[aria-current=step]")
    expect(now).to_have_text("Execute")
    expect(form.get_by_role("status")).to_have_text("Executing the recorded inputs")
    expect(form).to_contain_text("events ·")
    expect(form.locator(FILE)).to_be_hidden()
    assert violations(signed_in, within=".import-run") == []
    signed_in.set_viewport_size(PHONE)
    nothing_sticks_out(signed_in)
    signed_in.reload()
    expect(now).to_have_text("Execute")
    cancel.click()
    expect(form.get_by_role("status").first).to_contain_text("The import was cancelled. Nothing was imported.")
    expect(form.locator(FILE)).to_be_focused()
    expect(cancel).to_have_count(0)
    signed_in.reload()
    expect(form.locator(FILE)).to_be_visible()
    assert form.locator("progress").count() == 0


def test_an_import_ends_at_the_lab_or_with_the_reason(
    signed_in: Page, made: Path, tmp_path: Path, complaints: list[str]
) -> None:
    torn = tmp_path / "torn.hwrun"
    torn.write_bytes(made.read_bytes()[:-40])
    choose(signed_in, torn)
    alert = signed_in.locator(".import-run").get_by_role("alert")
    expect(alert).to_contain_text("cannot be read")
    assert violations(signed_in, within=".import-run") == []
    complaints.clear()
    choose(signed_in, made)
    signed_in.wait_for_url("**/r/*/main*")


def test_a_class_that_was_imported_is_opened(signed_in: Page, made: Path) -> None:
    signed_in.goto(re.sub("/runs/.*", "/classes/", signed_in.url))
    signed_in.route("**/classes/import", lambda route: route.fulfill(status=202, json={"import": "one"}))
    polls(signed_in).append(state("done", address="/account/"))
    form = signed_in.locator(".import-run", has=signed_in.locator(FILE))
    form.locator(FILE).set_input_files(made)
    form.get_by_role("button", name="Import a recording").click()
    signed_in.wait_for_url("**/account/")


def test_a_lab_that_ends_during_an_import_is_reported(signed_in: Page, made: Path, complaints: list[str]) -> None:
    answers = polls(signed_in)
    choose(signed_in, made)
    form = signed_in.locator(".import-run")
    expect(form).to_contain_text("The lab does not respond.")
    # As after its restart.
    answer = {"what": "The import is not in progress any more.", "expected": "", "todo": ""}
    answers.append({"status": 404, "json": answer})
    expect(form.get_by_role("alert")).to_contain_text("not in progress any more")
    complaints.clear()


def test_an_import_does_not_interrupt_what_is_entered_in_another_form(signed_in: Page, made: Path) -> None:
    answers = polls(signed_in)
    answers.append(state("running", "waits"))
    choose(signed_in, made)
    form = signed_in.locator(".import-run")
    expect(form.locator("li.done")).to_have_text("Upload")
    expect(form.locator("[aria-current=step]")).to_have_count(0)
    name = signed_in.locator("#new-run").get_by_label("Name")
    name.fill("Half a na")
    answers.append(state("failed"))
    expect(form.get_by_role("alert")).to_contain_text("The file was refused.")
    expect(name).to_be_focused()
    answers.append(state("running", "unpack"))
    choose(signed_in, made)
    expect(form.locator("[aria-current=step]")).to_have_text("Unpack")
    expect(form.get_by_role("button", name="Cancel")).to_be_focused()
    answers.append(state("done", address="/r/made/main"))
    link = form.get_by_role("link", name="Open the run")
    expect(link).to_have_attribute("href", "/r/made/main")
    expect(link).to_be_focused()
    expect(form.get_by_role("status").first).to_have_text("The import is complete.")
    assert violations(signed_in, within=".import-run") == []
    # Nothing but the focus shows that another form is in use.
    answers.append(state("running", "unpack"))
    choose(signed_in, made)
    name.fill(name.get_attribute("value") or "")
    answers.append(state("done", address="/r/made/main"))
    expect(link).to_be_visible()
    expect(name).to_be_focused()


def test_a_refused_form_is_as_good_as_new_for_the_next_import(
    signed_in: Page, made: Path, tmp_path: Path, complaints: list[str]
) -> None:
    torn = tmp_path / "torn.hwrun"
    torn.write_bytes(made.read_bytes()[:-40])
    form = signed_in.locator(".import-run")
    form.locator(FILE).set_input_files(torn)
    # As without a script.
    form.evaluate("(form) => form.submit()")
    expect(form.locator(FILE)).to_have_attribute("aria-invalid", "true")
    polls(signed_in).append(state("cancelled"))
    choose(signed_in, made)
    expect(form.get_by_role("status").first).to_contain_text("The import was cancelled.")
    expect(form.locator(FILE)).not_to_have_attribute("aria-invalid", "true")
    expect(form.locator(FILE)).not_to_have_attribute("aria-describedby", "import-error")
    complaints[:] = [one for one in complaints if "status of 400" not in one]


def test_a_page_whose_import_is_complete_when_it_is_loaded_offers_what_was_made(signed_in: Page) -> None:
    def with_import(route: Route) -> None:
        # As the browser keeps a page that was loaded during an import.
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("<hw-import>", '<hw-import data-import="kept">'))

    signed_in.route("**/runs/", with_import)
    polls(signed_in).append(state("done", address="/r/made/main"))
    signed_in.reload()
    link = signed_in.locator(".import-run").get_by_role("link", name="Open the run")
    expect(link).to_have_attribute("href", "/r/made/main")
    expect(signed_in.locator(".import-run").locator(FILE)).to_be_visible()
    assert signed_in.url.endswith("/runs/")


def test_a_page_that_comes_back_after_an_import_shows_no_progress(signed_in: Page, made: Path) -> None:
    polls(signed_in).append(state("done", address="/r/made/main"))
    # The page stays.
    signed_in.route("**/r/made/main", lambda route: route.fulfill(status=204))
    with signed_in.expect_response("**/r/made/main"):
        choose(signed_in, made)
    form = signed_in.locator(".import-run")
    expect(form.locator("progress")).to_be_visible()
    expect(form.locator(FILE)).to_be_hidden()
    signed_in.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(form.locator("progress")).to_have_count(0)
    expect(form.locator(FILE)).to_be_visible()


def test_an_import_continues_after_the_session_has_ended(
    signed_in: Page, lab_server: LabServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = import_endless(signed_in, tmp_path, monkeypatch)
    expect(form.locator("[aria-current=step]")).to_have_text("Execute")
    signed_in.context.clear_cookies()
    expect(form.get_by_role("alert")).to_contain_text("You are no longer signed in.")
    expect(form.locator("progress")).to_have_count(0)
    sign_in(signed_in, lab_server)
    form.get_by_role("button", name="Cancel").click()
    expect(form.get_by_role("status").first).to_contain_text("The import was cancelled.")


def test_a_lab_that_does_not_respond_is_asked_less_often(signed_in: Page, made: Path, complaints: list[str]) -> None:
    answers = polls(signed_in)
    signed_in.evaluate(
        "() => { const set = setTimeout; window.pauses = [];"
        " window.setTimeout = (what, ms, ...given) => { pauses.push(ms); return set(what, ms, ...given); } }"
    )
    choose(signed_in, made)
    signed_in.wait_for_function("() => [800, 1600, 3200].every((ms) => pauses.includes(ms))")
    # A proxy answers for the lab.
    answers.append({"status": 502, "body": "<p>Bad gateway</p>"})
    expect(signed_in.locator(".import-run").get_by_role("alert")).to_contain_text("The lab returned status 502.")
    complaints.clear()


def test_what_is_not_uploaded_is_reported(signed_in: Page, made: Path, complaints: list[str]) -> None:
    signed_in.route("**/runs/import", lambda route: route.abort())
    choose(signed_in, made)
    form = signed_in.locator(".import-run")
    expect(form.get_by_role("alert")).to_contain_text("The lab does not respond.")
    expect(form.locator(FILE)).to_be_visible()
    # The session has ended.
    signed_in.unroute("**/runs/import")
    signed_in.route("**/runs/import", lambda route: route.fulfill(status=302, headers={"Location": "/sign-in/"}))
    choose(signed_in, made)
    expect(form.get_by_role("alert")).to_contain_text("Sign in, then import the file again.")
    signed_in.evaluate("Object.defineProperty(File.prototype, 'size', { value: 300 * 2 ** 20 })")
    choose(signed_in, made)
    expect(form.get_by_role("alert")).to_contain_text("The file is 300 MiB.")
    complaints.clear()
