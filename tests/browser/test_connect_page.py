"""The card "Connect a client" in a real browser, with a real client."""

import re

from kafka import KafkaProducer
from playwright.sync_api import Page, expect

WAIT_MS = 60_000


def test_connected_client_is_shown(with_topic: Page) -> None:
    page = with_topic
    page.get_by_role("button", name="Connect a client").click()
    dialog = page.get_by_role("dialog", name="Connect a client")
    servers = dialog.locator(".servers code")
    expect(servers).to_have_text(re.compile(r"^127\.0\.0\.1:\d+(,127\.0\.0\.1:\d+){2}$"))
    bootstrap = servers.inner_text()
    expect(dialog.locator("pre")).to_contain_text(bootstrap)
    dialog.get_by_role("button", name="aiokafka", exact=True).click()
    expect(dialog.locator("pre")).to_contain_text("AIOKafkaProducer")
    expect(dialog).to_contain_text("No clients connected.")

    producer = KafkaProducer(bootstrap_servers=bootstrap, client_id="mine")
    assert producer.send("orders", b"from outside", partition=0).get(60).offset == 0
    expect(dialog.locator("li", has_text="mine").first).to_contain_text("kafka-python", timeout=WAIT_MS)
    dialog.get_by_role("button", name="Close").click()
    card = page.locator(".hw-node.client", has_text="mine").first
    expect(card).to_be_visible(timeout=WAIT_MS)
    card.click()
    facts = page.locator("hw-inspector")
    expect(facts).to_contain_text("Connected to")
    expect(facts).to_contain_text("kafka-python")
    waits = page.locator("hw-stage-bar .inv")
    expect(waits).not_to_contain_text("clock")
    page.keyboard.press("Space")
    expect(waits).to_contain_text("clients are waiting: their clocks continue")
    page.keyboard.press("Space")
    expect(waits).not_to_contain_text("clock")
    producer.close()
    expect(page.locator(".hw-node.client")).to_have_count(0, timeout=WAIT_MS)
