"""Continues from an instant of a recorded class in a new run."""

import asyncio
import shutil

import msgspec
from asgiref.sync import sync_to_async

from lab.actions.classes.recordings import look_into
from lab.actions.classes.shown_labs import shown_lab
from lab.actions.start_run import enter_class_run
from lab.classroom.recorded.class_map import NO_LAB, Row
from lab.classroom.recorded.playback import Playback
from lab.models import Branch, Class, Participant
from lab.recordings.folder import BranchFolder, remove_run_folder
from lab.recordings.fork import fork_recording
from lab.recordings.history import seek
from lab.recordings.recording import Recording
from lab.runtime.host import Host, RunConfig
from lab.texts.refusal import Refusal


class Instant(msgspec.Struct):
    """The instant to take over: what was shown at `at_us` of class time, or event `seq` of a lab of the recording."""

    at_us: int | None = None
    lab: int | None = None
    seq: int | None = None


async def take_over_class(host: Host, participant: Participant, instant: Instant, name: str) -> Branch:
    """A run of the participant that continues right after the instant; its engine is rebuilt by executing the recorded
    inputs. Raises Refusal if no lab or event was shown then, and if there are too many runs.
    """
    classroom = participant.classroom
    number, seq = await _place(classroom, instant)
    recording, last_seq = await shown_lab(classroom, number)
    if not 1 <= seq <= last_seq:
        raise Refusal("refusal.not_shown", 404, seq=seq, last=last_seq)
    origin = f"{recording.folder.run}/{recording.folder.branch}/{seq}"
    config = msgspec.convert(recording.config, RunConfig)
    branch = await sync_to_async(enter_class_run)(
        participant, name, seed=config.seed, brokers=len(config.brokers), era=config.era, origin=origin
    )
    try:
        await asyncio.to_thread(_fork, recording, seq, host.folder(branch.run.slug, branch.name))
        lab = await host.lab(branch.run.slug, branch.name)
        await lab.wake()
    except BaseException:
        await host.close_run(branch.run.slug)
        await sync_to_async(branch.run.delete)()
        await asyncio.to_thread(remove_run_folder, branch.run.slug)
        raise
    return branch


async def _place(classroom: Class, instant: Instant) -> tuple[int, int]:
    """The lab and the event to begin after."""
    if instant.lab is not None and instant.seq is not None:
        return instant.lab, instant.seq
    if instant.at_us is None:
        raise Refusal("refusal.instant_missing")
    at_us = instant.at_us
    row = await look_into(classroom, lambda playback: _shown_at(playback, at_us))
    if row is None or row.lab == NO_LAB:
        raise Refusal("refusal.no_lab_then", 404, instant=f"{at_us // 60_000_000}:{at_us // 1_000_000 % 60:02d}")
    recording, last_seq = await shown_lab(classroom, row.lab)
    if row.at_us <= 0:
        return row.lab, row.seq
    place = await asyncio.to_thread(seek, recording, t_us=row.at_us, now_us=row.at_us)
    # The row contains the last of the events at its instant.
    return row.lab, min(max(row.seq, place["seq"] if row.mode != "pause" else 0), last_seq)


def _shown_at(playback: Playback, at_us: int) -> Row | None:
    before = [row for row in playback.map.rows if row.class_us <= at_us]
    return before[-1].moved_to(at_us) if before else None


def _fork(recording: Recording, seq: int, folder: BranchFolder) -> None:
    fork_recording(recording, seq, folder).close()
    # Another's engine is not taken over, however near it is: its inputs are.
    shutil.rmtree(folder.checkpoints, ignore_errors=True)
