"""Consumer groups, producers and transactions: partition owners, waiting requests, and records that are held back."""

import re

from playwright.sync_api import Locator, Page

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until

TITLE = "clients"
FAST = 20.0
SLOW = 0.1
LONG_S = 90.0
PARTITIONS = 4
ASSIGNORS = ["range", "roundrobin", "sticky", "cooperative-sticky"]
CHOSEN = re.compile(r"orders-(\d)")


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: clients").with_orders(PARTITIONS)
    page = lab.page
    groups, producers, transactions = (page.locator(f"hw-{name}") for name in ("groups", "producers", "transactions"))

    with tour.stop("a group of one: it is stable, and its member owns every partition"):
        lab.speed(FAST)
        _lines(
            lab, "consumer start c1 --group desk --topic orders --assignor range", 'wait "group desk == Stable 1" 30s'
        )
        lab.press("g")
        _state(page, groups, "Stable")
        until(page, lambda: _owned(groups, "c1") == PARTITIONS, f"c1 with {PARTITIONS} partitions")

    with tour.stop("a second member: half of them go over, and dashed cells say who had them"):
        _lines(
            lab, "consumer start c2 --group desk --topic orders --assignor range", 'wait "group desk == Stable 2" 30s'
        )
        until(
            page, lambda: (_owned(groups, "c1"), _owned(groups, "c2")) == (2, 2), "two partitions for each of the two"
        )
        before = _row(groups, "c1").locator(".own.was").count()
        assert before == 2, f"c1 had two more partitions before; {before} cells say so."

    with tour.stop("what each assignor would do now, and what the group has committed"):
        _lines(
            lab,
            "producer open p1 --acks all",
            "producer send p1 orders-3 a:1 b:2 c:3",
            'wait "committed desk orders-3 == 3" 30s',
        )
        plans = groups.locator(".plans tbody tr")
        until(page, lambda: plans.count() == len(ASSIGNORS), "a plan of each assignor")
        names = [row.inner_text().split()[0] for row in plans.all()]
        assert names == ASSIGNORS, f"The plans are those of {names}."
        assert plans.filter(has_text="cooperative").locator(".moves").count() == 0, "Sticking moves nothing."
        assert plans.filter(has_text="roundrobin").locator(".moves").count() > 0, "Round robin moves partitions."
        slot = groups.locator(".slot-table tr", has_text="desk, orders-3").first
        until(page, lambda: "offset 3" in (slot.text_content() or ""), "offset 3 as the last value of that key")
        lab.pause()
        tour.pictures("groups", page)
        lab.play()
    _buffers_and_transactions(tour, lab, producers, transactions)


def _buffers_and_transactions(tour: Tour, lab: LabPage, producers: Locator, transactions: Locator) -> None:
    page = lab.page

    with tour.stop("a batch waits for linger.ms in the partition that murmur2 has chosen"):
        lab.command("producer open p2 --acks all --linger 5000")
        lab.command("producer send p2 orders warm:up", LONG_S)
        lab.pause()
        lab.command("producer burst p2 orders 3")
        lab.close_console()
        lab.press("o")
        mine = lab.sees(producers.locator(".producer", has_text="p2"), "the producer p2")
        lab.sees(mine.locator(".batch .ring"), "a batch that lingers")
        chosen = CHOSEN.search(mine.locator(".choices li", has_text="murmur2").first.inner_text())
        assert chosen, "The partitioner's choice names a partition."
        tour.pictures("producers", page)

    with tour.stop("the run plays: the batch is sent, and acknowledged"):
        end = _log_end(lab, f"orders-{chosen[1]}")
        lab.play()
        acknowledged = re.compile(r"Acknowledged\s+4\b")
        until(page, lambda: acknowledged.search(mine.inner_text()), "four records acknowledged")
        assert mine.locator(".batch").count() == 0, "No batch is left."
        lab.press("o")
        lab.until(
            lambda seen: seen.partitions and _log_end(lab, f"orders-{chosen[1]}") == end + 3,
            f"three records more in orders-{chosen[1]}",
        )

    with tour.stop("an open transaction holds readers back until it commits"):
        _lines(lab, "producer open t1 --transactional-id pay")
        lab.speed(SLOW)  # A transaction of a minute is aborted.
        _lines(lab, "producer begin t1", "producer send t1 orders-0 d:4")
        lab.until(lambda seen: {lane.hw for lane in seen.partitions["orders-0"].lanes.values()} == {1}, "the record")
        lab.pause()
        lab.press("r")
        _state(page, transactions, "Ongoing")
        log = transactions.locator(".txn-log", has_text="orders-0")
        held = re.compile(r"LSO (\d+) · HW (\d+)")
        until(page, lambda: log.count(), "the log that is held back")
        offsets = held.search(log.first.inner_text())
        assert offsets and int(offsets[1]) < int(offsets[2]), f"Nothing is held back: {log.first.inner_text()}"
        lab.play()
        _lines(lab, "producer commit t1")
        _state(page, transactions, "CompleteCommit")


def _lines(lab: LabPage, *lines: str) -> None:
    for line in lines:
        done = lab.command(line, LONG_S)
        assert not done.failed, f"`{line}` failed: {done.output}"
    lab.close_console()


def _state(page: Page, screen: Locator, name: str) -> None:
    active = screen.locator(".statechart .state.active")
    until(page, lambda: active.count() and name in (active.first.text_content() or ""), f"the state {name}", LONG_S)


def _row(groups: Locator, client: str) -> Locator:
    return groups.locator(".assignment .owners tbody tr", has_text=re.compile(rf"^\s*{client}"))


def _owned(groups: Locator, client: str) -> int:
    return _row(groups, client).locator(".own.owned").count()


def _log_end(lab: LabPage, partition: str) -> int:
    seen = lab.shown.partitions[partition]
    return seen.lanes[seen.leader].leo
