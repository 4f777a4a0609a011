"""The disk screen: bytes and fields, finding an offset, what a power loss takes, what compaction leaves, zero copy."""

from playwright.sync_api import Page, expect

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until

TITLE = "disk"
ROUNDS = 8
KEYS = 9
#: With this ratio the broker's own cleaner never compacts the log: `log clean` does.
COMPACTED = (
    "kafka-topics.sh --create --topic prices --partitions 1 --replication-factor 3"
    " --config cleanup.policy=compact --config segment.bytes=800 --config min.cleanable.dirty.ratio=1"
)


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: on the disk").with_orders()
    page = lab.page
    lab.produce("orders-0", "42 apples", key="anna")
    lab.until(lambda seen: seen.partitions["orders-0"].lanes["b1"].hw == 1, "a committed record")
    leader = lab.partition("orders-0").leader

    with tour.stop("the data folder of a broker: folders, segments, sizes, what is active"):
        lab.pause()
        lab.press("d")
        lab.sees(page.locator("hw-disk-tree .folder", has_text="orders-0/"), "the folder of orders-0")
        assert lab.sees(page.locator("hw-disk-tree .file.active").first, "an active segment")
        page.locator("hw-disk .seg").get_by_role("button", name=leader, exact=True).click()

    with tour.stop("each byte is a field with a sentence; the arrow keys walk by field"):
        page.locator("hw-disk-tree .folder", has_text="orders-0/").locator("xpath=following-sibling::div[1]").click()
        card = page.locator(".field-card")
        lab.sees(card.get_by_text("baseOffset", exact=True), "the first field")
        page.locator(".disk-hex").focus()
        for name in ("batchLength", "partitionLeaderEpoch", "magic", "crc", "attributes"):
            page.keyboard.press("ArrowRight")
            lab.sees(card.get_by_text(name, exact=True), name)
        page.locator(".parts .field-row", has_text="anna").click()
        lab.sees(card.get_by_text("compaction keeps its last value"), "the sentence about a key")

    with tour.stop("a reload returns to the byte"):
        at = page.locator(".disk-hex [data-now]").get_attribute("data-at")
        until(page, lambda: f"at={at}" in page.url, "an address that names the byte")
        page.reload()
        lab.sees(page.locator(".field-card").get_by_text("anna").first, "the key")
        tour.pictures("disk-bytes", page)

    with tour.stop("what a power loss would take, and then takes"):
        _mode(page, "Power loss")
        lab.sees(page.locator(".loss-records").get_by_text("1 record, offset 0"), "the record that is not fsynced")
        tour.pictures("disk-power-loss", page)
    _lookup_and_compaction(tour, lab, leader)


def _lookup_and_compaction(tour: Tour, lab: LabPage, leader: str) -> None:
    page = lab.page

    with tour.stop("the textbook's offset 2490: three steps, one look after the other"):
        page.locator("hw-disk .seg").get_by_role("button", name="textbook").click()
        _mode(page, "Find an offset")
        page.get_by_label("Offset to find").fill("2490")
        page.get_by_role("button", name="Find", exact=True).click()
        lab.sees(page.locator(".find-step.now"), "the first step")
        # The address follows the state a moment later, and the pictures open it in other tabs.
        page.wait_for_url("**find=2490**")
        tour.pictures("disk-lookup", page, _walk_to_the_index)
        lab.sees(page.locator(".find-done", has_text="offset 2490"), "the end of the search")
        lab.sees(page.locator(".find-walk").get_by_text("[2487, 49111]"), "the index entry of the textbook")
        page.get_by_role("button", name="Show its bytes").click()
        lab.sees(page.locator(".flag.index", has_text="2487→49111"), "the index entry beside the bytes")

    with tour.stop("a segment through the process and by sendfile, measured"):
        page.locator("hw-disk .seg").get_by_role("button", name=leader, exact=True).click()
        _mode(page, "Zero copy")
        page.get_by_role("button", name="Measure").click()
        lab.sees(page.locator(".copy-verdict"), "what was measured")
        calls = page.locator(".copy-facts", has_text="system calls").all_inner_texts()
        assert len(calls) == 2, f"Two ways were expected, not {calls}."

    with tour.stop("compaction: what went, and what it became"):
        lab.play()
        lab.command(COMPACTED)
        lab.command("producer open p9 --acks all")
        for turn in range(ROUNDS):
            records = " ".join(f"k{(7 * turn + n) % KEYS}:price-{turn}-{n}" for n in range(14))
            lab.command(f"producer send p9 prices-0 {records}")
        said = lab.command("log clean prices-0").output
        assert "superseded" in said, f"It printed {said!r}."
        lab.pause()
        lab.close_console()
        page.locator("hw-disk-tree .folder", has_text="prices-0/").locator("xpath=following-sibling::div[1]").click()
        _mode(page, "Removed data")
        until(page, lambda: page.locator(".past-cleaned .cells").count() > 1, "the records before and after")
        before = page.locator(".past-cleaned .cells").first.locator(".cell").count()
        after = page.locator(".past-cleaned .cells").nth(1).locator(".cell").count()
        assert 0 < after < before, f"{before} records became {after}."
        tour.pictures("disk-compaction", page)


def _mode(page: Page, name: str) -> None:
    page.locator("hw-disk").get_by_role("tab", name=name, exact=True).click()


def _walk_to_the_index(page: Page) -> None:
    """Stops at the third look into the index, in whatever language."""
    page.locator(".find-steps .btn").first.wait_for()
    steps = page.locator(".find-steps .btn")
    steps.nth(3).click()
    until(page, lambda: steps.nth(0).is_enabled(), "a step back")
    steps.nth(0).click()
    for _ in range(3):
        steps.nth(3).click()
    expect(page.locator(".slot.middle")).to_be_visible()
