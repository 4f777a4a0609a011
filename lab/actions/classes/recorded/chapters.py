"""The chapters of a recorded class: during the class those of staff and proposals, later the stored ones."""

import asyncio
from typing import Any

import msgspec
from asgiref.sync import sync_to_async

from lab.actions.classes.lessons.start import lesson_title
from lab.actions.classes.live_class import class_folder, live_classes
from lab.actions.classes.recordings import instant_within, look_into, sealed_of
from lab.classroom.acts import Given, ops
from lab.classroom.recorded.chapters import (
    MAX_CHAPTERS,
    MAX_TITLE,
    StoredChapter,
    proposed,
    read_chapters,
    write_chapters,
)
from lab.classroom.recorded.playback import Playback
from lab.classroom.views import Words
from lab.models import Class, Participant
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal


class ChapterChange(msgspec.Struct):
    """A chapter's instant of class time and its title; None means unchanged."""

    at_us: int | None = None
    title: str | None = None


async def chapters_of(classroom: Class) -> list[StoredChapter]:
    """All of them, by time."""
    stored = await asyncio.to_thread(read_chapters, class_folder(classroom.slug))
    return stored if stored is not None else await look_into(classroom, _while_live)


def _while_live(playback: Playback) -> list[StoredChapter]:
    fixed = playback.chapters()
    return sorted([*fixed, *proposed(playback.landmarks.found, fixed)], key=lambda one: one.at_us)


async def shown_chapters(classroom: Class, language: str) -> list[dict[str, Any]]:
    """All of them for a page, in its language."""
    chapters = await chapters_of(classroom)
    words = await look_into(classroom, lambda playback: playback.words)
    return [
        {
            "chapter": one.chapter,
            "at_us": one.at_us,
            "title": _title(one, words, language),
            "by": "proposed" if one.kind else "staff",
        }
        for one in chapters
    ]


def _title(chapter: StoredChapter, words: Words, language: str) -> str:
    about, values = chapter.about, chapter.values
    match chapter.kind:
        case "":
            return chapter.title or words.text(chapter.text)[0]
        case "lesson":
            return translate(language, "recorded.chapter.lesson", title=lesson_title(about, language))
        case "lead":
            return translate(language, "recorded.chapter.lead", name=words.name(about) or about)
        case "stage" if about:
            return translate(language, "recorded.chapter.stage", name=words.name(about) or about)
        case "stage":
            return translate(language, "recorded.chapter.stage_nameless")
        case "poll" if "step" in values:
            return translate(language, "recorded.chapter.prediction", step=values["step"])
        case "poll":
            # A chapter is the line of a list.
            said = _begin_of(words.text(int(about))[0])
            return translate(language, "recorded.chapter.poll", text=said) if said else _nameless_poll(language)
        case "step":
            return translate(language, "recorded.chapter.step", step=about)
        case "BrokerStopped":
            return translate(language, "recorded.chapter.stopped", broker=values["broker"])
        case "LeaderElected":
            elected = {name: values[name] for name in ("partition", "leader")}
            return translate(language, "recorded.chapter.elected", **elected)
        case _:
            return translate(language, "recorded.chapter.truncated", replica=values["replica"])


def _begin_of(said: str) -> str:
    """The beginning of a text, up to the end of a word where there are spaces between words."""
    if len(said) <= MAX_TITLE:
        return said
    cut = said[: MAX_TITLE - 1]
    begin = cut.rpartition(" ")[0]
    return f"{begin if len(begin) > MAX_TITLE // 2 else cut}…"


def _nameless_poll(language: str) -> str:
    return translate(language, "recorded.chapter.poll_nameless")


async def add_chapter(classroom: Class, me: Participant, change: ChapterChange, language: str) -> None:
    """Raises Refusal for a title that is missing or long, and for one chapter too many."""
    title = _checked(change.title or "")
    if await sealed_of(classroom) is None:
        live = await live_classes().of(classroom)
        now_us = live.room.now_us()
        at_us = now_us if change.at_us is None else max(0, min(change.at_us, now_us))
        texts = await sync_to_async(live.words.add)(me, language, [title])
        try:
            await live.room.do(Given(me.source, ops.AddChapter(title, language, at_us), "", texts))  # type: ignore[arg-type]
        except Refusal:
            await sync_to_async(live.words.discard)(texts)
            raise
        return
    chapters = await chapters_of(classroom)
    if len(chapters) >= MAX_CHAPTERS:
        raise Refusal("refusal.many_chapters", 409, max=MAX_CHAPTERS)
    number = max((one.chapter for one in chapters), default=0) + 1
    at_us = await instant_within(classroom, change.at_us or 0)
    chapters.append(StoredChapter(number, at_us, title=title, author=me.source))
    await _store(classroom, chapters)


async def change_chapter(classroom: Class, number: int, change: ChapterChange, me: Participant) -> None:
    """Changes a chapter; a proposal with a new title becomes a staff chapter. Raises Refusal like `add_chapter`, and
    for an unknown chapter.
    """
    chapters = await _stored(classroom)
    found = _found(chapters, number)
    if change.title is not None:
        found.title, found.author, found.text = _checked(change.title), me.source, 0
        found.kind, found.about, found.values = "", "", {}
    if change.at_us is not None:
        found.at_us = await instant_within(classroom, change.at_us)
    await _store(classroom, chapters)


async def remove_chapter(classroom: Class, number: int) -> None:
    """Raises Refusal for one that is not there."""
    chapters = await _stored(classroom)
    chapters.remove(_found(chapters, number))
    await _store(classroom, chapters)


async def _stored(classroom: Class) -> list[StoredChapter]:
    if await sealed_of(classroom) is None:
        raise Refusal("refusal.class_not_ended", 409, title=classroom.title)
    return await chapters_of(classroom)


async def _store(classroom: Class, chapters: list[StoredChapter]) -> None:
    await asyncio.to_thread(write_chapters, class_folder(classroom.slug), chapters)


def _found(chapters: list[StoredChapter], number: int) -> StoredChapter:
    found = next((one for one in chapters if one.chapter == number), None)
    if found is None:
        raise Refusal("refusal.no_chapter", 404, number=number)
    return found


def _checked(title: str) -> str:
    title = " ".join(title.split())
    if not 1 <= len(title) <= MAX_TITLE:
        raise Refusal("refusal.chapter_title", 400, field="title", max=MAX_TITLE, length=len(title))
    return title
