"""A class on the lab's server, for each test that asks for one."""

from collections.abc import Iterator

import pytest

from tests.support.classroom.class_pages import Classroom
from tests.support.lab_server import LabServer


@pytest.fixture
def classroom(lab_server: LabServer) -> Iterator[Classroom]:
    made = Classroom(lab_server)
    yield made
    made.close()
