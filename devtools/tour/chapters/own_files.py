"""The inspector for the visitor's files: the sample, an index entry followed to its batch, a fault, and no request."""

from playwright.sync_api import Page

from devtools.tour.tour import Tour, until

TITLE = "inspector"
TORN = "incomplete tail"


def walk(tour: Tour) -> None:
    page = tour.page()

    with tour.stop("the list of runs leads to a page that invites files"):
        page.get_by_role("link", name="Inspect your own log segments").click()
        until(page, page.get_by_text("Your files stay on this machine.").is_visible, "what happens to the files")
        page.wait_for_load_state("networkidle")
        tour.pictures("inspector-empty", page)
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))

    with tour.stop("the sample: batches, records and bytes of a partition of a real broker"):
        _sample(page)
        until(page, lambda: page.locator(".grid .line:not(.titles)").count() == 13, "13 batches")
        until(page, page.locator("hw-own-batch .bytes i").count, "the bytes of a batch")

    with tour.stop("an entry of an index leads to its batch"):
        page.locator(".own-list button[title='00000000000000000022.index']").click()
        page.locator(".grid .line", has_text="866").click()
        until(page, page.get_by_role("heading", name="batch 37–39").is_visible, "batch 37–39")

    with tour.stop("a torn tail is said in a sentence, with its place"):
        fault = page.locator(".faults li", has_text=TORN)
        until(page, lambda: "@333" in fault.inner_text(), "the fault at byte 333")
        fault.get_by_role("button").click()
        until(page, lambda: "47.log" in page.locator(".own-content h2").inner_text(), "the log that it is in")

    with tour.stop("nothing has left the page"):
        assert requested == [], f"It asked for {requested[0]}."
        tour.pictures("inspector", page, _sample)


def _sample(page: Page) -> None:
    page.locator(".zone button.btn").click()
    page.locator("hw-own-batch .bytes i").first.wait_for(state="attached")
