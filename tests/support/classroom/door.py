"""The door of classes, for a test that gives one."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Page

from lab.actions.classes.live_class import close_classes
from lab.classroom.limits import KeyTries, WrongCodes
from lab.models import Class, Run
from lab.web.classes import door_pages
from tests.support.lab_page import WIDE
from tests.support.lab_server import LabServer


@contextmanager
def clean_door(lab_server: LabServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without earlier wrong codes and keys; classes, their runs and guests are removed afterwards."""
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    yield
    lab_server.call(lambda _: close_classes())
    Run.objects.filter(classroom__isnull=False).update(classroom=None)
    Class.objects.all().delete()
    User.objects.filter(username__startswith="guest-").delete()


def open_classes(page: Page, lab_server: LabServer) -> None:
    """Signs in as the local user, and opens the page of their classes in a wide window."""
    page.set_viewport_size(WIDE)
    page.goto(f"{lab_server.address}/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/classes/")
