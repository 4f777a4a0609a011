"""Breaking things: a leader dies and comes back, a controller dies, a broker freezes, a link is cut."""

import re

from broker_core.partitions import broker_node
from devtools.tour.chapters.sight import zk
from devtools.tour.lab_page import LabPage
from devtools.tour.shown import Shown
from devtools.tour.tour import Tour, until

TITLE = "faults"
FAST, SLOW = 20.0, 0.1
ALL = {1, 2, 3}


def walk(tour: Tour) -> None:
    lab = LabPage.of_new_run(tour, "Tour: things that break").with_orders()
    lab.produce_to("orders-0").get_by_role("button", name="Produce 100").click()
    lab.until(lambda seen: _ends(seen) == {100}, "100 records on all replicas")
    leader = _leader(lab.shown)
    others = sorted(ALL - {leader})

    with tour.stop("a record that only the leader has: its links to the followers are cut"):
        # Slowly, so that the followers are in the ISR still when their leader dies.
        lab.speed(SLOW)
        for other in others:
            lab.link("cut", *sorted((leader, other)))
        until(lab.page, lambda: lab.page.locator(".hw-link.cut").count() == 2, "two cut links in the picture")
        lab.produce("orders-0", "only I have it", acks="1")
        lab.until(
            lambda seen: seen.partitions["orders-0"].lanes[broker_node(leader)].leo == 101, "record 100 at the leader"
        )
        assert lab.shown.partitions["orders-0"].lanes[broker_node(others[0])].leo == 100, "A follower also has it."

    with tour.stop("kill the leader's broker: its session ends, the controller elects, the epoch rises"):
        lab.broker(leader, "kill")
        lab.until(lambda seen: seen.nodes[f"broker {leader}"].state == "down", f"broker {leader} down")
        lab.speed(FAST)
        seen = lab.until(lambda seen: _leader(seen) in others, "another leader of orders-0")
        assert seen.partitions["orders-0"].epoch > 0, "The leader epoch is still 0."
        lab.until(lambda seen: any("under-replicated" in tag for tag in seen.health), "a word of under-replication")
        lab.pause()
        tour.pictures("killed", lab.page)
        lab.play()
        for other in others:
            lab.link("restore", *sorted((leader, other)))
        lab.produce("orders-0", "the new leader has it")
        lab.until(lambda seen: _leader_end(seen) == 101, "a record with the offset of the one that is lost")

    with tour.stop("start it again: it truncates, catches up, rejoins the ISR"):
        lab.broker(leader, "start")
        lab.until(lambda seen: all(one.isr == ALL for one in seen.partitions.values()), "all replicas in the ISR again")
        lab.until(lambda seen: _ends(seen) == {101}, "101 records on all replicas")
        lab.page.locator(f".hw-lane[aria-label^='b{leader},']").locator(".hw-lane-name").first.click()
        card = lab.tab("Inspect")
        lab.sees(card.get_by_text("from 101 to 100"), "what was cut from its log")
    _controllers_and_links(tour, lab)


def _controllers_and_links(tour: Tour, lab: LabPage) -> None:
    with tour.stop("kill the controller's broker: another one takes over"):
        controller = lab.until(lambda seen: seen.controller, "a controller").controller
        number = int(controller.split()[1])
        lab.broker(number, "kill")
        lab.until(lambda seen: seen.controller not in ("", controller), "another controller")
        lab.until(lambda seen: all(one.leader for one in seen.partitions.values()), "a leader for each partition")
        lab.broker(number, "start")
        lab.until(lambda seen: all(one.isr == ALL for one in seen.partitions.values()), "all replicas in the ISR again")

    with tour.stop("delete /controller from a terminal: the lab elects again, and records what was done to it"):
        controller = lab.shown.controller
        address = lab.tab("znodes").locator(".address button").inner_text()
        epoch = _controller_epoch(lab.shown)
        zk(address, "delete", "/controller")
        lab.until(lambda seen: seen.controller and _controller_epoch(seen) > epoch, f"a controller epoch above {epoch}")

    with tour.stop("freeze a broker for longer than its session, and thaw it"):
        frozen = _leader(lab.shown)
        lab.broker(frozen, "freeze")
        lab.until(lambda seen: seen.nodes[f"broker {frozen}"].state == "frozen", f"broker {frozen} frozen")
        lab.until(lambda seen: _leader(seen) not in (0, frozen), "a leader that is not frozen")
        lab.broker(frozen, "thaw")
        lab.until(lambda seen: all(one.isr == ALL for one in seen.partitions.values()), "all replicas in the ISR again")

    with tour.stop("cut a link: a follower falls out of the ISR; restore it: it comes back"):
        # The controller must reach both ends, or it could not send them the new leader.
        a, b = sorted(ALL - {int(lab.shown.controller.split()[1])})
        lab.link("cut", a, b)
        until(lab.page, lambda: lab.page.locator(".hw-link.cut").count() == 1, "a cut link in the picture")
        # A follower that has all its leader has stays in the ISR however long it is silent: there must be a record.
        for name in sorted(lab.shown.partitions):
            lab.produce(name, "one more than the follower has", acks="1")
        lab.until(
            lambda seen: any(one.isr in (ALL - {a}, ALL - {b}) for one in seen.partitions.values()), "an ISR of two"
        )
        lab.link("restore", a, b)
        lab.until(lambda seen: all(one.isr == ALL for one in seen.partitions.values()), "all replicas in the ISR again")

    with tour.stop("no invariant was broken on the way"):
        health = lab.shown.health
        assert any(re.fullmatch(r"✓ \d+ invariants", one) for one in health), f"The page says {health}."


def _leader(seen: Shown) -> int:
    """The leader of orders-0; 0 without one."""
    return int(seen.partitions["orders-0"].leader[1:] or 0)


def _leader_end(seen: Shown) -> int:
    partition = seen.partitions["orders-0"]
    return partition.lanes[partition.leader].hw if partition.leader else -1


def _ends(seen: Shown) -> set[int]:
    """High watermarks of all replicas of orders-0; with log end offsets where those differ."""
    return {end for lane in seen.partitions["orders-0"].lanes.values() for end in (lane.hw, lane.leo)}


def _controller_epoch(seen: Shown) -> int:
    lines = next((node.lines for node in seen.nodes.values() if "controller · epoch" in node.lines), "")
    return int(lines.split("controller · epoch ")[1].split()[0]) if lines else 0
