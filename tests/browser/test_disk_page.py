"""The disk screen in a real browser: bytes, a lookup, what a power loss takes, zero copy; by hand and by key."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.lab_page import PHONE, TABLET, WIDE, be, nothing_sticks_out, partition, pause, press
from tests.support.lab_server import LabServer, Visitor

EXAMPLE = "view=disk&broker=example&file=orders-0/00000000000000000000.log"


#: With this ratio only `log clean` compacts the log.
COMPACTED = (
    "kafka-topics.sh --create --topic prices --partitions 1 --replication-factor 3"
    " --config cleanup.policy=compact --config segment.bytes=800 --config min.cleanable.dirty.ratio=1"
)


@pytest.fixture(scope="module")
def compacted(lab_server: LabServer) -> str:
    """A run in a pause whose log of prices-0 was compacted."""
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run()
    with visitor.socket(run) as socket:
        socket.run(COMPACTED)
        socket.run("producer open p9 --acks all")
        for turn in range(4):
            socket.run(f"producer send p9 prices-0 {' '.join(f'k{n % 9}:price-{turn}-{n}' for n in range(14))}")
        assert "superseded" in "".join(socket.run("log clean prices-0"))
        socket.ask({"k": "time", "op": "pause"})
    return run


@pytest.fixture
def main(page: Page, visitor: Visitor, complaints: list[str], compacted: str) -> str:
    """The address of that run, which a page may open that has signed in."""
    be(page, visitor)
    page.set_viewport_size(WIDE)
    return f"{visitor.server.address}/r/{compacted}/main"


@pytest.fixture
def lab(with_topic: Page) -> Page:
    """The disk screen of a run with records in orders-0, in a pause."""
    page = with_topic
    page.get_by_label("key", exact=True).fill("anna")
    page.get_by_label("value", exact=True).fill("42 apples")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 1")
    page.get_by_role("button", name="Produce 100").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 101")
    pause(page)
    press(page, "d")
    expect(page.locator("hw-disk .disk-hex")).to_be_visible()
    return page


def mode(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def branch_page(page: Page) -> str:
    return page.url.partition("?")[0]


def test_bytes_fields_cells_and_tree_by_pointer_by_key_and_after_a_reload(lab: Page) -> None:
    page = lab
    card = page.locator(".field-card")
    expect(card).to_contain_text("baseOffset")
    page.locator(".disk-hex").focus()
    for name in ("batchLength", "partitionLeaderEpoch", "magic", "crc"):
        page.keyboard.press("ArrowRight")
        expect(card).to_contain_text(name)
    page.keyboard.press("ArrowLeft")
    expect(card).to_contain_text("magic")
    expect(page.locator("#disk-field")).to_contain_text("magic 2")
    page.locator(".parts .field-row", has_text="anna").click()
    expect(card).to_contain_text("compaction keeps its last value")
    page.locator(".parts .field-row", has_text="42 apples").click()
    expect(card).to_contain_text("Kafka does not interpret it")
    expect(page.locator(".disk-hex i.now")).to_have_count(len("42 apples"))
    # A cell points at the bytes of its record, and bytes at their cell.
    cell = page.locator(".cells .cell", has_text=re.compile(r"^5$"))
    cell.hover()
    record = page.locator('.disk-hex i.near[data-o="5"]')
    expect(record.nth(10)).to_be_attached()
    page.locator('.disk-hex i[data-o="7"]').first.hover()
    expect(page.locator(".cells .cell.near")).to_have_text("7")

    # Reload returns to the file, the byte and the mode.
    page.locator(".parts .field-row", has_text="crc").first.click()
    expect(page).to_have_url(re.compile(r"view=disk.*at=17"))
    page.reload()
    expect(page.locator(".field-card")).to_contain_text("crc")
    mode(page, "Power loss")
    expect(page).to_have_url(re.compile("show=loss"))
    page.reload()
    expect(page.get_by_role("tab", name="Power loss")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".loss-records")).to_contain_text("101 records, offsets 0 to 100")
    expect(page.locator(".loss-pair .big").first).to_have_text("0 B")
    assert re.search(r"[1-9]", page.locator(".loss-pair .big").last.inner_text())
    # The tree, by the keyboard.
    mode(page, "Bytes")
    expect(page.locator(".dirty-line")).to_contain_text("not fsynced from 0x0000")
    rows = page.locator("hw-disk-tree [role=treeitem]")
    page.locator("hw-disk-tree .file.on").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".bytes-head")).to_contain_text(".index")
    before = rows.count()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("hw-disk-tree [role=treeitem]:focus")).to_contain_text("orders-0/")
    expect(rows).not_to_have_count(before)
    assert rows.count() < before


def test_textbook_example_step_by_step(page: Page, main: str) -> None:
    # With reduced motion the end is shown at once, and the steps are walked through by hand.
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{main}?{EXAMPLE}&show=find&find=2490")
    expect(page.locator(".find-done")).to_be_visible()
    page.get_by_role("button", name="First step").click()
    expect(page.locator(".find-step.now")).to_contain_text("greatest name at or below 2490 is 0")
    following = page.get_by_role("button", name="Next step")
    following.click()
    expect(page.locator(".find-step.now")).to_contain_text("Slots 0 to 14 are possible")
    while following.is_enabled():
        following.click()
    expect(page.locator(".find-walk")).to_contain_text("[2487, 49111]")
    expect(page.locator(".find-done")).to_contain_text("Found: offset 2490. Headers read: 2")
    page.get_by_role("button", name="Show its bytes").click()
    expect(page.locator(".flag.index")).to_have_text("index 2487→49111")
    page.locator(".flag.index").click()
    expect(page.locator(".bytes-head")).to_contain_text(".index")
    page.get_by_role("button", name="Go to byte").click()
    expect(page.locator(".bytes-head")).to_contain_text(".log")
    expect(page.locator(".field-card")).to_contain_text("2464")


def test_offset_lookup_and_zero_copy_in_a_real_log(lab: Page) -> None:
    page = lab
    mode(page, "Find an offset")
    page.get_by_label("Offset to find").fill("50")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator(".find-done")).to_contain_text("offset 50")
    page.get_by_role("button", name="timestamp", exact=True).click()
    page.get_by_label("Timestamp to find").fill("1")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator(".find-done")).to_contain_text("offset 0")
    mode(page, "Zero copy")
    page.get_by_role("button", name="Measure").click()
    expect(page.locator(".copy-verdict")).to_contain_text("fetches each")
    expect(page.locator(".copy-way.sendfile .copy-facts")).to_contain_text("system calls1")
    expect(page.locator(".copy-way.read .copy-facts")).to_contain_text("system calls2")


def test_disk_screen_fits_any_width_in_both_languages(page: Page, main: str) -> None:
    for language in ("en", "zh-CN"):
        page.goto(f"{main}?{EXAMPLE}&language={language}")
        expect(page.locator("hw-disk .modes [role=tab]").first).to_be_visible()
        for tab in page.locator("hw-disk .modes [role=tab]").all():
            tab.click()
            for size in (TABLET, PHONE, WIDE):
                page.set_viewport_size(size)
                expect(page.locator("hw-disk-tree .file").first).to_be_visible()
                nothing_sticks_out(page)


TRUNCATE = """async ([replica, why]) => {
    const urls = performance.getEntriesByType("resource").map(({ name }) => name);
    const load = (path) => import(urls.find((url) => url.endsWith(path)));
    const { player, moment } = await load("/ui/store/state.js");
    player.view.replicas[replica].cut = { from: 9, to: 7, at_us: 1, why };
    moment.value = { ...moment.value };
    return (await load("/ui/kit/words.js")).term(why);
}"""


def test_reason_of_a_truncation_is_in_the_language_of_the_page(lab: Page) -> None:
    page = lab
    page.context.add_cookies([{"name": "language", "value": "zh-CN", "url": page.url}])
    page.goto(f"{branch_page(page)}?view=disk&broker=b1&file=orders-0/00000000000000000000.log&show=past")
    expect(page.locator("hw-disk-past .empty-note")).to_contain_text("orders-0")
    said = page.evaluate(TRUNCATE, ["orders-0@b1", "reason.leader_start?offset=7"])
    assert re.search(r"[\u4e00-\u9fff]", said)
    expect(page.locator(".past-cut")).to_contain_text(said)


def test_compaction_shows_the_records_before_and_after(page: Page, main: str) -> None:
    page.goto(f"{main}?view=disk&broker=b1&file=prices-0/{'0' * 20}.log&show=past")
    cells = page.locator(".past-cleaned .cells")
    expect(cells).to_have_count(2)
    before, after = (one.locator(".cell").count() for one in cells.all())
    assert 0 < after < before
