"""The recorded class that comes with the lab: replayed, searched and read."""

from playwright.sync_api import Page

from devtools.tour.tour import Tour, until

TITLE = "recorded class"
CUT = "ledger-0@b1: truncated"


def walk(tour: Tour) -> None:
    page = tour.page()
    with tour.stop("the demonstration opens at its first instant with a lab"):
        page.goto(f"{tour.origin}/classes/")
        page.locator("form[action='/classes/demonstration'] button").click()
        page.wait_for_url("**/replay/")
        _sees_brokers(page)

    with tour.stop("a search finds the truncation, and a click shows it"):
        page.get_by_role("searchbox").fill("truncated")
        page.locator(".instants button", has_text=CUT).click()
        lost = page.locator("hw-replay-stage-bar .tag.bad")
        until(page, lambda: lost.is_visible() and "lost" in lost.inner_text(), "the lost record")

    with tour.stop("it plays on from there, with captions"):
        page.get_by_role("button", name="Play", exact=True).click()
        caption = page.locator("hw-replay-caption")
        until(page, lambda: "dora:12" in caption.inner_text(), "the caption of the lost record")
        page.get_by_role("button", name="Pause", exact=True).click()

    recording = page.url.split("?")[0]
    page.goto(f"{recording}?at=0:53")
    _sees_brokers(page)
    tour.pictures("recorded-class", page, _shows_transcript)
    page.goto(recording.replace("/replay/", "/transcript/"))
    tour.pictures("transcript", page)


def _sees_brokers(page: Page) -> None:
    page.locator(".hw-node.broker.up").first.wait_for()


def _shows_transcript(page: Page) -> None:
    _sees_brokers(page)
    page.locator("hw-replay-lists .seg button").last.click()
    page.locator("hw-replay-transcript .instants li").first.wait_for()
