"""The screens of consumer groups and producers in a real browser."""

import re

from playwright.sync_api import Page, expect

from tests.lab_server import LabServer, Visitor
from tests.test_control_plane_page import nothing_sticks_out, page_of, press

__all__ = ["page_of"]

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
)


def test_who_owns_what_and_what_waits_in_a_producer(page_of: Page, lab_server: LabServer) -> None:
    page = page_of
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name="Clients", seed="7")
    with visitor.socket(run) as socket:
        socket.ask({"k": "time", "op": "play", "value": 20.0})
        for line in LINES:
            socket.run(line)
        socket.ask({"k": "time", "op": "pause"})
        # From a pause on nothing arrives: what is handed over goes under way, and the rest waits.
        socket.run("producer burst p1 orders-1 9")
    page.goto(f"{lab_server.address}/r/{run}/main?view=groups")
    groups = page.locator("hw-groups")
    expect(groups.locator(".statechart .state")).to_have_count(5)
    expect(groups.locator(".statechart .state.active")).to_contain_text("Stable")
    expect(groups.locator(".owners tbody tr")).to_have_count(7)
    for client, owned in (("c1", 3), ("c2", 3), ("c3", 4)):
        row = groups.locator(".owners tbody tr", has_text=re.compile(f"^\\s*{client}"))
        expect(row.locator(".own.owned")).to_have_count(owned)
    expect(groups.locator(".owners tbody tr", has_text="c1").locator(".own.was")).not_to_have_count(0)
    expect(groups.locator(".owners tr.sum").nth(1).locator("td").first).to_have_text("3")
    expect(groups.get_by_text("static: till")).to_be_visible()
    nothing_sticks_out(page)
    press(page, "o")
    producers = page.locator("hw-producers")
    expect(producers.locator(".producer")).to_have_count(1)
    expect(producers.locator(".batch")).not_to_have_count(0)
    expect(producers.locator(".slots .used")).not_to_have_count(0)
    nothing_sticks_out(page)
    press(page, "o")
    expect(producers.locator(".producer")).to_have_count(0)
