"""The board, the projector and the presenter's page: access, and the initial state of a learner's lab."""

from functools import partial

import pytest

from lab.models import Class, Participant
from lab.protocol.frames import Clock
from lab.runtime.host import Host
from tests.support.classroom.guest import Guest
from tests.support.lab_server import LabServer, Visitor


@pytest.mark.parametrize(("page", "of_learner"), [("board", 403), ("projector", 403), ("watch", 200)])
def test_live_pages_are_404_to_strangers_and_403_to_learners(
    room: Class, staff: Visitor, guest: Guest, lab_server: LabServer, page: str, of_learner: int
) -> None:
    address = f"/classes/{room.slug}/{page}/"
    guest.join(room.link_key, "Ada")
    assert Visitor(lab_server).sign_in_as("door-stranger").get(address).status == 404
    assert guest.get(address).status == of_learner
    assert staff.get(address).status == 200
    assert staff.get(f"/classes/nosuch/{page}/").status == 404


def test_projector_shows_how_to_join_while_the_door_is_open(room: Class, staff: Visitor) -> None:
    shown = staff.get(f"/classes/{room.slug}/projector/").text
    assert "<svg" in shown and "/join/" in shown
    staff.post(f"/classes/{room.slug}/door", op="close")
    assert "/join/" not in staff.get(f"/classes/{room.slug}/projector/").text


def test_watching_without_a_presenter_returns_to_the_class(room: Class, guest: Guest) -> None:
    guest.join(room.link_key, "Ada")
    assert guest.get(f"/classes/{room.slug}/watch/").url.endswith(f"/classes/{room.slug}/")


def test_learners_begin_with_the_lesson_of_the_class(staff: Visitor, guest: Guest, lab_server: LabServer) -> None:
    form = {"title": "Lost records", "chapter": "011-acks", "origin": "", "language-en": "on"}
    made = Class.objects.get(slug=staff.post("/classes/new", **form).url.split("/")[-2])
    try:
        first = Participant.objects.get(classroom=made, number=1).run
        assert first is not None
        guest.join(made.link_key, "Ada")
        own = Participant.objects.get(classroom=made, number=2).run
        assert own is not None and own != first and (own.seed, own.era) == (first.seed, first.era)
        # The same past, without an engine of its own: the set-up ran once.
        assert own.origin.startswith(f"{first.slug}/main/")
        assert guest.get(f"/r/{own.slug}/main").status == 200
        begun = own.branches.get().progress.get()
        assert begun.exercise == "011-acks" and set(begun.state["steps"]) and begun.user_id == own.owner_id
        # The instructor sees the learner's lab through the class alone.
        assert staff.get(f"/r/{own.slug}/main").status in (403, 404)
        guest.get(f"/classes/{made.slug}/")
        assert guest.get("/runs/").text.count("Lost records") >= 1
        assert Participant.objects.get(classroom=made, number=2).run == own
    finally:
        for slug in made.runs.values_list("slug", flat=True):
            lab_server.call(partial(Host.close_run, run=slug))
        made.delete()


def test_labs_of_a_new_class_are_not_reported_as_paused_without_a_page(
    staff: Visitor, guest: Guest, lab_server: LabServer
) -> None:
    """They are paused because the class begins, not because no page was connected."""

    async def clock_of(host: Host, run: str) -> Clock:
        return (await host.lab(run, "main")).clock()

    made = Class.objects.get(slug=staff.post("/classes/new", title="Storage", start="").url.split("/")[-2])
    try:
        guest.join(made.link_key, "Ada")
        for number in (1, 2):
            run = Participant.objects.get(classroom=made, number=number).run
            assert run is not None
            clock = lab_server.call(partial(clock_of, run=run.slug))
            assert clock.mode == "pause" and not clock.rests
    finally:
        for slug in made.runs.values_list("slug", flat=True):
            lab_server.call(partial(Host.close_run, run=slug))
        made.delete()
