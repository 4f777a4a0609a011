"""A class with an open door, its instructor, and a browser without an account."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes.give_class import give_class
from lab.actions.classes.live_class import close_classes
from lab.classroom.limits import KeyTries, WrongCodes
from lab.models import Class
from lab.web.classes import door_pages
from tests.support.classroom.guest import Guest
from tests.support.lab_server import LabServer, Visitor


@pytest.fixture
def staff(lab_server: LabServer) -> Visitor:
    lin = Visitor(lab_server).sign_in_as("door-lin")
    User.objects.filter(username="door-lin").update(is_staff=True)
    return lin


@pytest.fixture
def room(staff: Visitor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Class]:
    """An open class, and counters that have counted nothing."""
    monkeypatch.setattr(door_pages, "wrong_codes", WrongCodes())
    monkeypatch.setattr(door_pages, "key_tries", KeyTries())
    form = {"title": "Storage <b>systems</b>", "language-en": "on"}
    yield give_class(User.objects.get(username="door-lin"), form, (), timezone.now())
    staff.server.call(lambda _: close_classes())
    Class.objects.all().delete()
    User.objects.filter(username__startswith="guest-").delete()


@pytest.fixture
def guest(lab_server: LabServer) -> Guest:
    return Guest(lab_server)
