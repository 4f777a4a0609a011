"""Shares the state of a lab with a class: an instant is stored once, and each learner continues from it in a new
run.
"""

import asyncio
from typing import NamedTuple

import msgspec
from asgiref.sync import sync_to_async

from lab.actions.start_run import enter_class_run
from lab.models import Branch, Class, Participant
from lab.recordings.folder import remove_run_folder
from lab.recordings.history import seek
from lab.recordings.recording import Recording
from lab.runtime.classes.handouts import copy_handout, handout_folder, make_handout
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.policy import IN_CLASS
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
        (folder.path / _FACTS).write_bytes(msgspec.json.encode(facts))
        return SetAside(number, seq, at_us)


async def take_state(host: Host, participant: Participant, number: int, name: str) -> Branch:
    """A new run of the participant that continues from the handout. Its engine is built when they act on it; their
    earlier runs are kept. Raises Refusal if the handout does not exist, or they have too many runs.
    """
    classroom = participant.classroom
    folder = handout_folder(classroom.slug, number)
    try:
        facts = msgspec.json.decode((folder.path / _FACTS).read_bytes(), type=_Facts)
    except FileNotFoundError:
        raise Refusal("refusal.no_handout", 404, number=number) from None
    branch = await sync_to_async(enter_class_run)(
        participant, name, seed=facts.seed, brokers=facts.brokers, era=facts.era, origin=facts.origin
    )
    try:
        await asyncio.to_thread(copy_handout, folder, host.folder(branch.run.slug, branch.name))
    except BaseException:
        await sync_to_async(branch.run.delete)()
        remove_run_folder(branch.run.slug)
        raise
    host.set_policy(branch.run.slug, IN_CLASS)
    return branch
