"""The screens of consumer groups, producers and transactions in a real browser."""

import re

from playwright.sync_api import Page, expect

from tests.support.lab_page import nothing_sticks_out_at_any_width, press
from tests.support.lab_server import LabServer, Visitor

LINES = (
    "kafka-topics.sh --create --topic orders --partitions 10 --replication-factor 3",
    "producer open p1 --acks all",
    "consumer start c1 --group shop --topic orders --assignor range",
    'wait "group shop == Stable 1" 30s',
    "consumer start c2 --group shop --topic orders --assignor range",
    "consumer start c3 --group shop --topic orders --assignor range --instance till",
    'wait "group shop == Stable 3" 30s',
    "producer send p1 orders-0 a:1 b:2 c:3",
    'wait "committed shop orders-0 == 3" 30s',
    "producer open p2 --linger 400 --ignore-keys true",
    "producer send p2 orders-9 warm:up",
    "producer open t1 --transactional-id pay",
    "producer begin t1",
    "producer send t1 orders-8 d:4",
    "producer abort t1",
    "producer begin t1",
    "producer send t1 orders-8 e:5",
    "producer offsets t1 --group shop orders-0@3",
)


def test_groups_and_producers_screens(signed_in: Page, lab_server: LabServer) -> None:
    page = signed_in
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name="Clients", seed="7")
    with visitor.socket(run) as socket:
        socket.play(LINES)
        # After a pause nothing arrives: records that are handed over stay in flight, and the rest waits.
        socket.run("producer burst p1 orders-1 9")
        socket.run("producer burst p1 orders 9")
        socket.run("producer burst p2 orders 3")
    page.goto(f"{lab_server.address}/r/{run}/main?view=groups")
    groups = page.locator("hw-groups")
    owners = groups.locator(".assignment .owners")
    expect(groups.locator(".statechart .state")).to_have_count(5)
    expect(groups.locator(".statechart .state.active")).to_contain_text("Stable")
    expect(owners.locator("tbody tr")).to_have_count(10)
    for client, owned in (("c1", 3), ("c2", 3), ("c3", 4)):
        row = owners.locator("tbody tr", has_text=re.compile(f"^\\s*{client}"))
        expect(row.locator(".own.owned")).to_have_count(owned)
    expect(owners.locator("tbody tr", has_text="c1").locator(".own.was")).not_to_have_count(0)
    expect(owners.locator("tr.sum").nth(1).locator("td").first).to_have_text("3")
    expect(groups.get_by_text("static: till")).to_be_visible()
    plans = groups.locator(".plans tbody tr")
    expect(plans).to_have_count(4)
    expect(plans.filter(has_text="roundrobin").locator(".moves")).not_to_have_count(0)
    expect(plans.filter(has_text="cooperative").locator(".moves")).to_have_count(0)
    expect(groups.locator(".slot-table tr", has_text="shop, orders-0").first).to_contain_text("offset 3")
    expect(groups.locator(".slot-table tr.pending")).to_have_count(1)
    nothing_sticks_out_at_any_width(page)
    press(page, "o")
    producers = page.locator("hw-producers")
    expect(producers.locator(".producer")).to_have_count(3)
    first, second = (producers.locator(".producer").nth(place) for place in (0, 1))
    expect(first.locator(".slots .used")).not_to_have_count(0)
    expect(first.locator(".choices li").first).to_contain_text("murmur2")
    expect(first.locator(".tag.id")).to_contain_text("epoch 0")
    expect(second.locator(".batch .ring")).to_have_count(1)
    expect(second.locator(".choices li").first).to_contain_text("same partition")
    nothing_sticks_out_at_any_width(page)
    press(page, "r")
    transactions = page.locator("hw-transactions")
    expect(producers.locator(".producer")).to_have_count(0)
    expect(transactions.locator(".statechart .state.active")).to_contain_text("Ongoing")
    log = transactions.locator(".txn-log", has_text="orders-8")
    expect(log).to_contain_text("LSO 2 · HW 3 · LEO 3")
    expect(log.locator(".markers").last).to_contain_text(": 0–1")
    nothing_sticks_out_at_any_width(page)
    with visitor.socket(run) as socket:
        socket.play(["producer commit t1"])
    expect(transactions.locator(".statechart .state.active")).to_contain_text("CompleteCommit")
    press(page, "r")
    expect(transactions.locator(".txn-log")).to_have_count(0)
