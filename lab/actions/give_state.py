"""Shares the state of a lab with a class: an instant is stored once, and each learner continues from it in a new
run.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from asgiref.sync import sync_to_async
from django.db import transaction

from lab.actions.start_run import enter_class_run, new_slug
from lab.archives.unfinished import UnfinishedFolder
from lab.models import Branch, Class, Participant
from lab.recordings.folder import BranchFolder, run_folder
from lab.recordings.history import seek
from lab.recordings.recording import Recording
from lab.runtime.classes.handouts import copy_handout, discard_handout, handout_folder, make_handout
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.policy import IN_CLASS
from lab.selectors import MAIN
from lab.texts.refusal import Refusal

_FACTS = "handout.json"
_ATTEMPTS = 3
"""Attempts to save a running engine: an earlier instant may be being saved, or files may be changed by more than
appends.
"""


class _Facts(msgspec.Struct):
    """Metadata of a handout: its run, and what a new run takes from it."""

    origin: str
    seed: int
    brokers: int
    era: str


class SetAside(NamedTuple):
    """The number of a handout, and its instant: the last event, and when it was."""

    number: int
    seq: int
    at_us: int


async def save_for_handout(lab: Lab) -> int:
    """The last event of a lab as it is now, for a handout: its files are final up to here, and a running engine is
    saved at this instant. So a handout of it is made of links, and no copy executes events again.
    """
    for _ in range(_ATTEMPTS):
        seq, saving = await lab.read(lambda live: (lab.recording.roll(), live.save_for_handout() if live else None))
        if saving is None or await asyncio.wrap_future(saving) == seq:
            break
    return seq


async def set_aside(host: Host, classroom: Class, branch: Branch, seq: int) -> SetAside:
    """Sets the instant after an event of a branch aside for a class. Raises Refusal for an event that the branch does
    not have.
    """
    lab = await host.lab(branch.run.slug, branch.name)
    if seq < 1:
        raise Refusal("refusal.before_first_event")
    run = branch.run
    facts = _Facts(f"{run.slug}/{branch.name}/{seq}", run.seed, run.brokers, run.era)
    return await asyncio.to_thread(_make, lab.recording, classroom.slug, seq, facts)


def _make(recording: Recording, classroom: str, seq: int, facts: _Facts) -> SetAside:
    at_us = seek(recording, seq=seq)["at_us"]
    number = 1
    while True:
        folder = handout_folder(classroom, number)
        try:
            make_handout(recording, seq, folder)
        except FileExistsError:
            number += 1
            continue
        try:
            (folder.path / _FACTS).write_bytes(msgspec.json.encode(facts))
        except OSError:
            discard_handout(folder)
            raise
        return SetAside(number, seq, at_us)


async def take_state(host: Host, participant: Participant, number: int, name: str) -> Branch:
    """A new run of the participant that continues from the handout. Its engine is built when they act on it; their
    earlier runs are kept. Raises Refusal if the handout does not exist, or they have too many runs.
    """

    async def taken() -> Branch:
        # Forty take a state at once: their files are copied side by side, not one after the other in the thread of the
        # database.
        copied = await asyncio.to_thread(_CopiedState, participant.classroom.slug, number, host.folder)
        branch = await sync_to_async(copied.enter)(participant, name)
        host.set_policy(branch.run.slug, IN_CLASS)
        return branch

    # The threads go on when the request is cancelled, and what they enter is a run of a class.
    return await asyncio.shield(taken())


def take_state_here(
    participant: Participant,
    number: int,
    name: str,
    folder_of: Callable[[str, str], BranchFolder],
    assign: Callable[[Branch], None] = lambda branch: None,
) -> Branch:
    """The same in the calling thread; `folder_of` is that of the host, which has to be told that the run is one of a
    class. `assign` stores in the same transaction what else depends on the run. Hundreds get their labs within seconds:
    each step in a thread of its own would be several thread switches more for each of them.
    """
    return _CopiedState(participant.classroom.slug, number, folder_of).enter(participant, name, assign)


class _CopiedState:
    """The files of a new run, which is not entered yet."""

    def __init__(self, classroom: str, number: int, folder_of: Callable[[str, str], BranchFolder]) -> None:
        """Copies those of a handout. Raises Refusal if it does not exist."""
        handout = handout_folder(classroom, number)
        self._facts = _facts_of(handout, number)
        self._slug = new_slug()
        self._folder = UnfinishedFolder(run_folder(self._slug))
        try:
            self._folder.begin()
            copy_handout(handout, folder_of(self._slug, MAIN))
        except BaseException:
            self._folder.discard()
            raise

    def enter(
        self, participant: Participant, name: str, assign: Callable[[Branch], None] = lambda branch: None
    ) -> Branch:
        """Enters the run; if that fails, the files are removed."""
        try:
            with transaction.atomic():
                branch = _enter(participant, name, self._facts, self._slug)
                assign(branch)
        except BaseException:
            self._folder.discard()
            raise
        self._folder.keep()
        return branch


def _facts_of(handout: BranchFolder, number: int) -> _Facts:
    try:
        return msgspec.json.decode((handout.path / _FACTS).read_bytes(), type=_Facts)
    except FileNotFoundError:
        raise Refusal("refusal.no_handout", 404, number=number) from None


def _enter(participant: Participant, name: str, facts: _Facts, slug: str) -> Branch:
    return enter_class_run(
        participant, name, seed=facts.seed, brokers=facts.brokers, era=facts.era, origin=facts.origin, slug=slug
    )
