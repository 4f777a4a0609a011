"""The lab's page in a real browser against the real server: acting by forms, console and keys, and looking closer."""

import re

from playwright.sync_api import Page, expect

from devtools.tour.cells import click_record
from tests.support.lab_page import console, partition, pause, press, sign_in
from tests.support.lab_server import LabServer

# Forms


def test_topic_and_records_are_created_with_the_forms(lab: Page) -> None:
    page = lab
    page.get_by_role("button", name="Create orders").click()
    page.get_by_role("dialog").get_by_role("button", name="Create topic").click()
    expect(partition(page, "orders-0")).to_contain_text("leader")
    # The button that opened the dialog no longer exists: the focus moves to the picture, not to the start of the page.
    expect(page.locator("#main")).to_be_focused()
    create = page.locator("hw-act").get_by_role("button", name="Create topic")
    create.press("Enter")
    page.get_by_role("dialog").get_by_label("Name").fill("zoo")
    page.get_by_role("dialog").get_by_role("button", name="Create topic").click()
    expect(create).to_be_focused()
    page.get_by_label("key", exact=True).fill("k1")
    page.get_by_label("value", exact=True).fill("it's a value")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 1")
    page.get_by_role("button", name="Produce 100").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 101")
    producer = page.locator("hw-produce .clients tr", has_text="p1").locator("td")
    expect(producer.nth(1)).to_have_text("all")
    expect(producer.nth(3)).to_have_text("101")
    consumer = page.locator("hw-consumer")
    consumer.get_by_label("Start from").select_option("offset")
    consumer.get_by_label("Offset").fill("1")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator(".follower")).to_contain_text("at 101")
    expect(page.locator(".follower .records")).not_to_contain_text("it's a value")
    page.get_by_role("button", name="Stream").click()
    expect(page.get_by_role("button", name="Stop", exact=False).first).to_be_visible()
    page.locator("hw-produce").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stream")).to_be_visible()


def test_producer_is_opened_with_its_settings_and_sends_from_then_on(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("button", name="More settings").click()
    form = page.get_by_role("dialog")
    form.get_by_label("linger.ms").fill("30")
    form.get_by_label("compression.type").select_option("lz4")
    form.get_by_label("acks", exact=False).first.select_option("1")
    expect(form).to_contain_text("disables idempotence")
    expect(form.locator(".line-shown")).to_have_text("producer open p1 --acks 1 --linger 30 --compression lz4")
    form.get_by_role("button", name="Open a producer").click()
    expect(page.locator("hw-produce").get_by_label("producer", exact=True)).to_have_value("p1")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 1")


def test_record_with_a_null_key_and_acks_0(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("radio", name="0").click()
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("LEO 1")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.locator(".follower .records")).to_contain_text("null")


def test_refused_topic_is_one_clear_message(lab: Page) -> None:
    lab.get_by_role("button", name="Create orders").click()
    lab.get_by_label("Replication factor").fill("9")
    lab.get_by_role("dialog").get_by_role("button", name="Create topic").click()
    expect(lab.get_by_role("alert")).to_contain_text("9")
    lab.get_by_role("alert").get_by_role("button", name="Close").click()
    expect(lab.get_by_role("alert")).to_have_count(0)


def test_field_that_was_wrong_has_the_focus(page: Page, lab_server: LabServer) -> None:
    sign_in(page, lab_server)
    form = page.locator("form.new-run")
    # As a browser that lets everything through.
    form.evaluate("(form) => { form.noValidate = true; }")
    form.get_by_label("Name").fill("Nine of them")
    form.get_by_label("Brokers").fill("9")
    form.get_by_role("button", name="Start the cluster").click()
    brokers = page.locator("form.new-run").get_by_label("Brokers")
    expect(brokers).to_be_focused()
    expect(brokers).to_have_attribute("aria-invalid", "true")
    expect(brokers).to_have_accessible_description(re.compile("Invalid number of brokers '9'"))
    expect(brokers).to_have_value("9")
    expect(page.locator("form.new-run").get_by_label("Name")).to_have_value("Nine of them")


def test_killing_and_starting_a_broker(with_topic: Page) -> None:
    page = with_topic
    row = page.locator(".nodes li", has_text="broker 2")
    row.get_by_role("button", name="Kill").click()
    expect(row).to_contain_text("down")
    # its old session has to end before it is up again
    press(page, "]", "]", "]", "]")
    expect(page.locator(".inv")).to_contain_text("under-replicated")
    row.get_by_role("button", name="Start").click()
    expect(row).to_contain_text("up")


# Console


def test_console_completes_remembers_and_refuses(with_topic: Page) -> None:
    page = with_topic
    expect(console(page, "kafka-topics.sh --list")).to_contain_text("orders")
    field = page.locator("#console-line")
    field.fill("kafka-top")
    page.keyboard.press("Tab")
    expect(field).to_have_value("kafka-topics.sh ")
    field.fill("")
    page.keyboard.press("ArrowUp")
    expect(field).to_have_value("kafka-topics.sh --list")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_value("")
    field.fill("frobnicate")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("frobnicate")
    expect(field).to_have_value("frobnicate")


def test_command_that_runs_can_be_interrupted(lab: Page) -> None:
    entry = console(lab, "sleep 600s")
    entry.get_by_role("button", name="Interrupt").click()
    expect(entry.get_by_role("button", name="Interrupt")).to_have_count(0)


# Looking


def test_inspector_follows_the_selection(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("HW 1")
    pause(page)
    press(page, "Alt+1")
    inspector = page.locator("#inspector")
    expect(inspector).to_contain_text("broker epoch")
    page.locator(".hw-lane.leader").first.press("Enter")
    expect(inspector).to_contain_text("'s view of orders-0")
    inspector.get_by_role("button", name="1", exact=True).first.click()
    expect(inspector).to_contain_text("Why")
    expect(inspector.locator(".chain li")).not_to_have_count(0)


def test_find_goes_to_an_offset_and_shows_its_bytes(with_topic: Page) -> None:
    page = with_topic
    page.get_by_label("value", exact=True).fill("hello")
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("HW 1")
    pause(page)
    press(page, "/")
    page.get_by_role("textbox", name="Find").fill("orders-0 0")
    page.keyboard.press("Enter")
    inspector = page.locator("#inspector")
    expect(inspector).to_contain_text("hello")
    expect(inspector).to_contain_text("committed")
    expect(inspector.locator(".hex")).to_contain_text("68")
    inspector.get_by_role("button", name="files").click()
    expect(inspector.locator(".file-list")).to_contain_text("00000000000000000000.log")
    inspector.get_by_role("button", name="bytes", exact=True).click()
    expect(inspector.locator(".leg")).to_contain_text("partitionLeaderEpoch")


def test_lost_record_cannot_be_opened(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("button", name="Produce one").click()
    expect(partition(page, "orders-0")).to_contain_text("HW 1")
    follower = partition(page, "orders-0").locator(".hw-lane").nth(1)
    broker = follower.locator(".hw-lane-name").text_content() or ""
    inspector = page.locator("#inspector")
    click_record(follower, 0)
    expect(inspector).to_contain_text("committed")
    console(page, f"broker powerloss {broker.removeprefix('b')}")
    expect(inspector).to_contain_text("does not have offset 0")
    pause(page)
    press(page, "Escape")
    click_record(follower, 0)
    expect(inspector).to_contain_text("log end offset on disk")
    follower.press("ArrowLeft")
    expect(inspector).to_contain_text("log end offset on disk")


def test_znode_tree_by_keys_and_table_that_shows_the_same_state_and_sorts(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("tab", name="znodes").click()
    page.get_by_role("treeitem", name="ids").click()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".data")).to_contain_text("PLAINTEXT://")
    press(page, "v")
    table = page.locator(".facts-table", has=page.get_by_role("heading", name="Replicas"))
    expect(table.locator("tbody tr")).to_have_count(9)
    before = table.locator("tbody tr").first.inner_text()
    table.get_by_role("button", name="partition").click()
    expect(table.locator("tbody tr").first).not_to_have_text(before)
    table.locator("tbody tr").first.click()
    expect(page.locator("#inspector")).to_contain_text("Segments")
    press(page, "v")
    expect(page.locator(".hw-partition")).not_to_have_count(0)


def test_letters_typed_into_a_field_are_no_shortcuts_and_single_letters_can_be_switched_off(lab: Page) -> None:
    press(lab, "c")
    lab.locator("#console-line").press_sequentially("vbmk?")
    expect(lab.locator("#console-line")).to_have_value("vbmk?")
    expect(lab.get_by_role("dialog")).to_have_count(0)
    press(lab, "?")
    lab.get_by_label("Single-letter keys").uncheck()
    lab.get_by_role("dialog").get_by_role("button", name="Close").click()
    press(lab, "v")
    expect(lab.locator("hw-table")).to_be_hidden()
    press(lab, "Space")
    expect(lab.locator(".tp .tag")).to_contain_text("PAUSED")
