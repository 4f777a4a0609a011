"""`may`: every role, right and kind of thing; and over HTTP and sockets, every address and frame."""

import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern

from lab.actions.classes.live_acts import do_door_act
from lab.class_rights import OF_ROLE, RIGHTS, Right, roles_with
from lab.classroom.acts import ops
from lab.classroom.decide.deciding import DECIDERS
from lab.classroom.state import STAFF
from lab.models import STAFF_ROLES, Branch, Class, Participant, Presence, Role, Run
from lab.protocol.frames import CLOSE_NOT_FOUND, CLOSE_RIGHT_ENDED
from lab.rights import Grant, grants, may, membership_in, membership_of, rights_of
from lab.texts.refusal import Refusal
from lab.urls import urlpatterns
from tests.support.classroom.people import make_class, make_member, make_user
from tests.support.lab_server import LabServer, Visitor

OWN_RUN = {"see", "act", "time", "fork", "export", "own"}
OF_CLASS: dict[str, set[Right]] = {
    Role.INSTRUCTOR: set(RIGHTS),
    Role.CO_INSTRUCTOR: set(RIGHTS) - {"own"},
    Role.LEARNER: {"see", "ask", "act", "fork"},
    Role.OBSERVER: {"see", "ask"},
    Role.PROJECTOR: {"see"},
}


class Scene:
    """Two classes. In the first: a person of each role, a learner with a run, a waiting person and a removed one."""

    def __init__(self) -> None:
        Class.objects.all().delete()
        Run.objects.filter(name="of a class").delete()
        self.here = make_class(make_user("lin", is_staff=True))
        self.there = make_class(make_user("noor", is_staff=True))
        self.people: dict[str, User] = {"instructor": self.here.owner, "elsewhere": self.there.owner}
        for role in (Role.CO_INSTRUCTOR, Role.LEARNER, Role.OBSERVER, Role.PROJECTOR):
            self._join(role, role)
        self._join("waiting", Role.LEARNER, Presence.WAITING)
        self._join("kicked", Role.CO_INSTRUCTOR, Presence.KICKED)
        self.owner = self._join("owner", Role.LEARNER)
        self.run = Run.objects.create(
            slug="rights1", owner=self.people["owner"], name="of a class", seed=1, brokers=1, era="3.9",
            classroom=self.here, participant=self.owner,
        )  # fmt: skip
        self.branch = Branch.objects.create(run=self.run, name="main")

    def _join(self, name: str, role: str, presence: str = Presence.IN) -> Participant:
        self.people[name] = make_user(f"rights-{name}")
        return make_member(self.here, self.people[name], role, presence)


@pytest.fixture
def scene(database) -> Iterator[Scene]:
    scene = Scene()
    yield scene
    grants.end_class(scene.here.pk)
    Class.objects.all().delete()
    scene.run.delete()


def test_rights_to_a_class_follow_from_the_role(scene: Scene) -> None:
    for role, rights in OF_CLASS.items():
        person = scene.people["instructor" if role == Role.INSTRUCTOR else role]
        assert rights_of(person, scene.here) == rights, role
    for name in ("elsewhere", "waiting", "kicked"):
        assert rights_of(scene.people[name], scene.here) == set(), name
    assert rights_of(AnonymousUser(), scene.here) == set()


def test_acts_need_the_rights_of_the_table() -> None:
    """The roles that may do an act are those that have one of the rights; no act has a list of its own."""
    learners = roles_with("act") - roles_with("staff")
    of_rights = {roles_with("see"), roles_with("ask"), roles_with("act"), roles_with("staff"), learners}
    of_acts = {kind.__name__: decider.roles for kind, decider in DECIDERS.items() if decider.roles is not None}
    assert {name for name, roles in of_acts.items() if roles not in of_rights} == set()
    assert of_acts["TakeLead"] == STAFF == {Role.INSTRUCTOR, Role.CO_INSTRUCTOR} == set(STAFF_ROLES)
    assert of_acts["CastVote"] == of_acts["RaiseHand"] == learners == {Role.LEARNER}
    assert of_acts["Ask"] == of_acts["MarkNow"] == of_acts["Rejoin"] == {*STAFF, Role.LEARNER, Role.OBSERVER}
    assert set(OF_ROLE) == set(Role.values)


def test_only_the_owner_has_rights_to_a_run_of_a_class(scene: Scene) -> None:
    assert rights_of(scene.people["owner"], scene.run) == OWN_RUN
    for name, person in scene.people.items():
        if name != "owner":
            assert rights_of(person, scene.branch) == set(), name


@pytest.mark.parametrize(
    ("to", "reached"),
    [
        ("all", {"instructor", "co-instructor", "learner", "observer", "projector", "owner"}),
        ("staff", {"instructor", "co-instructor", "owner"}),
        ("learner", {"learner", "owner"}),
    ],
)
def test_grant_applies_to_its_user_until_it_ends(scene: Scene, to: Any, reached: set[str]) -> None:
    number = scene.here.participants.get(user=scene.people["learner"]).number
    grant = Grant(scene.here.pk, scene.run.slug, number if to == "learner" else to, frozenset({"see"}))
    grants.give(grant)
    assert {name for name, person in scene.people.items() if may(person, scene.run, "see")} == reached
    assert {name for name, person in scene.people.items() if may(person, scene.run, "act")} == {"owner"}
    grants.end(grant)
    assert {name for name, person in scene.people.items() if may(person, scene.run, "see")} == {"owner"}


def test_grant_of_another_class_does_not_apply(scene: Scene) -> None:
    grants.give(Grant(scene.there.pk, scene.run.slug, "all", frozenset({"see"})))
    assert {name for name, person in scene.people.items() if may(person, scene.run, "see")} == {"owner", "elsewhere"}
    grants.end_class(scene.there.pk)
    assert not may(scene.people["elsewhere"], scene.run, "see")


def test_staff_may_admit_and_kick_learners_but_not_each_other(scene: Scene) -> None:
    learner = scene.here.participants.get(user=scene.people["learner"])
    instructor = scene.here.participants.get(user=scene.people["instructor"])
    helper = scene.here.participants.get(user=scene.people["co-instructor"])
    staff: Right = "staff"
    may_do = {name: [may(person, one, staff) for one in (learner, helper, instructor)]
              for name, person in scene.people.items()}  # fmt: skip
    assert may_do.pop("instructor") == [True, True, True]
    assert may_do.pop("co-instructor") == [True, False, False]
    assert all(not any(each) for each in may_do.values())


DOOR_ACTS: tuple[type[ops.Op], ...] = typing.get_args(ops.DoorAct)
"""What is done at the door from a page of the live class."""
OF_CLASS_ALONE = {ops.OpenDoor: "staff", ops.CloseDoor: "staff", ops.EndClass: "own", ops.Leave: "see"}
"""Those that concern no other person, and their right to the class; `GiveRole` takes `own` besides `staff`."""


def door_act(kind: type[ops.Op], p: str) -> Any:
    values = {"p": p, "name": "Grace", "role": "observer"}
    return kind(**{name: values[name] for name in kind.__struct_fields__ if name in values})


def may_do(scene: Scene, actor: Participant, kind: type[ops.Op], target: Participant | None) -> int:
    """The status with which the table of rights refuses an act at the door; 0 if it does not."""
    rights = OF_CLASS[actor.role]
    if kind in OF_CLASS_ALONE:
        return 0 if OF_CLASS_ALONE[kind] in rights else 403
    if "staff" not in rights:
        return 403
    if target is None:
        return 404
    is_below = actor.role == Role.INSTRUCTOR or not target.is_staff
    return 0 if is_below and (kind is not ops.GiveRole or "own" in rights) else 403


@pytest.mark.parametrize("kind", DOOR_ACTS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_acts_at_the_door_follow_from_the_rights_of_each_role_to_each_person(scene: Scene, kind: type[ops.Op]) -> None:
    """Each role, each act, each kind of participant, and a number of another class."""
    people = list(scene.here.participants.select_related("user").order_by("number"))
    actors = [one for one in people if one.presence == Presence.IN]
    assert {one.role for one in actors} == set(Role.values)
    for actor in actors:
        assert actor.user is not None
        for target in (*people, None):
            before = rows(scene)
            act = door_act(kind, target.source if target else "p77")
            with transaction.atomic():
                status = 0
                try:
                    do_door_act(scene.here, actor.user, actor, act)
                except Refusal as refusal:
                    status = refusal.status
                    assert status not in (403, 404) or rows(scene) == before
                transaction.set_rollback(True)
            scene.here.refresh_from_db()
            expected = may_do(scene, actor, kind, target)
            # What the rights allow may not be possible, such as to admit somebody who does not wait.
            found = status if status in (403, 404) else 0
            assert found == expected, (actor.role, target and target.role, status)


def rows(scene: Scene) -> list[Any]:
    return [list(Class.objects.values()), list(Participant.objects.order_by("pk").values())]


def test_names_are_visible_to_staff_and_their_owner(scene: Scene) -> None:
    learner = scene.here.participants.get(user=scene.people["learner"])
    assert {name for name, person in scene.people.items() if may(person, learner, "see")} == {
        "instructor", "co-instructor", "learner",
    }  # fmt: skip


def test_an_account_that_is_switched_off_has_no_rights(scene: Scene) -> None:
    owner = scene.people["owner"]
    assert membership_in(owner, scene.here.slug) == scene.owner
    owner.is_active = False
    assert rights_of(owner, scene.run) == rights_of(owner, None) == rights_of(owner, scene.here) == set()
    assert membership_of(owner, scene.here) is membership_in(owner, scene.here.slug) is None


def test_member_found_by_the_slug_of_the_class_is_the_one_found_by_the_class(scene: Scene) -> None:
    people: list[User | AnonymousUser] = [*scene.people.values(), AnonymousUser()]
    for person in people:
        assert membership_in(person, scene.here.slug) == membership_of(person, scene.here)
    with CaptureQueriesContext(connection) as queries:
        found = membership_in(scene.people["learner"], scene.here.slug)
        assert found is not None and (found.classroom, found.user) == (scene.here, scene.people["learner"])
    assert len(queries) == 1


def test_only_instructors_may_give_classes(scene: Scene) -> None:
    givers = {name for name, person in scene.people.items() if may(person, None, "staff")}
    assert givers == {"instructor", "elsewhere"}


# Every address

RIGHT_OF: dict[str, tuple[str, Right]] = {
    "runs/<run>/rename": ("POST", "own"),
    "runs/<run>/duplicate": ("POST", "own"),
    "runs/<run>/rerun": ("POST", "fork"),
    "runs/<run>/delete": ("POST", "own"),
    "runs/<run>/export": ("GET", "export"),
    "r/<run>/<branch>": ("GET", "see"),
    "r/<run>/<branch>/analytics": ("GET", "export"),
    "api/runs/<run>/<branch>/index.json": ("GET", "see"),
    "api/runs/<run>/<branch>/segments/<n>.json": ("GET", "see"),
    "api/runs/<run>/<branch>/seek": ("GET", "see"),
    "api/runs/<run>/<branch>/commands": ("GET", "see"),
    "api/runs/<run>/<branch>/contents": ("GET", "see"),
    "api/runs/<run>/<branch>/files": ("GET", "see"),
    "api/runs/<run>/<branch>/bytes": ("GET", "see"),
    "api/runs/<run>/<branch>/decoded": ("GET", "see"),
    "api/runs/<run>/<branch>/disk/tree": ("GET", "see"),
    "api/runs/<run>/<branch>/disk/page": ("GET", "see"),
    "api/runs/<run>/<branch>/disk/lookup": ("GET", "see"),
    "api/runs/<run>/<branch>/disk/zero-copy": ("POST", "act"),
    "api/runs/<run>/<branch>/assignments": ("POST", "see"),
    "api/runs/<run>/<branch>/chain": ("GET", "see"),
    "api/runs/<run>/<branch>/solution": ("GET", "act"),
    "api/runs/<run>/<branch>/pauses.json": ("GET", "see"),
    "api/runs/<run>/<branch>/message": ("GET", "see"),
    "api/runs/<run>/<branch>/fork": ("POST", "fork"),
    "api/runs/<run>/<branch>/bookmark": ("POST", "act"),
    "api/runs/<run>/<branch>/page.html": ("GET", "export"),
    "api/runs/<run>/<branch>/analytics/tables.json": ("GET", "export"),
    "api/runs/<run>/<branch>/analytics/tables/start": ("POST", "export"),
    "api/runs/<run>/<branch>/analytics/tables/<id>.json": ("GET", "export"),
    "api/runs/<run>/<branch>/analytics/tables/<id>/cancel": ("POST", "export"),
    "api/runs/<run>/<branch>/analytics/tables/<name>.csv": ("GET", "export"),
    "api/runs/<run>/<branch>/analytics/tables/<name>.parquet": ("GET", "export"),
}
"""By address: the method, and the right that it takes."""


def addresses_of_runs() -> set[str]:
    found = set()
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        address = re.sub(r"<\w+:(\w+)>", r"<\1>", str(pattern.pattern))
        if "<run>" in address:
            found.add(address)
    return found


def test_every_address_of_a_run_is_in_the_table_of_rights() -> None:
    assert addresses_of_runs() == set(RIGHT_OF)


@pytest.fixture(scope="module")
def shared(lab_server: LabServer) -> Iterator[dict[str, Any]]:
    """A run of a class: its owner, a stranger, a member without and one with a grant to see it, and staff."""
    owner = Visitor(lab_server).sign_in_as("matrix-owner")
    slug = owner.new_run(brokers="1")
    run = Run.objects.get(slug=slug)
    room = make_class(make_user("matrix-staff", is_staff=True))
    run.classroom, run.participant = room, make_member(room, run.owner)
    run.save()
    make_member(room, make_user("matrix-learner"))
    watching = make_member(room, make_user("matrix-watcher"))
    make_class(make_user("matrix-elsewhere", is_staff=True))
    grants.give(Grant(room.pk, slug, watching.number, frozenset({"see"})))
    names = ("stranger", "learner", "watcher", "staff", "elsewhere")
    people = {name: Visitor(lab_server).sign_in_as(f"matrix-{name}") for name in names}
    yield {"slug": slug, "owner": owner, "room": room, **people}
    grants.end_class(room.pk)
    Class.objects.all().delete()


def send(visitor: Visitor, method: str, path: str) -> int:
    if method == "GET":
        return visitor.get(path).status
    return (visitor.post_json(path, {}) if path.startswith("/api") else visitor.post(path, branch="main")).status


@pytest.mark.parametrize("address", sorted(RIGHT_OF))
def test_address_is_404_without_the_right_to_see_and_403_without_the_right_to_act(
    shared: dict[str, Any], address: str
) -> None:
    method, right = RIGHT_OF[address]
    path = "/" + address.replace("<run>", shared["slug"]).replace("<branch>", "main").replace("<n>", "0")
    path = path.replace("<id>", "none").replace("<name>", "lag")
    for name in ("stranger", "learner", "elsewhere"):
        assert send(shared[name], method, path) == 404, name
    assert send(shared["staff"], method, path) == 403
    expected = send(shared["owner"], method, path) if right == "see" else 403
    assert send(shared["watcher"], method, path) == expected
    assert Run.objects.filter(slug=shared["slug"]).exists()


FRAMES: list[dict[str, Any]] = [
    {"k": "do", "line": "kafka-topics.sh --list"},
    *({"k": "time", "op": op} for op in ("pause", "play", "event_paced", "step_event", "step_rpc", "rate", "now")),
    *({"k": "exercise", "op": op} for op in ("start", "predict", "answer", "transfer", "hint", "reset", "leave")),
    {"k": "complete", "line": "ka", "cursor": 2},
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{frame['k']} {frame.get('op', '')}".strip())
def test_viewer_is_refused_every_frame_that_acts(shared: dict[str, Any], frame: dict[str, Any]) -> None:
    with shared["watcher"].socket(shared["slug"]) as socket:
        welcome = socket.of_kind("welcome")
        assert welcome["rights"] == ["see"]
        answer = socket.ask(frame)
        assert answer["k"] == "no" and "may not" in answer["what"]


@pytest.mark.parametrize("name", ["stranger", "learner", "elsewhere"])
def test_sockets_of_strangers_end_as_if_there_were_no_run(shared: dict[str, Any], name: str) -> None:
    with shared[name].socket(shared["slug"], hello={}) as socket:
        code, why = socket.closed()
        assert code == CLOSE_NOT_FOUND
    with shared[name].socket("nosuch", hello={}) as socket:
        assert socket.closed() == (CLOSE_NOT_FOUND, why.replace(shared["slug"], "nosuch"))


def test_a_socket_ends_at_once_when_its_right_ends(shared: dict[str, Any]) -> None:
    grant = Grant(shared["room"].pk, shared["slug"], "staff", frozenset({"see"}))
    grants.give(grant)
    with shared["staff"].socket(shared["slug"]) as socket, shared["owner"].socket(shared["slug"]) as own:
        socket.of_kind("welcome")
        own.of_kind("welcome")
        grants.end(grant)
        code, why = socket.closed()
        assert code == CLOSE_RIGHT_ENDED and "no longer allowed" in why
        assert own.ask({"k": "time", "op": "pause"})["k"] == "done"


def test_a_socket_that_gains_a_right_may_act_at_once(shared: dict[str, Any]) -> None:
    look = Grant(shared["room"].pk, shared["slug"], "staff", frozenset({"see"}))
    help_grant = Grant(shared["room"].pk, shared["slug"], "staff", frozenset({"see", "act"}))
    grants.give(look)
    with shared["staff"].socket(shared["slug"]) as socket:
        assert socket.of_kind("welcome")["rights"] == ["see"]
        grants.give(help_grant)
        assert socket.of_kind("welcome")["rights"] == ["act", "see"]
        assert socket.ask({"k": "complete", "line": "ka", "cursor": 2})["k"] == "completions"
        grants.end(help_grant)
        assert socket.of_kind("welcome")["rights"] == ["see"]
        assert socket.ask({"k": "complete", "line": "ka", "cursor": 2})["k"] == "no"
    grants.end(look)
