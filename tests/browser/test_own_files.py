"""The file inspector in a real browser: files are read there, and nothing leaves the page."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import google_crc32c
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.lab_page import PHONE, TABLET, WIDE, nothing_sticks_out, sign_in
from tests.support.lab_server import LabServer
from tests.support.paths import DATA

TRANSACTIONS = DATA / "own_files" / "09-transactions" / "log" / "txn-0"
MIB = 1 << 20
MAX_GROWTH = 200 * MIB
LOG_SIZE = 3 * MAX_GROWTH


@pytest.fixture
def own(page: Page, lab_server: LabServer) -> Iterator[Page]:
    """The page, reached from the list of runs; no error in the browser's log, and no request once it is loaded."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(error.message))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    sign_in(page, lab_server)
    page.get_by_role("link", name="Inspect your own log segments").click()
    expect(page.get_by_role("heading", name="Inspect files")).to_be_visible()
    expect(page.get_by_text("Your files stay on this machine.")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.on("request", lambda request: wrong.append(f"{request.method} {request.url}"))
    page.on("websocket", lambda socket: wrong.append(f"socket {socket.url}"))
    yield page
    assert wrong == []


def give(page: Page, *paths: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(paths)
    expect(page.locator(".own-list li").first).to_be_visible()
    expect(page.locator(".own .busy")).to_have_count(0)


def file(page: Page, name: str) -> Locator:
    return page.locator(f".own-list button[title='{name}']")


def rows(page: Page) -> Locator:
    return page.locator(".grid .line:not(.titles)")


def test_partition_of_a_real_broker(own: Page) -> None:
    give(own, *TRANSACTIONS.iterdir())
    expect(own.get_by_text("No faults found.")).to_be_visible()
    expect(own.locator(".sums")).to_contain_text("13 batches")
    expect(own.locator(".sums")).to_contain_text("0–21")
    expect(rows(own)).to_have_count(13)
    rows(own).nth(1).click()
    batch = own.locator("hw-own-batch")
    expect(batch).to_contain_text("COMMIT")
    expect(batch).to_contain_text("coordinator epoch 0")
    expect(batch.locator(".bytes")).to_contain_text("00")
    own.get_by_label("find offset").fill("12")
    own.keyboard.press("Enter")
    expect(own.get_by_role("heading", name="batch 12")).to_be_visible()


def test_index_entry_links_to_its_batch_and_back(own: Page) -> None:
    give(own, *TRANSACTIONS.iterdir())
    file(own, "00000000000000000022.index").click()
    expect(rows(own)).to_have_count(5)
    rows(own).filter(has_text="866").click()
    expect(own.get_by_role("heading", name="batch 37–39")).to_be_visible()
    own.get_by_role("button", name="…22.timeindex").last.click()
    expect(own.locator(".own-content h2")).to_contain_text("00000000000000000022.timeindex")
    own.get_by_role("button", name="in the log").click()
    expect(own.locator(".grid .line.on")).to_contain_text("37–39")


def test_errors_are_listed_and_link_to_their_position(own: Page, tmp_path: Path) -> None:
    torn, letter = tmp_path / "00000000000000000022.log", tmp_path / "letter.txt"
    content = bytearray((TRANSACTIONS / torn.name).read_bytes())
    content[200] ^= 1
    torn.write_bytes(content[:-3])
    letter.write_text("Dear broker")
    give(own, torn, TRANSACTIONS / "00000000000000000022.index", letter)
    faults = own.locator(".faults li")
    expect(faults.filter(has_text="CRC mismatch")).to_contain_text("@166")
    expect(faults.filter(has_text="incomplete tail")).to_contain_text("Recovery truncates it.")
    expect(faults.filter(has_text="unknown file")).to_contain_text("letter.txt")
    faults.filter(has_text="CRC mismatch").get_by_role("button").click()
    expect(own.locator(".grid .line.on")).to_contain_text("25–27")
    expect(own.locator("hw-own-batch .message.bad")).to_contain_text("Stored checksum")


def test_files_are_dropped(own: Page) -> None:
    own.evaluate(
        """content => {
          const carried = new DataTransfer();
          carried.items.add(new File([new Uint8Array(content)], "00000000000000000000.log"));
          dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        list((TRANSACTIONS / "00000000000000000000.log").read_bytes()),
    )
    expect(rows(own)).to_have_count(13)


def test_keyboard_alone(own: Page) -> None:
    own.get_by_role("button", name="Try the sample").press("Enter")
    grid = own.get_by_role("grid")
    expect(rows(own)).to_have_count(13)
    grid.focus()
    for key in ("Home", "ArrowDown", "ArrowDown"):
        own.keyboard.press(key)
    expect(own.locator("hw-own-batch h2")).to_contain_text("4–5")
    own.keyboard.press("End")
    expect(own.locator("hw-own-batch h2")).to_contain_text("19–21")
    own.get_by_role("group", name="Bytes").focus()
    own.keyboard.press("ArrowRight")
    expect(own.locator(".field-said")).to_contain_text("baseOffset")
    own.keyboard.press("ArrowRight")
    expect(own.locator(".field-said")).to_contain_text("batchLength")


def test_inspect_files_fits_any_width(own: Page) -> None:
    own.get_by_role("button", name="Try the sample").click()
    expect(own.locator(".own-list li")).to_have_count(16)
    for size in (WIDE, TABLET, PHONE):
        own.set_viewport_size(size)
        for column in ("Files", "Content", "Batch"):
            if size is PHONE:
                own.locator(".columns").get_by_role("button", name=column).click()
            nothing_sticks_out(own)


def test_policy_allows_requests_to_its_own_server_only(own: Page, lab_server: LabServer) -> None:
    answer = own.context.request.get(f"{lab_server.address}/inspect/")
    policy = answer.headers["content-security-policy"]
    assert "worker-src 'self'" in policy and "default-src 'none'" in policy
    assert "unsafe" not in policy and "http:" not in re.sub(r"ws://\S+", "", policy)


def write_sparse_log(path: Path) -> int:
    """A log of batches of 1 MiB, of which only the headers take room on the disk. Returns their number.

    The checksum does not cover offsets, so all batches have the same one.
    """
    checked = bytes([0, 0]) + struct.pack(">iqqqhii", 0, 1, 1, -1, -1, -1, 1) + bytes(MIB - 61)
    crc = google_crc32c.value(checked)
    with path.open("wb") as log:
        log.truncate(LOG_SIZE)
        for number in range(LOG_SIZE // MIB):
            log.seek(number * MIB)
            log.write(struct.pack(">qiibI", number, MIB - 12, 0, 2, crc) + checked[:40])
    return LOG_SIZE // MIB


def anonymous_bytes(browser: Browser) -> int:
    """Memory of the browser's renderers that is theirs alone."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    total = 0
    for process in processes:
        if process["type"] == "renderer":
            status = Path(f"/proc/{process['id']}/status").read_text()
            total += int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]
    return total


def test_log_of_600_mib_does_not_fill_the_memory(own: Page, browser: Browser, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    count = write_sparse_log(log)
    before = anonymous_bytes(browser)
    own.locator("input[type=file]").first.set_input_files(log)
    most = before
    while own.locator(".own-list .fine, .own-list .tag.bad").count() == 0:
        most = max(most, anonymous_bytes(browser))
        own.wait_for_timeout(50)
    most = max(most, anonymous_bytes(browser))
    expect(own.locator(".sums")).to_contain_text(f"{count} batches")
    expect(own.get_by_text("No faults found.")).to_be_visible()
    print(f"grew by {(most - before) / MIB:.0f} MiB")
    assert most - before < MAX_GROWTH
