"""The class that the tests of its pages begin with."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.support.classroom.door import clean_door, start_class
from tests.support.lab_server import LabServer


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The instructor, on the door page of a new class without a lesson."""
    with clean_door(lab_server, monkeypatch):
        start_class(page, lab_server, "Storage systems")
        yield page
