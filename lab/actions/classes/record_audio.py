"""The sound of a class: stores what pages record, makes pieces of it, and records them in the class's log."""

import asyncio
from collections.abc import Sequence

from lab.actions.classes.live_class import LiveClass, class_folder, live_classes
from lab.actions.classes.recordings import look_into, sealed_of
from lab.classroom.acts import Given
from lab.classroom.acts.facts import AnyFact, HearVoice, KeepAudio, LoseAudio
from lab.classroom.audio import store
from lab.classroom.audio.pieces import AudioType, Passage
from lab.classroom.events import ROOM
from lab.models import Class
from lab.texts.refusal import Refusal

MAX_AGE_US = 30 * 60 * 1_000_000
"""Sound that is older is refused: a page keeps no more."""

LAST_SLICES_S = 10.0
_LOOKED_AFTER_S = 0.25


async def put_slice(
    classroom: Class, number: int, index: int, at_us: int, kind: AudioType, data: bytes, digest: str
) -> None:
    """Stores a slice of a piece that began at `at_us` of class time. Raises Refusal: see `store.put_slice`."""
    live = await live_classes().of(classroom)
    if await sealed_of(classroom) is not None:
        raise Refusal("refusal.audio_class_sealed", 409)
    now_us = live.room.now_us()
    if not now_us - MAX_AGE_US <= at_us <= now_us or number != at_us // 1_000:
        raise Refusal("refusal.audio_instant", at=at_us // 1_000, now=now_us // 1_000, minutes=MAX_AGE_US // 60_000_000)
    about = store.Arriving(at_us, kind)
    await asyncio.to_thread(store.put_slice, class_folder(classroom.slug), number, index, about, data, digest)


async def end_piece(classroom: Class, number: int, count: int, length_us: int, *, gives_up: bool) -> list[int]:
    """Makes the piece if it is complete or the page gives up the missing slices; returns the missing slices."""
    live = await live_classes().of(classroom)
    folder = class_folder(classroom.slug)
    missing = await asyncio.to_thread(store.missing, folder, number, count)
    if missing and not gives_up:
        return missing
    await _finish(classroom, live, number, count, length_us)
    return []


async def hear_voice(classroom: Class, spans: Sequence[Passage]) -> None:
    """Adds passages with speech. Raises Refusal for invalid passages."""
    live = await live_classes().of(classroom)
    found = store.joined([(from_us, min(to_us, live.room.now_us())) for from_us, to_us in spans])
    await asyncio.to_thread(store.add_voice, class_folder(classroom.slug), found)
    if found and not live.room.board.now.ended:
        await live.room.do(Given(ROOM, HearVoice(tuple(found))))


async def audio_of(classroom: Class) -> dict[str, object]:
    """The description of the sound for the recording's page."""
    found = await asyncio.to_thread(store.heard, class_folder(classroom.slug))
    return {
        "pieces": [
            {"piece": one.piece, "at_us": one.at_us, "length_us": one.length_us, "type": one.type, "bytes": one.bytes}
            for one in found.pieces
        ],
        "lost": found.lost,
        "voice": found.voice,
        "shift_us": found.shift_us,
    }


async def _finish(classroom: Class, live: LiveClass, number: int, count: int, length_us: int) -> None:
    passages = await look_into(classroom, lambda playback: playback.off_record)
    folder = class_folder(classroom.slug)
    made = await asyncio.to_thread(store.finish, folder, number, count, length_us, passages)
    if made is None or live.room.board.now.ended:
        return
    facts: list[AnyFact] = [LoseAudio(from_us, to_us) for from_us, to_us in made.lost]
    if made.data:
        piece, _ = await asyncio.to_thread(store.file_of, folder, number)
        facts.append(KeepAudio(number, piece.at_us, piece.length_us, piece.bytes, piece.digest))
    for fact in facts:
        await live.room.do(Given(ROOM, fact))


async def wait_for_audio(live: LiveClass) -> None:
    """After the end of a class, waits a short time for the rest of the last piece from its page."""
    folder = class_folder(live.slug)
    for _ in range(int(LAST_SLICES_S / _LOOKED_AFTER_S)):
        if not await asyncio.to_thread(store.arriving, folder):
            return
        await asyncio.sleep(_LOOKED_AFTER_S)


async def finish_audio(classroom: Class, live: LiveClass) -> None:
    """The class is being sealed: gives up what has not arrived."""
    for number in await asyncio.to_thread(store.arriving, class_folder(live.slug)):
        await _finish(classroom, live, number, 0, 0)
