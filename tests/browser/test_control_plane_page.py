"""The screens of ZooKeeper and the controller, of alarms, and two eras side by side, in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.support.lab_page import TABLET, TOPIC, WIDE, nothing_sticks_out, nothing_sticks_out_at_any_width, press
from tests.support.lab_server import LabServer, Visitor

UNCLEAN = (
    "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
    "producer open p1 --acks all",
    "producer send p1 orders-0 k:first",
    "broker kill 2",
    "broker kill 3",
    'wait "isr orders-0 == [1]" 60s',
    "producer send p1 orders-0 k:second",
    "broker kill 1",
    "broker start 2",
    'wait "controller == 2" 60s',
    "kafka-configs.sh --alter --entity-type topics --entity-name orders"
    " --add-config unclean.leader.election.enable=true",
    'wait "leader orders-0 == 2" 60s',
)


@pytest.fixture(scope="module")
def played(lab_server: LabServer) -> str:
    """A paused run in which an unclean election has lost a committed record."""
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name="Unclean", seed="7", era="1.1")
    with visitor.socket(run) as socket:
        socket.ask({"k": "time", "op": "play", "value": 20.0})
        for line in UNCLEAN:
            socket.run(line)
        socket.event("InvariantViolated")
        socket.ask({"k": "time", "op": "pause"})
    return run


def test_znodes_watches_and_state_charts(signed_in: Page, lab_server: LabServer, played: str) -> None:
    page = signed_in
    state = "/brokers/topics/orders/partitions/0/state"
    page.goto(f"{lab_server.address}/r/{played}/main?view=zookeeper&p=orders-0&sel=znode:{state}")
    data = page.locator("hw-zookeeper .znode-data")
    expect(data).to_contain_text('"leader": 2')
    expect(page.locator("hw-zookeeper .znode-data .new").first).to_contain_text("+")
    page.locator("hw-zookeeper").get_by_role("button", name="current value").click()
    expect(page.locator("hw-zookeeper .znode-data .new")).to_have_count(0)
    # Watches: the controller watches the children of ids, every live broker watches /controller.
    tree = page.locator("hw-zookeeper .zk-tree")
    expect(tree.locator("[data-path='/controller'] .watcher")).not_to_have_count(0)
    expect(tree.locator("[data-path='/controller'] .kind.ephemeral")).to_be_visible()
    # By the keyboard.
    tree.locator("[data-path='/controller']").click()
    page.keyboard.press("ArrowDown")
    expect(page.locator("hw-zookeeper .data h3")).to_contain_text("/controller_epoch")
    # The charts: as many arrows as the table has entries, and the state of the chosen partition.
    charts = page.locator("hw-controller .statechart")
    expect(charts.nth(0).locator(".state")).to_have_count(4)
    expect(charts.nth(0).locator(".transition")).to_have_count(8)
    expect(charts.nth(0).locator(".state.active")).to_contain_text("Online")
    expect(charts.nth(1).locator(".state")).to_have_count(7)
    page.locator("hw-controller").get_by_role("button", name="b1", exact=True).click()
    # A new controller of this era leaves replicas on dead brokers in their first state.
    expect(charts.nth(1).locator(".state.active")).to_contain_text("Ineligible")
    # The events that the thread handled, and their effects.
    page.locator("hw-controller .handled", has_text="BrokerChange").first.click()
    expect(page.locator("hw-controller .effects")).to_be_visible()
    nothing_sticks_out_at_any_width(page)


def test_watch_that_fires_is_a_line_from_the_znode_to_the_broker(
    signed_in: Page, lab_server: LabServer, visitor: Visitor, played: str
) -> None:
    page = signed_in
    segments = visitor.get(f"/api/runs/{played}/main/index.json").json["segments"]
    events = [
        event
        for segment in segments
        for event in visitor.get(f"/api/runs/{played}/main/segments/{segment['n']}.json").json["ev"]
    ]
    seq = next(event[0] for event in events if event[4][:3] == ["RpcSent", event[4][1], "WatchEvent"])
    page.goto(f"{lab_server.address}/r/{played}/main?view=zookeeper&t={events[seq - 1][1] / 1e6:.6f}#seq={seq}")
    expect(page.locator("hw-zookeeper .watch-lines path")).not_to_have_count(0)
    expect(page.locator("hw-zookeeper .zk-session .fired")).not_to_have_count(0)


def test_alarm_card_links_to_both_instants(signed_in: Page, lab_server: LabServer, played: str) -> None:
    page = signed_in
    page.goto(f"{lab_server.address}/r/{played}/main")
    page.get_by_role("button", name="explained").first.click()
    page.locator(".alarm-row", has_text="I-COMMIT").first.click()
    card = page.locator(".alarm-card")
    expect(card).to_have_class("alarm-card explained")
    expect(card).to_contain_text("Every later leader has all")
    expect(card).to_contain_text("unclean election")
    expect(card.locator("code")).to_contain_text("unclean.leader.election.enable=true")
    expect(card.locator(".ev")).to_be_visible()
    nothing_sticks_out_at_any_width(page)
    card.get_by_role("button", name="Go to the instant before").click()
    expect(page.locator(".hw-strips")).to_be_visible()
    press(page, "l")
    # The alarm is now after the displayed instant; its card is still shown.
    expect(page.locator(".alarm-row.ahead").first).to_be_visible()
    card.get_by_role("button", name="Go to this instant").click()
    press(page, "l")
    expect(page.locator(".alarm-row[aria-selected=true]")).to_be_visible()
    press(page, "l")
    expect(page.locator(".hw-strips")).to_be_visible()


def test_two_eras_follow_one_playhead(signed_in: Page, lab_server: LabServer, played: str) -> None:
    page = signed_in
    page.goto(f"{lab_server.address}/compare/?a={played}/main")
    page.get_by_text("Same script, another era").click()
    page.get_by_role("button", name="era 3.9", exact=True).click()
    expect(page.locator(".hw-strips")).to_have_count(2)
    expect(page.locator(".side-of.b")).to_contain_text("era 3.9")
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("instant")
    slider = page.get_by_role("slider", name="Shared playhead")
    press(page, "Home")
    expect(page.get_by_role("region", name="Differences").get_by_role("status")).to_contain_text("No differences")
    expect(verdict).to_be_empty()
    expect(page.locator(".hw-differs")).to_have_count(0)
    press(page, "]", "]")
    page.wait_for_function(
        "() => { const [a, b] = document.querySelectorAll('.side-of .facts .mono');"
        " return a.textContent === b.textContent; }"
    )
    # `[` searches backwards from the end, although that instant is not displayed yet.
    press(page, "End", "[")
    expect(slider).not_to_have_value("0")
    # A reload shows the same instant once the address contains it.
    page.wait_for_function(
        "() => Math.round(new URLSearchParams(location.search).get('t') * 1e6) "
        "=== Number(document.querySelector('hw-compare-transport input[type=range]').value)"
    )
    before = slider.input_value()
    page.reload()
    expect(page.get_by_role("slider", name="Shared playhead")).to_have_value(before)
    nothing_sticks_out_at_any_width(page)


def test_comparison_of_branches_shows_the_cluster_the_fork_and_which_one_ends_first(
    signed_in: Page, lab_server: LabServer, visitor: Visitor
) -> None:
    page, run = signed_in, visitor.new_run()
    with visitor.socket(run) as socket:
        socket.ask({"k": "time", "op": "play", "value": 5.0})
        socket.run(TOPIC)
        forked = socket.event("CommandCompleted")
        socket.ask({"k": "time", "op": "pause"})
    branch = visitor.post_json(f"/api/runs/{run}/main/fork", {"seq": forked[0]}).json["branch"]
    with visitor.socket(run, branch) as socket:
        socket.play(["link cut b1 b2", "broker kill 3", 'wait "isr orders-0 == [1]" 60s'])
    page.goto(f"{lab_server.address}/compare/?a={run}/main&b={run}/{branch}")
    expect(page.locator(".cluster-host .hw-topology")).to_have_count(2)
    table = page.get_by_role("region", name="Differences").get_by_role("table")
    expect(table.get_by_role("row", name="b1–b2 link connected cut")).to_be_visible()
    expect(table.get_by_role("row", name="b3 state up down")).to_be_visible()
    expect(page.get_by_text(re.compile("^A was played only to"))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^ended at"))).to_have_attribute("href", f"/r/{run}/main")
    press(page, "Home")
    expect(page.get_by_text("The branches share their past up to")).to_be_visible()
    expect(page.locator(".scrub line.fork")).to_be_attached()
    nothing_sticks_out_at_any_width(page)


def test_message_can_be_dropped_and_a_link_cut_one_way_by_menu(
    signed_in: Page, lab_server: LabServer, visitor: Visitor
) -> None:
    page = signed_in
    run = visitor.new_run(name="Menus", seed="7")
    page.goto(f"{lab_server.address}/r/{run}/main")
    expect(page.locator(".nodes .state.up")).to_have_count(3)
    press(page, "Space")
    expect(page.locator(".tp .tag.warn")).to_be_visible()
    page.locator(".hw-link").first.wait_for(state="attached")
    page.evaluate("location.assign(location.pathname + '?sel=link:b1|b2')")
    card = page.locator("#inspector")
    card.get_by_role("button", name="Cut only b1 → b2").click()
    press(page, ".")
    expect(page.locator(".hw-badge")).to_contain_text("b1→b2")
    expect(page.locator("hw-links")).to_contain_text("broker 1 → broker 2")
    card.get_by_role("button", name="Restore").click()
    press(page, ".")
    expect(page.locator(".hw-badge")).to_have_count(0)
    card.get_by_role("button", name="Add 200ms latency").click()
    press(page, ".")
    expect(page.locator(".hw-badge.weak")).to_contain_text("+200 ms")


def test_requests_to_zookeeper_are_listed_on_demand(signed_in: Page, lab_server: LabServer, played: str) -> None:
    page = signed_in
    page.goto(f"{lab_server.address}/r/{played}/main")
    page.get_by_role("tab", name="RPCs").click()
    switch = page.get_by_label("Show requests to ZooKeeper")
    expect(switch).not_to_be_checked()
    rows = page.locator("hw-rpcs .pill.zk.request")
    expect(rows).to_have_count(0)
    press(page, "q")
    expect(switch).to_be_checked()
    expect(rows).to_have_count(3)
    producer = page.locator("hw-rpcs button", has_text="p1")
    expect(producer).to_contain_text("0 requests in all")
    switch.click()
    expect(rows).to_have_count(0)


def test_an_open_console_leaves_room_for_the_controller(signed_in: Page, lab_server: LabServer, played: str) -> None:
    page = signed_in
    page.goto(f"{lab_server.address}/r/{played}/main?view=zookeeper")
    expect(page.locator(".controller h3").first).to_be_visible()
    press(page, "c")
    expect(page.locator("#console-line")).to_be_visible()
    for size, least in ((WIDE, 280), (TABLET, 90)):
        page.set_viewport_size(size)
        nothing_sticks_out(page)
        tree, controller, dock = (page.locator(one).bounding_box() for one in (".zk-top", ".controller", ".dock"))
        assert tree and controller and dock
        assert controller["y"] >= tree["y"] + tree["height"], "one below the other"
        assert dock["y"] - controller["y"] >= least, size
