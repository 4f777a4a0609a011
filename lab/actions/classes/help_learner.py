"""Help in a learner's lab: the instant at which it begins, and undoing it."""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab import selectors
from lab.actions.classes.live_class import LiveClass
from lab.actions.fork_run import fork_run
from lab.classroom.acts import Given
from lab.classroom.acts.facts import BeginHelpAt, ShowLab
from lab.classroom.events import ROOM
from lab.runtime.host import Host


async def help_at(host: Host, live: LiveClass, p: str) -> BeginHelpAt | None:
    """Help that begins now in the lab of participant `p`; None without a lab."""
    lab = await live.room.read(lambda state: state.people[p].works_in if p in state.people else "")
    if not lab:
        return None
    run, _, branch = lab.partition("/")
    opened = await host.lab(run, branch)
    return BeginHelpAt(p, lab, opened.recording.last_seq)


async def undo_help(host: Host, live: LiveClass, user: User, p: str) -> None:
    """Restores the lab of participant `p`, who is `user`, from before the help, as a branch from that instant. The
    other branch is kept. Does nothing without help. Raises Refusal if the user may not fork the lab.
    """
    given = await live.room.read(lambda state: state.helps.get(p))
    if given is None:
        return
    run, _, name = given.lab.partition("/")
    branch = await sync_to_async(selectors.branch_of)(user, run, name, "fork")
    made = await fork_run(host, user, branch, given.seq)
    await live.mirror(p)
    await live.room.do(Given(ROOM, ShowLab(p, f"{run}/{made.name}")))
