"""The captions of a class: written during the class, uploaded and corrected after it."""

import asyncio

import msgspec

from lab.actions.classes.live_class import class_folder, live_classes
from lab.actions.classes.recordings import look_into, sealed_of
from lab.classroom.captions import store
from lab.classroom.captions.webvtt import Cue, Source, parse
from lab.models import Class
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

MAX_FILE_BYTES = 2 * 1024 * 1024
"""The most bytes of an uploaded file."""
AHEAD_US = 10_000_000
"""How far in the future a caption may end during a class: it is read after it was written."""


class CaptionChange(msgspec.Struct):
    """A caption: shown from one instant of class time to another. `source`: of one that is written in class."""

    from_us: int
    to_us: int
    text: str
    source: Source = "typed"


async def captions_of(classroom: Class, language: str) -> list[Cue]:
    """The captions of a recording, by time. Raises Refusal (404) for a language that captions cannot have."""
    cues = await asyncio.to_thread(store.read_captions, class_folder(classroom.slug), ensure_caption_language(language))
    if not cues:
        return []
    off_record, length_us = await look_into(classroom, lambda playback: (playback.off_record, playback.length_us))
    is_over = await sealed_of(classroom) is not None
    return store.outside(cues, off_record, length_us if is_over else store.ENDLESS_US)


async def caption_counts(classroom: Class) -> list[dict[str, object]]:
    """Number of captions by language; languages without captions are left out."""
    found = [(language, len(await captions_of(classroom, language))) for language in LANGUAGES]
    return [{"language": language, "cues": count} for language, count in found if count]


async def upload_captions(classroom: Class, language: str, data: bytes) -> None:
    """Replaces captions with those of a WebVTT file; a file without cues removes them. Captions off the record are left
    out. Raises Refusal for a live class, and for a file that is not valid WebVTT for this recording.
    """
    await ensure_sealed_class(classroom)
    folder = class_folder(classroom.slug)
    off_record, length_us = await look_into(classroom, lambda playback: (playback.off_record, playback.length_us))
    cues = store.outside(await asyncio.to_thread(parse, data, length_us), off_record, length_us)
    await asyncio.to_thread(store.keep_captions, folder, ensure_caption_language(language), cues)


async def add_caption(classroom: Class, language: str, change: CaptionChange) -> Cue:
    """Adds a caption: during a class at the current instant, shown by its pages; later at any instant. Raises Refusal:
    409 off the record, otherwise like `store.add_spoken` and `store.put_cue`.
    """
    folder = class_folder(classroom.slug)
    if await sealed_of(classroom) is not None:
        return await _put(classroom, language, None, change)
    live = await live_classes().of(classroom)
    if not await live.room.read(lambda state: state.is_recording):
        raise Refusal("refusal.caption_off_record", 409)
    now_us = live.room.now_us()
    from_us, to_us = min(change.from_us, now_us), min(change.to_us, now_us + AHEAD_US)
    off_record = await look_into(classroom, lambda playback: playback.off_record)
    # It may have been written off the record, and sent after that.
    if not store.outside([Cue(0, from_us, to_us, change.text, change.source)], off_record, store.ENDLESS_US):
        raise Refusal("refusal.caption_off_record", 409)
    spoken = (ensure_caption_language(language), from_us, to_us, change.text, change.source)
    added = await asyncio.to_thread(store.add_spoken, folder, *spoken)
    live.room.caption(language, added.from_us, added.to_us, added.text)
    return added


async def change_caption(classroom: Class, language: str, number: int, change: CaptionChange) -> Cue:
    """Changes a caption. Raises Refusal: 404 for an unknown number, otherwise like `store.put_cue`."""
    await ensure_sealed_class(classroom)
    return await _put(classroom, language, number, change)


async def remove_caption(classroom: Class, language: str, number: int) -> None:
    """Removes a caption. Raises Refusal (404) for an unknown number."""
    await ensure_sealed_class(classroom)
    await asyncio.to_thread(store.remove_cue, class_folder(classroom.slug), ensure_caption_language(language), number)


async def _put(classroom: Class, language: str, number: int | None, change: CaptionChange) -> Cue:
    off_record, length_us = await look_into(classroom, lambda playback: (playback.off_record, playback.length_us))
    to_us = min(change.to_us, length_us)
    if any(change.from_us < to and to_us > since for since, to in off_record):
        raise Refusal("refusal.caption_off_record", 409)
    about = (ensure_caption_language(language), number, change.from_us, to_us, change.text)
    return await asyncio.to_thread(store.put_cue, class_folder(classroom.slug), *about)


async def ensure_sealed_class(classroom: Class) -> None:
    """Raises Refusal (409) for a live class."""
    if await sealed_of(classroom) is None:
        raise Refusal("refusal.class_not_ended", 409, title=classroom.title)


def ensure_caption_language(language: str) -> str:
    """The language. Raises Refusal (404) for one that captions cannot have."""
    if language not in LANGUAGES:
        raise Refusal("refusal.caption_language", 404, language=language[:20], languages=", ".join(LANGUAGES))
    return language
