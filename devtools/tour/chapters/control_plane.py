"""ZooKeeper and the controller, an alarm that is explained, and the same script in another era beside it."""

import re

from playwright.sync_api import Locator, Page, expect

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour, until

TITLE = "control plane"
FAST = 20.0
STATE = "/brokers/topics/orders/partitions/0/state"
LONG_S = 300.0
"""Sessions of dead brokers end meanwhile."""


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: who decides").with_orders(1)
    page = lab.page

    with tour.stop("the screen of ZooKeeper: sessions, watches, and a znode against its version before"):
        lab.pause()
        lab.press("n")
        for path in ("/brokers/topics/orders", *(STATE.rsplit("/", n)[0] for n in (2, 1))):
            lab.sees(_tree(page).locator(f"[data-path='{path}'] .twist"), path).click()
        lab.sees(_tree(page).locator(f"[data-path='{STATE}']"), "the state of orders-0").click()
        lab.sees(page.locator("hw-zookeeper .znode-data"), "its data")
        watched = _tree(page).locator("[data-path='/controller'] .watcher").count()
        assert watched == 3, f"Three brokers watch /controller, not {watched}."

    with tour.stop("the state of a partition in the chart of the controller's table"):
        active = page.locator("hw-controller .statechart").first.locator(".state.active")
        until(page, lambda: "Online" in (active.text_content() or ""), "orders-0 in the state OnlinePartition")
        lab.sees(page.locator("hw-controller .handled", has_text="TopicChange"), "what the controller handled")

    with tour.stop("a watch that fires is a dotted line to its broker"):
        lab.send("kafka-configs.sh --alter --entity-type topics --entity-name orders --add-config retention.ms=9000000")
        for _ in range(40):
            if page.locator("hw-zookeeper .watch-lines path").count():
                break
            lab.step("event")
        lab.close_console()
        lab.sees(page.locator("hw-zookeeper .zk-session .fired"), "a watch on its way")
        tour.pictures("zookeeper", page)
    _alarms_and_eras(tour, lab)


def _alarms_and_eras(tour: Tour, lab: LabPage) -> None:
    page = lab.page

    with tour.stop("an unclean election loses what was committed: an alarm, explained"):
        lab.press("n")
        lab.play()
        lab.speed(FAST)
        for line in _unclean():
            lab.command(line, LONG_S)
        lab.sees(page.locator(".inv .tag.warn", has_text="explained"), "an explained alarm", LONG_S)
        lab.pause()
        lab.close_console()
        lab.press("l")
        page.locator(".alarm-row", has_text="I-COMMIT").first.click()
        lab.sees(page.locator(".alarm-card.explained code", has_text="unclean"), "the setting that gave it away")
        tour.pictures("alarms", page)

    with tour.stop("one step before it could still have gone well"):
        page.locator(".alarm-card").get_by_role("button", name="Go to the instant before").click()
        lab.until(lambda seen: seen.is_past, "an instant of the past")
        lab.now()

    with tour.stop("the same script in another era, side by side, with what differs ringed"):
        run = lab.run
        page.goto(f"{tour.origin}/compare/?a={run}/{lab.branch}")
        page.get_by_text("Same script, another era").click()
        page.get_by_role("button", name="era 0.8", exact=True).click()
        page.wait_for_url(re.compile(r"/compare/\?a=.*&b="))
        tour.runs.append(page.url.split("&b=")[1].split("/")[0])
        until(page, lambda: page.locator("#verdict").inner_text(), "a word about what differs")
        expect(page.locator(".hw-strips")).to_have_count(2)
        page.keyboard.press("End")
        page.keyboard.press("[")
        until(page, lambda: page.locator(".hw-differs").count(), "rings")
        tour.pictures("compare", page)


def _tree(page: Page) -> Locator:
    return page.locator("hw-zookeeper .zk-tree")


def _unclean() -> tuple[str, ...]:
    """The last in-sync replica dies, and another one leads."""
    return (
        "producer open p9 --acks all",
        "producer send p9 orders-0 k:first",
        "broker kill 2",
        "broker kill 3",
        'wait "isr orders-0 == [1]" 60s',
        "producer send p9 orders-0 k:second",
        "broker kill 1",
        "broker start 2",
        'wait "controller == 2" 60s',
        "kafka-configs.sh --alter --entity-type topics --entity-name orders"
        " --add-config unclean.leader.election.enable=true",
        'wait "leader orders-0 == 2" 60s',
    )
