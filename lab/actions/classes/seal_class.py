"""Sealing: at the end of a class its recording is written to separate files, without what people chose to leave out.

It is sealed again when a person is erased. A day after the end the class's log is replaced with that of the recording.
"""

import asyncio
import logging
import shutil
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async

from lab.actions.classes.live_class import LiveClass, LiveClasses, class_folder, live_classes, on_ended
from lab.actions.classes.record_audio import finish_audio, wait_for_audio
from lab.actions.classes.recordings import erased_of, grow, sealed_of
from lab.actions.classes.shown_labs import close_labs, keep_labs, recording_of, shown_ends
from lab.classroom.captions.store import cut_captions
from lab.classroom.journal import Header
from lab.classroom.recorded.chapters import (
    Landmark,
    StoredChapter,
    landmarks_of,
    proposed,
    read_chapters,
    write_chapters,
)
from lab.classroom.recorded.description import runs_of, titles_of
from lab.classroom.recorded.playback import Playback
from lab.classroom.recorded.sealed import (
    KIND,
    VERSION,
    SealedLab,
    SealedManifest,
    refresh_manifest,
    schemas,
    words_of,
    write_manifest,
    write_sealed,
)
from lab.models import Class, Run
from lab.protocol.event_schema import schema_hash
from lab.recordings import history
from lab.runtime.classes.shown_labs import LABS
from lab.runtime.host import host
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

_sealing: WeakKeyDictionary[LiveClasses, asyncio.Lock] = WeakKeyDictionary()


async def seal_class(classroom: Class) -> SealedManifest:
    """Seals a class, also one that was sealed before. Raises Refusal when its log cannot be read or disk is lacking."""
    async with _sealing.setdefault(live_classes(), asyncio.Lock()):
        live = await live_classes().of(classroom)
        await finish_audio(classroom, live)
        # A person may just have been erased.
        await sync_to_async(live.words.load)()
        playback = Playback(live.words, await sync_to_async(erased_of)(classroom))
        await grow(playback, live)
        folder = class_folder(classroom.slug)
        await asyncio.to_thread(_write, folder, live.room.header, playback)
        await keep_labs(host(), classroom.slug, shown_ends(playback))
        await _forget_labs(classroom.slug, {lab.address for lab in playback.map.labs})
        names = await sync_to_async(run_names)(playback)
        await asyncio.to_thread(_propose_chapters, folder, playback, await _marks(classroom, playback))
        await asyncio.to_thread(cut_captions, folder, playback.off_record, playback.length_us)
        manifest = _manifest(classroom, live.room.header, playback, names)
        await asyncio.to_thread(write_manifest, folder, manifest)
        return manifest


async def ensure_sealed(classroom: Class) -> None:
    """Seals a class that has ended, unless it is: the server may have stopped in between."""
    if classroom.state != Class.State.ENDED or await sealed_of(classroom) is not None:
        return
    live = live_classes().opened(classroom.slug)
    if live is not None and live.finishing is not None:
        await asyncio.shield(live.finishing)
    if await sealed_of(classroom) is None:
        await seal_class(classroom)


async def refresh_seal(classroom: Class) -> None:
    """Updates the seal after a correction of chapters, captions or the delay of the sound."""
    async with _sealing.setdefault(live_classes(), asyncio.Lock()):
        manifest = await sealed_of(classroom)
        if manifest is not None:
            await asyncio.to_thread(refresh_manifest, class_folder(classroom.slug), manifest)


async def seal_again(classroom: Class) -> None:
    """Seals a sealed class again after a person was erased."""
    if await sealed_of(classroom) is not None:
        await seal_class(classroom)


def run_names(playback: Playback) -> dict[str, str]:
    """By slug, the names of the runs that led in a recording."""
    return dict(Run.objects.filter(slug__in=runs_of(playback)).values_list("slug", "name"))


async def _seal_ended(live: LiveClass) -> None:
    classroom = await Class.objects.filter(pk=live.class_id).afirst()
    if classroom is not None:
        await wait_for_audio(live)
        await seal_class(classroom)


on_ended(_seal_ended)


def _write(folder: Path, header: Header, playback: Playback) -> None:
    events = list(playback.events())
    write_sealed(folder, header, events, words_of(events, playback.words, playback.named))


async def _marks(classroom: Class, playback: Playback) -> list[Landmark]:
    found: list[Landmark] = []
    for address, last_seq in shown_ends(playback).items():
        with suppress(Refusal):  # the run was deleted before a copy was made
            recording = await recording_of(classroom, address, last_seq)
            segments = await asyncio.to_thread(recording.segments)
            seen = [mark for mark in history.marks(segments) if mark.seq <= last_seq]
            found += landmarks_of(playback.map, playback.map.number_of(address), seen)
    return found


def _propose_chapters(folder: Path, playback: Playback, marks: list[Landmark]) -> None:
    """Chapters that staff have changed since are left alone."""
    if read_chapters(folder) is None:
        set_by_staff: list[StoredChapter] = playback.chapters()
        landmarks = [*playback.landmarks.found, *marks]
        write_chapters(folder, [*set_by_staff, *proposed(landmarks, set_by_staff)])


def _manifest(classroom: Class, header: Header, playback: Playback, names: dict[str, str]) -> SealedManifest:
    return SealedManifest(
        KIND,
        VERSION,
        classroom.slug,
        classroom.title,
        classroom.chapter,
        tuple(classroom.languages),
        header.wall_ms,
        time.time_ns() // 1_000_000,
        playback.length_us,
        playback.last_seq,
        schemas(schema_hash()),
        tuple(
            SealedLab(lab.address, title, last_seq)
            for lab, title, last_seq in zip(
                playback.map.labs, titles_of(playback, names), playback.map.last_seqs, strict=True
            )
        ),
    )


async def _forget_labs(slug: str, shown: set[str]) -> None:
    """Deletes copies of labs that the recording no longer shows."""
    labs = class_folder(slug) / LABS
    doomed = [path.parent for path in labs.glob("*/*/recording") if _address(path.parent) not in shown]
    if doomed:
        await close_labs(slug)
    for path in doomed:
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


def _address(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
