"""What the page shows: messages, waiting requests, remote log end offsets, records and their bytes, znodes, tables."""

import os
import re
import subprocess
import sys
from collections.abc import Callable

from django.conf import settings

from devtools.tour.cells import click_record
from devtools.tour.lab_page import LabPage
from devtools.tour.shown import Shown
from devtools.tour.tour import Tour, until

TITLE = "sight"
BURSTS = 5
TOPIC = "/brokers/topics/orders"


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: what there is to see").with_orders()
    for burst in range(1, BURSTS + 1):
        lab.produce_to("orders-0").get_by_role("button", name="Produce 100").click()
        lab.until(_committed(100 * burst), f"{100 * burst} committed records")
        if burst == 1:
            lab.lets_pass(2)
    leader = lab.partition("orders-0").leader
    end = 100 * BURSTS

    with tour.stop("a message in flight: a pill in the picture, a row in the list, its fields"):
        lab.pause()
        lab.produce("orders-0", "seen on its way", key="look")
        lab.until(lambda seen: seen.has_message("Produce"), "a Produce in flight")
        lab.tab("RPCs").get_by_role("button", name=re.compile("Produce")).first.click()
        card = lab.tab("Inspect")
        lab.sees(card.get_by_text("Produce request"), "the card of the request")
        lab.sees(card.get_by_text("Not delivered yet"), "what it will change, not known yet")

    with tour.stop("the leader has appended it; the request waits for the high watermark"):
        seen = lab.steps_until(lambda seen: seen.partitions["orders-0"].lanes[leader].leo > end, "the append")
        assert _hw(seen) == end, f"The high watermark is {_hw(seen)} already."
        waiting = lab.tab("Purgatory")
        lab.sees(waiting.get_by_text(f"HW >= {end + 1}"), f"a Produce that needs HW >= {end + 1}")

    with tour.stop("what the leader believes of its followers, and what is so"):
        lab.steps_until(
            lambda seen: sum(lane.leo > end for lane in seen.partitions["orders-0"].lanes.values()) > 1,
            "a follower that has the record",
        )
        assert _hw(lab.shown) == end, "The high watermark advanced before the followers fetched."
        lab.page.locator(".hw-lane-name").first.click()
        believed = lab.tab("Inspect").locator("tr", has=lab.page.locator(".stale"))
        lab.sees(believed, "a remote LEO that is not the true one any more")
        until(lab.page, lab.page.locator(".hw-belief").count, "a belief in the picture")
        lab.steps_until(_committed(end + 1), "the high watermark behind the record")

    with tour.stop("a record: its key, value, batch and bytes"):
        click_record(lab.page.locator(".hw-lane").first, end)
        card = lab.tab("Inspect")
        for text in ("seen on its way", "committed", "CRC-32C"):
            lab.sees(card.get_by_text(text).first, text)
        lab.sees(card.locator("hw-hex"), "the bytes")
    _files_and_znodes(tour, lab, leader)


def _files_and_znodes(tour: Tour, lab: LabPage, leader: str) -> None:
    with tour.stop("the files of the replica: batches, index entries, bytes"):
        panel = lab.tab("Files")
        panel.get_by_role("button", name=re.compile(r"^0{20}\.log")).click()
        lab.sees(panel.locator(".batch"), "batches of the .log")
        panel.get_by_role("button", name="bytes", exact=True).click()
        lab.sees(panel.locator("hw-hex"), "the bytes of the .log")
        panel.get_by_role("button", name="decoded", exact=True).click()
        panel.get_by_role("button", name=re.compile(r"^0{20}\.index")).click()
        lab.sees(panel.get_by_role("columnheader", name="position"), "the columns of an index")
        until(lab.page, lambda: panel.locator("tbody tr").count(), "an index entry")
        for name in ("timeindex", "leader-epoch-checkpoint", "partition.metadata"):
            lab.sees(panel.get_by_role("button", name=name), name)

    with tour.stop("the same files at an earlier instant"):
        size = panel.get_by_role("button", name=re.compile(r"^0{20}\.log"))
        now = _bytes(size.inner_text())
        lab.page.keyboard.press("Escape")
        lab.press("4")
        lab.until(lambda seen: seen.is_past, "an instant in the past")
        until(lab.page, lambda: _bytes(size.inner_text()) < now, "a smaller .log")
        lab.now()

    with tour.stop("the znode tree, and the same from a terminal"):
        tree = lab.tab("znodes")
        for path in (
            "/brokers/topics/orders",
            "/brokers/topics/orders/partitions",
            "/brokers/topics/orders/partitions/0",
        ):
            lab.sees(tree.locator(f"[data-path='{path}'] .twist"), path).click()
        lab.sees(
            tree.locator("[data-path='/brokers/topics/orders/partitions/0/state']"), "the state of orders-0"
        ).click()
        lab.sees(tree.locator("pre", has_text=f'"leader": {leader[1:]}'), "its leader")
        address = tree.locator(".address button").inner_text()
        said = zk(address, "ls", "/brokers/ids")
        assert said.strip() == "[1, 2, 3]", f"manage.py zk ls /brokers/ids printed {said!r}."

    with tour.stop("the same facts as tables"):
        lab.press("v")
        tables = lab.page.locator("hw-table")
        lab.sees(tables.get_by_role("heading", name="Replicas"), "the table of replicas")
        assert tables.locator("section", has_text="Replicas").first.locator("tbody tr").count() == 9, (
            "Not nine replicas."
        )
        lab.press("v")


def zk(address: str, *words: str) -> str:
    """`manage.py zk --address ADDRESS WORDS` in a terminal; what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", "zk", "--address", address, *words],
        cwd=settings.BASE_DIR, env=os.environ, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"manage.py zk said {done.stderr.strip()!r}."
    return done.stdout


def _committed(offset: int) -> Callable[[Shown], bool]:
    return lambda seen: _hw(seen) == offset


def _hw(seen: Shown) -> int:
    """High watermark of the leader of orders-0."""
    partition = seen.partitions["orders-0"]
    return partition.lanes[partition.leader].hw if partition.leader else -1


def _bytes(text: str) -> int:
    """The size in `00000000000000000000.log 1 690 B`."""
    return int(re.sub(r"\D", "", text.split(".log")[1]) or 0)
