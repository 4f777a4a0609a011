"""The door of a class in a real browser: an instructor and a learner in contexts of their own, up to the class."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.axe import violations
from tests.support.classroom.door import class_of, clean_door, open_classes
from tests.support.lab_page import PHONE, TABLET, WIDE, nothing_sticks_out
from tests.support.lab_server import LabServer

LOOKS = ["language=en&theme=dark", "language=zh-CN&theme=light"]


@pytest.fixture
def staff(page: Page, lab_server: LabServer, complaints: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """The instructor, on the page of their classes."""
    with clean_door(lab_server, monkeypatch):
        open_classes(page, lab_server)
        yield page


@pytest.fixture
def learner(newcomer: Callable[[], Page], lab_server: LabServer) -> Page:
    """A new visitor with a phone."""
    page = newcomer()
    page.set_viewport_size(PHONE)
    page.goto(f"{lab_server.address}/join/")
    return page


def start_class(staff: Page, *, waits: bool = False) -> str:
    """Starts a class with the form; returns its code."""
    form = staff.locator("#new-class")
    form.get_by_label("Name").fill("Storage systems, autumn")
    form.get_by_label("Start from").select_option("006-the-lost-record")
    form.get_by_label("New participants wait until staff admit them").set_checked(waits)
    form.get_by_role("button", name="Start class").click()
    code = staff.locator(".big-code").inner_text()
    assert re.fullmatch(r"[A-Z]+-\d{3}", code)
    return code


def join(learner: Page, code: str, name: str) -> None:
    """Code, name, join."""
    learner.get_by_label("Class code").fill(code.lower().replace("-", " "))
    learner.keyboard.press("Enter")
    learner.get_by_role("textbox", name="Name").fill(name)
    learner.get_by_role("button", name="Join", exact=True).click()


def test_waiting_learner_continues_automatically_when_admitted(staff: Page, learner: Page) -> None:
    join(learner, start_class(staff, waits=True), "Ada Okafor")
    expect(learner.get_by_role("status")).to_contain_text("Ada Okafor, you are waiting")
    # The instructor's page finds out without a reload.
    staff.get_by_role("button", name="Admit", exact=True).click()
    expect(learner.locator(".class-home h1")).to_have_text("Storage systems, autumn")
    expect(learner.locator(".big-code")).to_have_text(re.compile("^[0-9A-Z]{5}-[0-9A-Z]{5}$"))
    expect(staff.locator(".list li", has_text="Ada Okafor")).to_be_visible()


def test_another_name_is_offered_at_a_press(staff: Page, learner: Page) -> None:
    learner.get_by_label("Class code").fill(start_class(staff))
    learner.keyboard.press("Enter")
    name = learner.get_by_role("textbox", name="Name")
    before = name.input_value()
    learner.get_by_role("button", name="Another name").click()
    expect(name).not_to_have_value(before)
    expect(learner.get_by_role("radio", name="I appear as a number")).to_be_checked()


def test_staff_page_does_not_refresh_controls_in_use(staff: Page, learner: Page) -> None:
    staff.clock.install()
    join(learner, start_class(staff), "Ada")
    staff.clock.run_for(4_000)
    ada = staff.locator(".list li", has_text="Ada")
    ada.locator("summary").click()
    field = ada.get_by_role("textbox", name="Name")
    field.fill("Ada L")
    staff.clock.run_for(30_000)
    expect(field).to_have_value("Ada L")
    ada.get_by_role("button", name="Rename").click()
    expect(staff.locator(".list bdi", has_text="Ada L")).to_be_visible()


def test_the_front_page_takes_a_class_code(staff: Page, lab_server: LabServer) -> None:
    code = start_class(staff)
    staff.goto(f"{lab_server.address}/")
    expect(staff.locator(".class-line")).to_contain_text("Storage systems, autumn")
    staff.get_by_label("Class code").fill(code)
    staff.keyboard.press("Enter")
    expect(staff.locator("#door-title")).to_be_visible()


def test_axe_finds_nothing_and_every_width_fits(
    staff: Page, learner: Page, lab_server: LabServer, complaints: list[str]
) -> None:
    """Acceptance statement 25, of the door."""
    join(learner, start_class(staff, waits=True), "Ada Okafor")
    expect(learner.get_by_role("status")).to_be_visible()
    room = class_of(staff)
    home = f"{lab_server.address}/classes/{room.slug}/"
    pages = {
        staff: [f"{lab_server.address}/classes/", home, f"{lab_server.address}/account/"],
        learner: [home, *(f"{lab_server.address}/{path}/" for path in ("join", "continue", f"return/{room.slug}"))],
    }
    for look in LOOKS:
        for page, addresses in pages.items():
            for address in addresses:
                page.goto(f"{address}?{look}")
                for size in (TABLET, PHONE, WIDE):
                    page.set_viewport_size(size)
                    nothing_sticks_out(page)
                assert violations(page) == [], (address, look)
    staff.goto(home)
    staff.locator("[value=admit-all]").click()
    for look in LOOKS:
        learner.goto(f"{home}?{look}")
        expect(learner.locator(".class-home")).to_be_visible()
        assert violations(learner) == [], look
