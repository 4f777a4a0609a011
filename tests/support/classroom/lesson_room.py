"""A class on the lab's own server that begins lessons of the course."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User

from lab.actions.classes.live_class import close_classes
from lab.course.loader import course
from lab.learning import log as learning
from lab.learning.events import StepChecked
from lab.models import Class, Participant, Run
from lab.runtime.host import Host
from tests.support.classroom.class_pages import Page, page_of
from tests.support.classroom.guest import Guest
from tests.support.lab_server import LabServer, Visitor

FIRST, SECOND, THIRD = list(course().lessons.values())[:3]


class LessonRoom:
    """A class that began with a lesson: Ada (p2) and Bob (p3) have joined."""

    def __init__(self, server: LabServer, teacher: Visitor, chapter: str) -> None:
        made = teacher.post("/classes/new", title="Replication", chapter=chapter)
        assert made.status == 200
        self.server, self.teacher = server, teacher
        self.model = Class.objects.get(slug=made.url.rstrip("/").rpartition("/")[2])
        self.ada, self.bob = self.join("Ada"), self.join("Bob")

    def join(self, name: str) -> Guest:
        guest = Guest(self.server)
        assert guest.join(self.model.link_key, name).status == 200
        return guest

    def page(self, of: Visitor) -> Any:
        return page_of(self.server, self.model.slug, of)

    def lab(self, p: str) -> str:
        """The lab of a participant; empty for none."""
        run = Participant.objects.select_related("run").get(classroom=self.model, number=int(p[1:])).run
        return f"{run.slug}/main" if run is not None else ""

    def check(self, p: str, lab: str, lesson: Any, step: int = 1) -> None:
        """A step of a lesson is done in a lab."""
        user = Participant.objects.get(classroom=self.model, number=int(p[1:])).user_id
        run, branch = lab.split("/")
        id = lesson.exercise.steps[step - 1].id
        assert user is not None
        learning.append(user, StepChecked(lesson=lesson.slug, run=run, branch=branch, step=id, seq=5))

    def restart(self) -> None:
        self.server.call(lambda _: close_classes())


@contextmanager
def lesson_room(server: LabServer, teacher: Visitor, chapter: str = FIRST.slug) -> Iterator[LessonRoom]:
    """The class, which is deleted afterwards with its labs and guests."""
    made = LessonRoom(server, teacher, chapter)
    try:
        yield made
    finally:
        remove_class(server, made.model)


def remove_class(server: LabServer, made: Class) -> None:
    """Deletes a class with its labs and all guests."""
    server.call(lambda _: close_classes())
    slugs = list(Run.objects.filter(classroom=made).values_list("slug", flat=True))

    async def close(host: Host) -> None:
        for slug in slugs:
            await host.close_run(slug)

    server.call(close)
    Run.objects.filter(slug__in=slugs).delete()
    made.delete()
    User.objects.filter(username__startswith="guest-").delete()


def begin_lesson(page: Page, lesson: Any, after: int = 1, id: str = "") -> dict[str, Any]:
    return page.act("begin_lesson", id, lesson=lesson.slug, after=after)


def given(page: Page, path: str, field: str, before: str) -> str:
    """Reads until somebody has another lab; returns it."""
    while (now := (page.held.get(path) or {}).get(field, "")) in ("", before):
        page.read()
    return str(now)
