"""Sign in; the list of runs: new, rename, duplicate, delete."""

import re

from playwright.sync_api import Locator, Page

from devtools.tour.lab_page import LabPage
from devtools.tour.tour import Tour

TITLE = "runs"


def walk(tour: Tour) -> None:
    with tour.stop("a forged token is refused, and the page says what to do"):
        page = tour.visitor().new_page()
        response = page.goto(f"{tour.origin}/sign-in/?token=forged")
        assert response and response.status == 403, f"The answer had the status {response and response.status}."
        assert "Copy the address" in page.get_by_role("alert").inner_text(), "It does not say where the address is."

    with tour.stop("the printed address ends at the front page, without the token"):
        response = page.goto(tour.address)
        assert response and response.status == 200, f"The answer had the status {response and response.status}."
        assert page.url == f"{tour.origin}/", f"The address is {page.url}."

    with tour.stop("a new run: three brokers register in ZooKeeper"):
        lab = LabPage.of_new_run(tour, "Tour: the list of runs")
        tree = lab.tab("znodes")
        for broker in (1, 2, 3):
            lab.sees(tree.locator(f"[data-path='/brokers/ids/{broker}']"), f"/brokers/ids/{broker}")

    page, run = lab.page, lab.run
    with tour.stop("the list shows it, and it gets another name"):
        event = lab.pause().event
        page.goto(f"{tour.origin}/runs/")
        card = _card(page, run)
        facts = card.locator(".facts").inner_text()
        assert "3 brokers" in facts and re.search("just now|minute", facts), f"The list says: {facts}"
        card.locator("summary").click()
        card.get_by_role("textbox", name="Name").fill("Tour: another name")
        with page.expect_navigation():
            card.get_by_role("button", name="Rename").click()
        title = card.get_by_role("heading").inner_text()
        assert title == "Tour: another name", f"It is called {title!r}."

    with tour.stop("a duplicate has the same history: it opens paused, from the recording"):
        card.locator("summary").click()
        with page.expect_navigation():
            card.get_by_role("button", name="Duplicate").click()
        page.get_by_role("link", name="Tour: another name (copy)").first.click()
        copy = LabPage(tour, page)
        copied = copy.run
        tour.runs.append(copied)
        seen = copy.until(lambda seen: seen.brokers_up == 3 and seen.is_paused, "three brokers, paused")
        assert seen.event == event, f"It is at event {seen.event}, the other one was at {event}."
        assert seen.connection == "recorded", f"The page says {seen.connection!r} of the connection."

    with tour.stop("it continues from where it was, once it is played"):
        copy.play()
        began_us = copy.shown.at_us
        copy.until(lambda seen: seen.at_us > began_us and not seen.connection, "a clock that runs, in a live core")

    with tour.stop("the copy is deleted, the other run stays"):
        page.goto(f"{tour.origin}/runs/")
        tour.pictures("runs", page)
        delete(page, copied)
        assert not _card(page, copied).count(), "The copy is still in the list."
        assert _card(page, run).count() == 1, "The other run is not there any more."


def delete(page: Page, run: str) -> None:
    """Deletes a run by its card in the list; harmless when it is not there."""
    card = _card(page, run)
    if card.count():
        card.locator("summary").click()
        card.get_by_role("checkbox", name="Permanently delete").check()
        with page.expect_navigation():
            card.get_by_role("button", name="Delete").click()


def _card(page: Page, run: str) -> Locator:
    return page.locator("li.run", has=page.locator(f"form[action='/runs/{run}/delete']"))
