"""Door and participant actions of staff from a page of the live class: the same as on the class's own page."""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from lab.actions.classes import door, people
from lab.actions.classes.join_class import leave_class
from lab.actions.classes.live_class import LiveClass
from lab.actions.classes.start_class import end_class
from lab.classroom.acts import DoorAct, ops
from lab.models import Class, Participant, Presence
from lab.rights import require
from lab.texts.refusal import Refusal


async def do_in_class(live: LiveClass, classroom: Class, user: User, me: Participant, act: DoorAct) -> None:
    """Executes an action, also in the live class. Raises Refusal, also that of the live class."""
    await sync_to_async(do_door_act)(classroom, user, me, act)
    p = getattr(act, "p", "")
    refused = await live.mirror(me.source, {int(p.removeprefix("p"))} if p else None)
    if refused and (p or isinstance(act, ops.Admit)):
        # Other acts at the door concern no participant whom the class may have refused before.
        raise refused[0]


def do_door_act(classroom: Class, user: User, me: Participant, act: DoorAct) -> None:
    """Executes an action; the live class is notified. Raises Refusal."""
    match act:
        case ops.Leave():
            leave_class(me)
        case ops.EndClass():
            require(user, classroom, "own")
            end_class(classroom, timezone.now())
        case ops.OpenDoor(stays=stays, admits=admits):
            require(user, classroom, "staff")
            door.set_admits(classroom, admits)
            door.open_door(classroom, timezone.now(), stays=stays)
        case ops.CloseDoor():
            require(user, classroom, "staff")
            door.close_door(classroom)
        case ops.Admit(p=""):
            require(user, classroom, "staff")
            people.admit_all(classroom, me)
        case _:
            _change_person(classroom, user, me, act)


def _change_person(classroom: Class, user: User, me: Participant, act: DoorAct) -> None:
    number = int(act.p.removeprefix("p"))  # type: ignore[union-attr]
    require(user, classroom, "staff")
    chosen = classroom.participants.select_related("user", "claims", "classroom").filter(number=number).first()
    if chosen is None or chosen.presence in (Presence.MERGED, Presence.ERASED):
        raise Refusal("refusal.no_participant", 404, number=number)
    require(user, chosen, "staff")
    match act:
        case ops.Admit():
            people.admit(chosen, me)
        case ops.AcceptClaim():
            if chosen.claims is not None:
                require(user, chosen.claims, "staff")
            people.accept_claim(chosen, me, timezone.now())
        case ops.Rename(name=name):
            people.rename(chosen, name, me)
        case ops.GiveRole(role=role):
            require(user, classroom, "own")
            people.give_role(chosen, role, me)
        case ops.Kick():
            people.kick(chosen, me)
        case ops.LetBack():
            people.let_back(chosen, me)
