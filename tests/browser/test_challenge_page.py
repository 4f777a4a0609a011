"""The page of a challenge in a real browser: live progress, widths, axe."""

import pytest
from playwright.sync_api import Page, expect

from lab.challenges.loader import challenges
from tests.support.axe import violations
from tests.support.lab_page import PHONE, TABLET, WIDE, be, nothing_sticks_out
from tests.support.lab_server import LabServer, Visitor

C2 = "c2-settings-that-survive"
C7 = "c7-shrink-it"


@pytest.fixture
def challenge(page: Page, visitor: Visitor, complaints: list[str]) -> Page:
    """A signed-in visitor."""
    page.set_viewport_size(WIDE)
    be(page, visitor)
    return page


def test_verdict_replaces_the_progress_when_it_is_there(challenge: Page, lab_server: LabServer) -> None:
    page = challenge
    page.goto(f"{lab_server.address}/challenges/{C7}/")
    page.get_by_label("Script").fill(challenges()[C7].bad["script"])
    page.get_by_role("button", name="Judge it on 5 seeds").click()
    expect(page.locator(".outcome.failed")).to_contain_text("failed", timeout=120_000)
    expect(page.locator(".outcome.failed")).to_be_in_viewport()
    for theme, language in (("dark", "en"), ("light", "zh-CN")):
        page.goto(f"{lab_server.address}/challenges/{C7}/?theme={theme}&language={language}")
        assert violations(page) == []
        for size in (TABLET, PHONE, WIDE):
            page.set_viewport_size(size)
            nothing_sticks_out(page)


@pytest.mark.parametrize("slug", [C2, "c9-who-did-it"])
def test_form_fits_every_width(challenge: Page, lab_server: LabServer, slug: str) -> None:
    page = challenge
    page.goto(f"{lab_server.address}/challenges/{slug}/")
    assert violations(page) == []
    for size in (TABLET, PHONE, WIDE):
        page.set_viewport_size(size)
        nothing_sticks_out(page)
