"""HTTP API of a recorded class. Every member gets what they may see of it."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import msgspec
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.actions.classes.keep_recordings import ensure_recorded
from lab.actions.classes.live_class import live_classes
from lab.actions.classes.record_audio import audio_of
from lab.actions.classes.recorded.captions import caption_counts
from lab.actions.classes.recorded.chapters import (
    ChapterChange,
    add_chapter,
    change_chapter,
    remove_chapter,
    shown_chapters,
)
from lab.actions.classes.recorded.notes import NewNote, delete_note, notes_of, write_note
from lab.actions.classes.recorded.own_runs import own_runs
from lab.actions.classes.recorded.recognising import may_recognise
from lab.actions.classes.recorded.search import search
from lab.actions.classes.recordings import is_imported, look_into, now_of, sealed_of
from lab.actions.classes.seal_class import ensure_sealed, refresh_seal, seal_class
from lab.actions.classes.shown_labs import shown_lab
from lab.actions.classes.take_over import Instant, take_over_class
from lab.actions.rerun import commands_of
from lab.api.history import body_of, json_answer, number_of
from lab.class_rights import Right
from lab.classroom.audience import Viewer
from lab.classroom.recorded.description import describe, runs_of, titles_of
from lab.classroom.recorded.playback import Playback
from lab.exercises.loader import exercises
from lab.models import Class, Participant, Role, Run
from lab.preferences import preferences_of
from lab.protocol.event_schema import schema_hash
from lab.recordings import history
from lab.recordings.contents import contents
from lab.recordings.recording import Recording
from lab.rights import may, membership_of, require, rights_of, user_of
from lab.runtime.host import host
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal

_NAMED = 50
"""Maximum number of characters of a class's title in the name of a run."""

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


class Asker:
    """The viewer of a recording, and its class."""

    def __init__(self, user: User, classroom: Class, me: Participant) -> None:
        self.user = user
        self.classroom = classroom
        self.me = me

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.me.source, self.me.role)


def for_class(right: Right, *, seals: bool = True) -> Callable[[View], View]:
    """Finds the class of the address, if the user has this right to it: `view(request, asker, ...)`. Raises Refusal:
    401 if not signed in, 404 if not in the class, 403 without the right. `seals`: a class that has ended is sealed
    first.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        async def found(request: HttpRequest, slug: str, **more: Any) -> HttpResponseBase:
            return await view(request, await found_class(await user_of(request), slug, right, seals=seals), **more)

        return found

    return decorate


async def found_class(user: User, slug: str, right: Right, *, seals: bool = True) -> Asker:
    """The class, if the user has this right to it. Raises Refusal like `for_class`."""
    asker = await sync_to_async(_asker)(user, slug, right)
    ensure_recorded(asker.classroom)
    if seals:
        await ensure_sealed(asker.classroom)
    return asker


def _asker(user: User, slug: str, right: Right) -> Asker:
    missing = Refusal("refusal.no_class", 404, slug=slug)
    classroom = Class.objects.filter(slug=slug).first()
    if classroom is None:
        raise missing
    require(user, classroom, right, missing)
    me = membership_of(user, classroom)
    assert me is not None, "the right was asked for"
    me.classroom = classroom
    return Asker(user, classroom, me)


@require_GET
@for_class("see")
async def manifest(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The description of the recording: length, segments, labs, chapters, people, questions, and the viewer's
    rights.
    """
    classroom = asker.classroom
    sealed = await sealed_of(classroom)
    titles = await lab_titles(classroom)
    now_us = await now_of(classroom)
    described = await look_into(classroom, lambda playback: describe(playback, asker.viewer, titles, now_us))
    lessons, pace = await look_into(classroom, lambda playback: (_lessons(playback), playback.state.pace))
    rights = await sync_to_async(rights_of)(asker.user, classroom)
    described["labs"] = await sync_to_async(_with_charts)(asker.user, described["labs"])
    is_live, language = classroom.state != Class.State.ENDED, preferences_of(request).language
    wall_ms = sealed.wall_ms if sealed else (await live_classes().of(classroom)).room.header.wall_ms
    return json_answer(
        {
            "title": classroom.title,
            "slug": classroom.slug,
            "live": is_live,
            "wall_ms": wall_ms,
            "sealed_ms": sealed.sealed_ms if sealed else 0,
            "you": {"p": asker.me.source, "role": asker.me.role},
            **described,
            "chapters": await shown_chapters(classroom, language),
            "steps": _steps(lessons[-1], pace if is_live and "staff" not in rights else 0),
            "audio": await audio_of(classroom),
            "captions": await caption_counts(classroom),
            "own_runs": [one._asdict() for one in await sync_to_async(own_runs)(asker.me, lessons)],
            "can": {
                "correct": "staff" in rights,
                "recognise": "staff" in rights and not is_live and may_recognise(classroom),
                "seal": "staff" in rights and not is_live and not is_imported(classroom),
                "export": "export" in rights and not is_live,
                "take_over": "fork" in rights,
                "note": asker.me.role != Role.PROJECTOR,
                "share_note": "staff" in rights,
            },
        }
    )


@require_GET
@for_class("see")
async def class_map(request: HttpRequest, asker: Asker) -> HttpResponse:
    """Which lab was shown when, and its position: rows of `lab.classroom.recorded.class_map.Row`."""
    rows = await look_into(asker.classroom, lambda playback: msgspec.json.encode(playback.map.rows))
    return _json(rows)


@require_GET
@for_class("see")
async def segment(request: HttpRequest, asker: Asker, n: int) -> HttpResponse:
    """1,000 events with the sections that they changed, and the sections before them."""

    def look(playback: Playback) -> bytes:
        found = playback.segment(n, asker.viewer)
        if found is None:
            raise Refusal("refusal.no_class_segment", 404, segment=n, segments=len(playback.begins_us))
        return msgspec.json.encode(found)

    return _json(await look_into(asker.classroom, look))


@require_GET
@for_class("see")
async def lab_index(request: HttpRequest, asker: Asker, lab: int) -> HttpResponse:
    """Data of the time line of a lab that was shown, as for a run."""
    recording, last_seq = await shown_lab(asker.classroom, lab)
    run, branch = recording.folder.run, recording.folder.branch
    index = await asyncio.to_thread(history.index_of, recording, last_seq)
    return json_answer(
        {"run": run, "branch": branch, "name": "", "boot": "", "schema": schema_hash(), **index, "branches": []}
    )


@require_GET
@for_class("see")
async def lab_segment(request: HttpRequest, asker: Asker, lab: int, n: int) -> HttpResponse:
    """1,000 events of a lab with their patches, and the view before them."""
    recording, last_seq = await shown_lab(asker.classroom, lab)
    data, _ = await asyncio.to_thread(history.segment_json, recording, n, last_seq)
    return _json(data)


@require_GET
@for_class("see")
async def lab_seek(request: HttpRequest, asker: Asker, lab: int) -> HttpResponse:
    """The event of a lab to show for an instant of its time, `t_us`, or for `seq`."""
    t_us, seq = number_of(request, "t_us"), number_of(request, "seq")
    if t_us is None and seq is None:
        raise Refusal("refusal.instant_missing")
    return json_answer(await asyncio.to_thread(_place, *await shown_lab(asker.classroom, lab), t_us, seq))


@require_GET
@for_class("see")
async def lab_contents(request: HttpRequest, asker: Asker, lab: int) -> HttpResponse:
    """The newest records of each log after event `seq` of a lab, by replica and offset."""
    recording, last_seq = await shown_lab(asker.classroom, lab)
    seq = number_of(request, "seq")
    place = await asyncio.to_thread(_place, recording, last_seq, None, last_seq if seq is None else seq)
    return json_answer(await asyncio.to_thread(contents, recording, place["seq"]))


@require_GET
@for_class("see")
async def lab_commands(request: HttpRequest, asker: Asker, lab: int) -> HttpResponse:
    """The commands executed in a lab, as far as it was shown, as for a run."""
    recording, last_seq = await shown_lab(asker.classroom, lab)
    given = await asyncio.to_thread(lambda: commands_of(recording.inputs()))
    shown = [(seq, at_us, line) for seq, at_us, line in given if seq < last_seq]
    return json_answer([{"seq": seq, "at_us": at_us, "line": line} for seq, at_us, line in shown])


@require_POST
@for_class("staff")
async def seal(request: HttpRequest, asker: Asker) -> HttpResponse:
    """Seals an ended class again."""
    if asker.classroom.state != Class.State.ENDED:
        raise Refusal("refusal.class_not_ended", 409, title=asker.classroom.title)
    if is_imported(asker.classroom):
        raise Refusal("refusal.class_imported", 409, title=asker.classroom.title)
    sealed = await seal_class(asker.classroom)
    return json_answer({"sealed_ms": sealed.sealed_ms})


@require_POST
@for_class("staff")
async def chapters(request: HttpRequest, asker: Asker) -> HttpResponse:
    """Adds a chapter: `at_us`, `title`. Answers with all of them."""
    language = preferences_of(request).language
    await add_chapter(asker.classroom, asker.me, body_of(request, ChapterChange), language)
    await refresh_seal(asker.classroom)
    return json_answer(await shown_chapters(asker.classroom, language))


@require_http_methods(["PUT", "DELETE"])
@for_class("staff")
async def chapter(request: HttpRequest, asker: Asker, number: int) -> HttpResponse:
    """Moves, renames or removes a chapter. Responds with all chapters."""
    language = preferences_of(request).language
    if request.method == "PUT":
        await change_chapter(asker.classroom, number, body_of(request, ChapterChange), asker.me)
    else:
        await remove_chapter(asker.classroom, number)
    await refresh_seal(asker.classroom)
    return json_answer(await shown_chapters(asker.classroom, language))


@require_GET
@for_class("see")
async def found(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The instants at which all words of `q` occur."""
    language = preferences_of(request).language
    return json_answer(await search(asker.me, request.GET.get("q", ""), language))


@require_http_methods(["GET", "POST"])
@for_class("see")
async def notes(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The notes that the asker may read; or writes one: `at_us`, `text`, `shared`."""
    if request.method == "GET":
        return json_answer(await notes_of(asker.me))
    if asker.me.role == Role.PROJECTOR:
        raise Refusal("refusal.not_allowed", 403)
    return json_answer(await write_note(asker.me, body_of(request, NewNote)))


@require_http_methods(["DELETE"])
@for_class("see")
async def note(request: HttpRequest, asker: Asker, id: str) -> HttpResponse:
    """Deletes a note of the user's own, or, for staff, a shared one. Responds with the remaining notes."""
    await delete_note(asker.me, id)
    return json_answer(await notes_of(asker.me))


@require_POST
@for_class("fork")
async def take_over(request: HttpRequest, asker: Asker) -> HttpResponse:
    """A new run of the asker's own from an instant of the recording; answers with its address."""
    instant = body_of(request, Instant)
    title, language = asker.classroom.title, preferences_of(request).language
    name = translate(language, "recorded.taken_over", title=title[:_NAMED])
    branch = await take_over_class(host(), asker.me, instant, name)
    return json_answer({"href": reverse("lab", args=(branch.run.slug, branch.name))})


def _place(recording: Recording, last_seq: int, t_us: int | None, seq: int | None) -> dict[str, int]:
    """Like `history.seek`, limited to what was shown."""
    if seq is not None and seq > last_seq:
        raise Refusal("refusal.not_shown", 404, seq=seq, last=last_seq)
    place = history.seek(recording, t_us=t_us, seq=seq, now_us=t_us or 0)
    return place if place["seq"] <= last_seq else history.seek(recording, seq=last_seq)


async def lab_titles(classroom: Class) -> list[str]:
    """Returns the titles of the labs that were shown, by number."""
    sealed = await sealed_of(classroom)
    if sealed is not None:
        return [lab.title for lab in sealed.labs]
    slugs = await look_into(classroom, runs_of)
    names = await sync_to_async(lambda: dict(Run.objects.filter(slug__in=slugs).values_list("slug", "name")))()
    return await look_into(classroom, lambda playback: titles_of(playback, names))


def _with_charts(user: User, labs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The labs, each with whether the user may see the charts of its run, which may have been deleted."""
    runs = {run.slug: run for run in Run.objects.filter(slug__in={lab["address"].partition("/")[0] for lab in labs})}

    def may_chart(address: str) -> bool:
        slug, _, name = address.partition("/")
        run = runs.get(slug)
        return run is not None and may(user, run, "export") and run.branches.filter(name=name).exists()

    return [{**lab, "charts": may_chart(lab["address"])} for lab in labs]


def _lessons(playback: Playback) -> list[str]:
    """The slugs of the lessons of the class, in order; the last one may be empty."""
    state = playback.state
    return [*(one.chapter for one in state.lessons), state.chapter]


def _steps(slug: str, pace: int) -> list[dict[str, str]]:
    """The steps of the lesson by language, up to the pace; 0: all."""
    lesson = exercises().get(slug)
    steps = lesson.steps if lesson is not None else []
    return [{"en": step.text.en, "zh-CN": step.text.zh} for step in (steps[:pace] if pace else steps)]


def _json(data: bytes) -> HttpResponse:
    response = HttpResponse(data, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response
