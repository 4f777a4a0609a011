"""A class with an open door, its instructor, and a browser without an account."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes.start_class import start_class
from lab.models import Class
from tests.support.classroom.door import clean_door
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
    form = {"title": "Storage <b>systems</b>", "language-en": "on"}
    with clean_door(staff.server, monkeypatch):
        yield start_class(User.objects.get(username="door-lin"), form, (), timezone.now())


@pytest.fixture
def guest(lab_server: LabServer) -> Guest:
    return Guest(lab_server)
