"""Analytics of a run: a Spark job with its progress, four charts, and a click that leads to the instant."""

from playwright.sync_api import Page

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until

TITLE = "analytics"
CHARTS = ("LEO and high watermark", "In-sync replicas", "Produce-to-commit latency", "RPC mix")
STREAMS = {"orders-0": "all", "orders-1": "1"}
"""Partition to acks."""
SPARK_S = 600.0
"""For a JVM and a Spark session on a busy machine."""
GRID = 24


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: analytics").with_orders()
    for partition, acks in STREAMS.items():
        form = lab.produce_to(partition, acks)
        form.get_by_label("records/s").fill("20")
        form.get_by_role("button", name="Stream").click()
        lab.sees(form.get_by_role("button", name="Stop"), "a stream")
    lab.until(lambda seen: all(seen.partitions[name].lanes["b1"].hw >= 40 for name in STREAMS), "records")
    lab.pause()
    page = lab.page

    with tour.stop("a Spark job with a progress bar"):
        page.get_by_role("link", name="Analytics").click()
        lab.sees(page.get_by_role("progressbar"), "a progress bar")
        until(page, lambda: page.locator("hw-chart").count() or page.get_by_role("alert").count(), "charts", SPARK_S)
        assert not page.get_by_role("alert").count(), page.get_by_role("alert").inner_text()

    with tour.stop("four charts with something in them"):
        for title in CHARTS:
            drawn = page.locator("hw-chart", has=page.get_by_role("heading", name=title)).locator(_DRAWN)
            # the charts come one by one, each with a job of Spark
            until(page, drawn.count, f"something drawn in {title!r}", SPARK_S)
        tour.pictures("analytics", page, _drawn)

    with tour.stop("a click on a chart opens the replay at that instant"):
        _click_a_point(page)
        page.wait_for_url("**/r/*/main?t=*")
        lab.until(lambda seen: seen.is_past and seen.event > 0, "an instant of the past")


#: Marks of a trace, whatever its kind.
_DRAWN = ".plot .trace path, .plot .point path, .plot .points path"


def _drawn(page: Page) -> None:
    page.locator("hw-chart").nth(len(CHARTS) - 1).locator(_DRAWN).first.wait_for(
        state="attached", timeout=SPARK_S * 1000
    )


def _click_a_point(page: Page) -> None:
    """Moves over the first chart until a point answers, and clicks it."""
    box = page.locator("hw-chart .plot .nsewdrag").first.bounding_box()
    assert box, "The first chart has no area to point at."
    for row in range(1, GRID):
        for column in range(1, GRID):
            x, y = box["x"] + box["width"] * column / GRID, box["y"] + box["height"] * row / GRID
            page.mouse.move(x, y)
            if page.locator("hw-chart .hoverlayer .hovertext").count():
                page.mouse.click(x, y)
                return
    raise AssertionError("No point of the first chart answers to the pointer.")
