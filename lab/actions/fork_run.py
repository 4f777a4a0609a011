"""Acting in the past: a new branch that shares the past; the old branch is kept."""

import logging
import re
import shutil

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError

from lab.actions.submit_command import submit_line
from lab.classroom.notices import Notice, tell
from lab.models import Branch, Participant, Run
from lab.recordings.history import seek
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.selectors import source_of
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

MAX_BRANCHES = 50
MAX_NAME = 32
_NAME = re.compile(rf"(?=.{{1,{MAX_NAME}}}$)[a-z0-9]+(-[a-z0-9]+)*")


async def fork_run(
    host: Host, user: User, branch: Branch, seq: int, line: str = "", *, at_us: int = 0, name: str = ""
) -> Branch:
    """A branch that continues right after event `seq`; a `line` is the first command executed in it.

    `at_us`: the playhead, between this event and the next one: the branch's clock starts there. `name`: of the branch;
    by default the next numbered name. Raises Refusal for an event that the branch does not have, a name that no branch
    can have, or a line that cannot be run, as while a class has stopped the run: then no branch is created.
    """
    lab = await host.lab(branch.run.slug, branch.name)
    if seq < 1:
        raise Refusal("refusal.before_first_event")
    if line.strip():
        lab.pacer.ensure_not_stopped()
    place = seek(lab.recording, seq=seq)
    at_us = max(place["at_us"], min(at_us, await _last_instant(lab, seq)))
    child = await sync_to_async(_enter)(branch, seq, at_us, name.strip())
    try:
        forked = await host.fork(branch.run.slug, branch.name, seq, child.name)
        await forked.act(lambda live: _let_pass(live, at_us))
        if line.strip():
            source = await sync_to_async(source_of)(user, branch.run)
            await submit_line(forked, source, line)
    except BaseException:
        await host.close_branch(branch.run.slug, child.name)
        await child.adelete()
        shutil.rmtree(host.folder(branch.run.slug, child.name).path, ignore_errors=True)
        raise
    try:
        await sync_to_async(_notify_class)(branch.run)
    except DatabaseError:
        # The branch exists: the class receives it with its next full update.
        logger.exception("could not notify the class of run %s of a fork", branch.run.slug)
    return child


def _notify_class(run: Run) -> None:
    """A participant's lab is the newest branch of their run: the wall, looks and help follow it."""
    for one in Participant.objects.filter(run=run):
        tell(Notice("lab_given", one.classroom_id, one.number, one.number))


async def _last_instant(lab: Lab, seq: int) -> int:
    """The last instant of a branch at which event `seq` was the newest one."""
    if seq < lab.recording.last_seq:
        place = seek(lab.recording, seq=seq + 1)
        return int(place["at_us"]) - 1
    return await lab.read(lambda live: live.run.now_us if live else 0)


def _let_pass(live: LiveRun, at_us: int) -> None:
    """Moves the clock of a new branch. Its parent made no event until then, so this makes none either."""
    if live.run.now_us < at_us:
        live.run.advance(at_us)


def _enter(branch: Branch, seq: int, at_us: int, wanted: str) -> Branch:
    if wanted and not _NAME.fullmatch(wanted):
        raise Refusal("refusal.branch_name", branch=wanted[:MAX_NAME], max=MAX_NAME)
    names = set(branch.run.branches.values_list("name", flat=True))
    if len(names) >= MAX_BRANCHES:
        raise Refusal("refusal.branch_limit", 409, max=MAX_BRANCHES)
    if wanted in names:
        raise Refusal("refusal.branch_exists", 409, branch=wanted)
    name = wanted or next_name(branch.name, names)
    try:
        return Branch.objects.create(run=branch.run, name=name, parent=branch, parent_seq=seq, parent_at_us=at_us)
    except IntegrityError:
        raise Refusal("refusal.branch_just_created", 409, branch=name) from None


def next_name(name: str, taken: set[str]) -> str:
    """`main` -> `main-2`, then `main-3`; a fork of `main-2` counts on in the same row."""
    stem = re.sub(r"-\d+$", "", name)
    number = 2
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"
