"""The door of classes, for a test that gives one."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from lab.actions.classes.live_class import close_classes
from lab.classroom.limits import Joins, KeyTries, WrongCodes
from lab.models import Class, Run
from lab.web.classes import door_pages
from tests.support.lab_page import WIDE
from tests.support.lab_server import LabServer


@contextmanager
def clean_door(lab_server: LabServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without earlier wrong codes and keys; classes, their runs and guests are removed afterwards."""
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    monkeypatch.setattr(door_pages, "joins", Joins())
    yield
    lab_server.call(lambda _: close_classes())
    Run.objects.filter(classroom__isnull=False).update(classroom=None)
    Class.objects.all().delete()
    User.objects.filter(username__startswith="guest-").delete()


def class_of(page: Page) -> Class:
    """The class whose door, board or other page is open."""
    return Class.objects.get(slug=urlsplit(page.url).path.split("/")[2])


def open_classes(page: Page, lab_server: LabServer) -> None:
    """Signs in as the local user, and opens the page of their classes in a wide window."""
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/classes/")


def start_class(page: Page, lab_server: LabServer, name: str, lesson: str = "") -> None:
    """Starts a class by the form, as its instructor, who sees its door then."""
    open_classes(page, lab_server)
    form = page.locator("#new-class")
    form.get_by_label("Name").fill(name)
    if lesson:
        form.locator("[name=chapter]").select_option(lesson)
    form.get_by_role("button", name="Start class").click()
    expect(page.locator(".big-code")).to_be_visible()
