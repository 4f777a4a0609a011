"""A class on the lab's own server, and pages of it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import websockets.exceptions
from django.conf import settings
from django.contrib.auth import get_user_model
from websockets.sync.client import ClientConnection, connect

from lab.actions.classes.live_class import live_classes
from lab.classroom.events import CLASS
from lab.management.commands.lab import HOST
from lab.models import Class, Participant, Role, Run
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

_numbers = count(1)
_acts = count()
"""Of all pages: those of one person must not repeat each other's ids."""


class Page:
    """A page's end of the socket of a class."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[dict[str, Any]] = []
        self.held: dict[str, Any] = {}
        self.upto = -1
        self.boot = ""

    def send(self, **frame: Any) -> None:
        self.connection.send(json.dumps(frame))

    def read(self, seconds: float = PATIENCE_S) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self.connection.recv(timeout=seconds))
        self.frames.append(frame)
        if frame["k"] == "welcome":
            self.boot = frame["boot"]
        if frame["k"] in ("snap", "e"):
            if frame["k"] == "snap":
                self.held = {}
            else:
                assert frame["after"] == self.upto
            self.upto = frame["upto"]
            for path, *value in frame["patch"]:
                self.held.pop(path, None)
                if value:
                    self.held[path] = value[0]
            self.send(k="ack", upto=self.upto)
        return frame

    def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Reads up to a frame of a kind with these fields."""
        while True:
            frame = self.read()
            if frame["k"] == kind and all(frame.get(name) == value for name, value in fields.items()):
                return frame

    def until_held(self, path: str, value: Any) -> None:
        """Reads until a section, or a field of it, is this."""
        name, _, field = path.partition(" ")
        while True:
            section = self.held.get(name)
            if section is not None and (section[field] if field else section) == value:
                return
            self.read()

    def act(self, op: str, id: str = "", **arguments: Any) -> dict[str, Any]:
        """Does an act; returns its answer."""
        id = id or f"a{next(_acts)}"
        self.send(k="act", id=id, do={"op": op, **arguments})
        while True:
            frame = self.read()
            if frame["k"] in ("done", "no") and frame["id"] == id:
                return frame

    def closed(self) -> int:
        """The code with which the server ends the socket."""
        try:
            while True:
                self.read()
        except websockets.exceptions.ConnectionClosed as error:
            assert error.rcvd is not None
            return error.rcvd.code


@contextmanager
def page_of(
    server: LabServer,
    slug: str,
    visitor: Visitor,
    *,
    have: int = 0,
    boot: str = "",
    schema: str = CLASS.hash,
    place: str = "lab",
) -> Iterator[Page]:
    """A page of a class that a visitor has opened, and that has said hello."""
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.cookies)
    with connect(
        f"ws://{HOST}:{server.port}/ws/classes/{slug}/",
        additional_headers={"Cookie": cookies, "Origin": server.address},
        max_size=None,
    ) as connection:
        page = Page(connection)
        page.upto = have or -1
        with suppress(websockets.exceptions.ConnectionClosed):
            page.send(k="hello", v=1, schema=schema, have=have, boot=boot, place=place)
        yield page


class Classroom:
    """A class with an instructor (p1), two learners (p2, p3), an observer (p4), and what they need to connect."""

    def __init__(self, server: LabServer, chapter: str = "", people: str = "user") -> None:
        """`people`: what the accounts are called, for a class beside another one."""
        self.server = server
        self._began_s = time.time()
        self._people = people
        self.visitors = {f"p{number}": Visitor(server) for number in range(1, 6)}
        users = [get_user_model().objects.create(username=f"{people} {number}") for number in range(1, 6)]
        self.slug = f"k{next(_numbers)}"
        self.model = Class.objects.create(
            slug=self.slug,
            owner=users[0],
            title="Replication",
            chapter=chapter,
            link_key=self.slug.ljust(26, "x"),
            state=Class.State.OPEN,
            languages=["en"],
        )
        roles = [Role.INSTRUCTOR, Role.LEARNER, Role.LEARNER, Role.OBSERVER]
        for number, (user, role) in enumerate(zip(users, roles, strict=False), 1):
            Participant.objects.create(
                classroom=self.model,
                number=number,
                user=user,
                role=role,
                nickname=f"Name {number}",
                skeleton=f"n{number}",
            )
        for number, visitor in enumerate(self.visitors.values(), 1):
            visitor.sign_in_as(f"{people} {number}")

    def files(self) -> dict[Path, bytes]:
        """The files of the server that may have something of the class: the others have not changed since it was made,
        and an earlier test of the process may have left many. Times of files are those of ticks of the clock.
        """
        every = (path for path in settings.DATA.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in every if path.stat().st_ctime > self._began_s - 1}

    @contextmanager
    def page(
        self, p: str, have: int = 0, boot: str = "", schema: str = CLASS.hash, place: str = "lab"
    ) -> Iterator[Page]:
        visitor = self.visitors[p]
        with page_of(self.server, self.slug, visitor, have=have, boot=boot, schema=schema, place=place) as page:
            yield page

    def lab_to_lead(self) -> str:
        """The address of a lab of the instructor's, in which nothing has happened."""
        owner = self.model.owner
        run = Run.objects.create(slug=f"lead-{self.slug}", owner=owner, name="Lead", seed=1, brokers=1)
        return f"{run.slug}/{run.branches.create(name='main').name}"

    def give_lab(self, p: str, **form: str) -> str:
        """A new run of a participant becomes their lab; returns its slug."""
        run = Run.objects.get(slug=self.visitors[p].new_run(**form))
        person = Participant.objects.get(classroom=self.model, number=int(p[1:]))
        run.classroom, run.participant, person.run = self.model, person, run
        run.save()
        person.save()
        return run.slug

    def close(self) -> None:
        """Closes the class, and takes it and its people out of the database that the tests of a process share."""
        self.server.call(lambda _: live_classes().close())
        Class.objects.filter(pk=self.model.pk).delete()
        get_user_model().objects.filter(username__startswith=f"{self._people} ").delete()

    def restart(self) -> None:
        """As if the server had ended and started again."""
        self.server.call(lambda _: live_classes().close())
