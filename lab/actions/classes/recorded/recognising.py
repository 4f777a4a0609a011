"""Captions of a recorded class by the recogniser that the operator installed: one class at a time, for staff."""

import asyncio
import logging
from contextvars import Context
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

import msgspec
from django.conf import settings

from lab.actions.classes.live_class import LiveClasses, class_folder, live_classes
from lab.actions.classes.recorded.captions import captions_of, ensure_caption_language, ensure_sealed_class
from lab.actions.classes.recordings import is_imported, look_into
from lab.actions.classes.seal_class import refresh_seal
from lab.classroom.audio import store as audio
from lab.classroom.captions import store
from lab.classroom.captions.recogniser import joined, recognise
from lab.classroom.captions.webvtt import MAX_CUES, Cue
from lab.models import Class
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

State: TypeAlias = Literal["none", "waits", "runs", "done", "failed"]


class Job:
    """`done` of `pieces` of the sound are recognised; `added` captions came of them. `refusal`: why it failed."""

    def __init__(self, pieces: int) -> None:
        self.state: State = "waits"
        self.done = 0
        self.pieces = pieces
        self.added = 0
        self.refusal: Refusal | None = None
        self.task: asyncio.Task[None] | None = None


class _Jobs:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.known: dict[tuple[str, str], Job] = {}


_of_process: WeakKeyDictionary[LiveClasses, _Jobs] = WeakKeyDictionary()


def _jobs() -> _Jobs:
    return _of_process.setdefault(live_classes(), _Jobs())


def may_recognise(classroom: Class) -> bool:
    """Whether a recogniser is installed, and the class took place here: it is given no sound of other people's
    archives.
    """
    return bool(settings.RECOGNISER) and not is_imported(classroom)


def job_of(classroom: Class, language: str) -> Job | None:
    """The newest job of a language since the server started. Raises Refusal (404) for a language of no captions."""
    return _jobs().known.get((classroom.slug, ensure_caption_language(language)))


async def begin_recognising(classroom: Class, language: str) -> Job:
    """Captions passages without captions; existing captions are kept. Raises Refusal if no recogniser is installed
    (404), or the class was recorded elsewhere, is live, has no sound, or is being recognised (409).
    """
    key = (classroom.slug, ensure_caption_language(language))
    if not settings.RECOGNISER:
        raise Refusal("refusal.no_recogniser", 404)
    if is_imported(classroom):
        raise Refusal("refusal.class_imported", 409, title=classroom.title)
    await ensure_sealed_class(classroom)
    heard = await asyncio.to_thread(audio.heard, class_folder(classroom.slug))
    if not heard.pieces:
        raise Refusal("refusal.no_sound", 409, title=classroom.title)
    jobs = _jobs()
    before = jobs.known.get(key)
    if before is not None and before.state in ("waits", "runs"):
        raise Refusal("refusal.recogniser_busy", 409)
    job = jobs.known[key] = Job(len(heard.pieces))
    job.task = asyncio.create_task(_run(jobs, key, job, classroom, heard), context=Context())
    return job


async def cancel_recognising(classroom: Class, language: str) -> None:
    """Cancels the recognition and discards its result."""
    job = _jobs().known.pop((classroom.slug, ensure_caption_language(language)), None)
    if job is not None and job.task is not None:
        job.task.cancel()
        await asyncio.wait([job.task])


async def _run(jobs: _Jobs, key: tuple[str, str], job: Job, classroom: Class, heard: audio.Heard) -> None:
    slug, language = key
    folder, found = class_folder(slug), list[tuple[int, int, list[Cue]]]()
    try:
        async with jobs.turn:
            job.state = "runs"
            for piece in heard.pieces:
                _, path = await asyncio.to_thread(audio.file_of, folder, piece.piece)
                cues = await recognise(settings.RECOGNISER, path.resolve(), language, piece.length_us)
                at_us = piece.at_us + heard.shift_us
                found.append((at_us, at_us + piece.length_us, cues))
                job.done += 1
            job.added = await _keep(classroom, language, joined(found))
        job.state = "done"
    except Refusal as refusal:
        job.state, job.refusal = "failed", refusal
    except Exception:
        logger.exception("the sound of class %s could not be recognised", slug)
        job.state, job.refusal = "failed", Refusal("refusal.recogniser_broken", 500)


async def _keep(classroom: Class, language: str, spoken: list[Cue]) -> int:
    """Adds captions that do not overlap existing ones; returns their number."""
    length_us, off_record = await look_into(classroom, lambda playback: (playback.length_us, playback.off_record))
    there = await captions_of(classroom, language)
    within = [cue for cue in spoken if cue.from_us >= 0]
    new = [
        cue
        for cue in store.outside(within, off_record, length_us)
        if not any(cue.from_us < one.to_us and one.from_us < cue.to_us for one in there)
    ][: max(0, MAX_CUES - len(there))]
    first = max((cue.cue for cue in there), default=0) + 1
    numbered = [msgspec.structs.replace(cue, cue=number) for number, cue in enumerate(new, first)]
    kept = sorted([*there, *numbered], key=lambda cue: cue.from_us)
    await asyncio.to_thread(store.keep_captions, class_folder(classroom.slug), language, kept)
    await refresh_seal(classroom)
    return len(numbered)
