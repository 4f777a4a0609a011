"""The class that the tests of its pages begin with."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.classroom.class_browser import join
from tests.support.classroom.door import clean_door, start_class
from tests.support.lab_server import LabServer


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The instructor, on the door page of a new class without a lesson."""
    with clean_door(lab_server, monkeypatch):
        start_class(page, lab_server, "Storage systems")
        yield page


@pytest.fixture
def ada(staff: Page, newcomer: Callable[[], Page]) -> Page:
    """A learner in her lab, while the instructor is on the board."""
    page = newcomer()
    join(page, staff.locator(".address a").get_attribute("href") or "", "Ada")
    staff.get_by_role("link", name="Open the board").click()
    expect(staff.locator(".tile")).to_have_count(1)
    return page
