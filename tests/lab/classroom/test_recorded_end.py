"""The end of a class that nobody ended: it is sealed, and has ended for the door and the list of classes, too."""

from pathlib import Path

from django.conf import settings

from lab.actions.classes.live_class import live_classes
from lab.classroom.recorded.sealed import read_manifest
from lab.models import Class
from lab.runtime.host import Host
from tests.support.classroom.class_pages import Classroom
from tests.support.lab_server import LabServer


def test_a_class_that_ends_for_want_of_staff_has_ended_for_its_door(lab_server: LabServer) -> None:
    classroom = Classroom(lab_server)

    async def end(_: Host) -> None:
        live = await live_classes().of(classroom.model)
        live.apply(live.room.board.now._replace(ended="no_staff"))
        assert live.finishing is not None
        await live.finishing

    try:
        lab_server.call(end)
        assert Class.objects.get(pk=classroom.model.pk).state == Class.State.ENDED
        assert read_manifest(Path(settings.DATA) / "classes" / classroom.slug) is not None
    finally:
        classroom.close()
