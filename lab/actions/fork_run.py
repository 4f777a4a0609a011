"""Acting in the past: a new branch that has the past in common, and keeps the old future."""

import re
import shutil

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import IntegrityError

from lab.actions.submit_command import submit_line
from lab.models import Branch
from lab.recordings.history import seek
from lab.runtime.host import Host
from lab.selectors import source_of
from lab.texts.refusal import Refusal

MAX_BRANCHES = 50


async def fork_run(host: Host, user: User, branch: Branch, seq: int, line: str = "") -> Branch:
    """A branch that continues right after event `seq`; a `line` is the first command executed in it.

    Raises Refusal for an event that the branch does not have, or a line that cannot be run: no branch is left then.
    """
    lab = await host.lab(branch.run.slug, branch.name)
    if seq < 1:
        raise Refusal("refusal.before_first_event")
    place = seek(lab.recording, seq=seq)
    child = await sync_to_async(_enter)(branch, seq, place["at_us"])
    try:
        forked = await host.fork(branch.run.slug, branch.name, seq, child.name)
        if line.strip():
            source = await sync_to_async(source_of)(user, branch.run)
            await submit_line(forked, source, line)
    except BaseException:
        await host.close_branch(branch.run.slug, child.name)
        await child.adelete()
        shutil.rmtree(host.folder(branch.run.slug, child.name).path, ignore_errors=True)
        raise
    return child


def _enter(branch: Branch, seq: int, at_us: int) -> Branch:
    names = set(branch.run.branches.values_list("name", flat=True))
    if len(names) >= MAX_BRANCHES:
        raise Refusal("refusal.branch_limit", 409, max=MAX_BRANCHES)
    name = next_name(branch.name, names)
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
