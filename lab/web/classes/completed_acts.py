"""Completes acts of pages with what only the server knows, before the class decides them."""

from http import HTTPStatus

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab import selectors
from lab.actions.classes.hand_out import hand_out
from lab.actions.classes.help_learner import help_at, undo_help
from lab.actions.classes.live_class import LiveClass
from lab.actions.classes.settle_poll import begin_settling, completed_poll
from lab.classroom.acts.facts import AnyFact
from lab.classroom.acts.ops import AnyAct, BeginHelp, ChooseHelp, GiveState, MakePoll, SettlePoll, TakeLead
from lab.classroom.audience import Viewer
from lab.models import Participant
from lab.rights import may
from lab.runtime.host import host
from lab.texts.refusal import Refusal


async def completed(live: LiveClass, user: User, member: Participant, viewer: Viewer, act: AnyAct) -> AnyAct | AnyFact:
    """The act of a participant, completed with values of the server. Raises Refusal."""
    is_staff = viewer.audience == "staff"
    if isinstance(act, ChooseHelp) and not act.kept:
        await undo_help(host(), live, user, member.source)
    if isinstance(act, GiveState) and is_staff:
        return await hand_out(host(), live, member.classroom)
    if isinstance(act, MakePoll) and is_staff:
        return completed_poll(act, await live.room.read(lambda state: state.chapter))
    if isinstance(act, SettlePoll) and is_staff:
        return await begin_settling(host(), live.room.board.now.lead_lab, act)
    if isinstance(act, TakeLead):
        await sync_to_async(_ensure_own)(user, act.lab)
    if isinstance(act, BeginHelp) and is_staff:
        return await help_at(host(), live, act.p) or act
    return act


def _ensure_own(user: User, lab: str) -> None:
    """A leading lab is shown to the whole class, recorded, and given to others, so it has to be one's own: a helper
    may act in a learner's lab, but only the learner may show it, on the stage. Raises Refusal (404, 403).
    """
    run, _, name = lab.partition("/")
    branch = selectors.branch_of(user, run, name)
    if not may(user, branch, "own"):
        raise Refusal("class_act.not_own_lab", HTTPStatus.FORBIDDEN, lab=lab)
