"""The analytics of a class, for its staff: the page, its charts and their tables, and the jobs that make them.

During the class the charts come from live rounds (`lab.analytics.rounds`), after it from stored tables.
"""

import asyncio
import time

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.actions.classes.live_class import live_classes
from lab.analytics.build.acts import FoundLog
from lab.analytics.build.logs import logs
from lab.analytics.build.people import pseudonym
from lab.analytics.jobs import Job, analyst
from lab.analytics.orders import LiveTask, LogOrder, LogsTask
from lab.analytics.rounds import live_job, rounds
from lab.analytics.serve.class_reader import (
    CLASS_TABLES,
    OF_CLASS,
    STEPS,
    StoredRows,
    csv_of,
    figures_of,
    instant_of,
    is_behind,
    stored_class,
)
from lab.analytics.serve.learning_reader import Person, Scene
from lab.api.history import json_answer
from lab.api.jobs import begun_answer, cancel_answer, job_answer
from lab.api.recorded import Asker, for_class
from lab.models import Class, Participant, Presence, Role, Run
from lab.preferences import preferences_of
from lab.rights import may

WAIT_S = 2.0
"""Interval at which a page of a running class asks again while there is nothing to do."""
_US_PER_S = 1_000_000
_GONE = (Presence.ERASED, Presence.MERGED)


@never_cache
@ensure_csrf_cookie
@require_GET
@for_class("staff", seals=False)
async def page(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The page. Raises Refusal: 404 if the user is not in the class, 403 if the user is not staff."""
    name = await sync_to_async(selectors.shown_name)(asker.user)
    context = {"classroom": asker.classroom, "user_name": name}
    response = await sync_to_async(render)(request, "class/analytics.html", context)
    # Plotly writes style attributes (lab.web.middleware).
    response.inline_styles = True  # type: ignore[attr-defined]
    return response


@require_GET
@for_class("staff", seals=False)
async def tables(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The charts, and the wall time up to which acts are included."""
    found = await _rows(asker.classroom)
    scene = await _scene(request, asker, found, named=True)
    figures = await asyncio.to_thread(figures_of, OF_CLASS, found.tables, scene)
    learners = sum(1 for one in scene.people.values() if one.name)
    response = json_answer(
        {
            "figures": figures,
            "as_of_ms": found.as_of_ms,
            "now_ms": now_ms(),
            "live": is_live(asker.classroom),
            "people": learners,
        }
    )
    response["Cache-Control"] = "no-store"
    return response


@require_GET
@for_class("staff", seals=False)
async def table_csv(request: HttpRequest, asker: Asker, name: str) -> HttpResponse:
    """All rows of a chart, with numbers for people. Raises Refusal (404) for an unknown chart."""
    found = await _rows(asker.classroom)
    scene = await _scene(request, asker, found, named=False)
    text = await asyncio.to_thread(csv_of, OF_CLASS, name, found.tables, scene)
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{asker.classroom.slug}-{name}.csv"'
    return response


@require_POST
@for_class("staff", seals=False)
async def start(request: HttpRequest, asker: Asker) -> HttpResponse:
    """Starts a round or a build, or finds the one in progress; `job` is null if there is nothing to do, and then
    `wait_s` is the time until the next request (0: none).
    """
    classroom = asker.classroom
    found = await sync_to_async(logs)([classroom.slug])
    job, wait_s = await asyncio.to_thread(_begin, classroom, found, asker.user.pk)
    return begun_answer(job, wait_s=wait_s, live=is_live(classroom))


def _begin(classroom: Class, found: list[FoundLog], asker: int) -> tuple[Job | None, float]:
    slug = classroom.slug
    if not any(one.entry.learner for one in found):
        # There is no work in a lesson yet, so Spark is not started.
        return None, WAIT_S if is_live(classroom) else 0.0
    if is_live(classroom):
        job, wait_s = rounds().ask(slug, lambda: LiveTask(slug, orders_of(found)))
        return job, wait_s
    if not is_behind(found, [name for name in CLASS_TABLES if name != STEPS], slug):
        return None, 0.0
    task = LogsTask(str(settings.TABLES), orders_of(found), CLASS_TABLES)
    return analyst().begin(_build_of(slug), task, requester_id=asker), 0.0


def orders_of(found: list[FoundLog]) -> tuple[LogOrder, ...]:
    """The orders for logs to the worker."""
    return tuple(LogOrder(str(one.folder), one.entry, dict(one.people), dict(one.rooms)) for one in found)


@require_GET
@for_class("staff", seals=False)
async def job(request: HttpRequest, asker: Asker, id: str) -> HttpResponse:
    """The progress of a job. Raises Refusal (404) for an unknown number."""
    return job_answer(request, id, _about(asker.classroom))


@require_POST
@for_class("staff", seals=False)
async def cancel(request: HttpRequest, asker: Asker, id: str) -> HttpResponse:
    """Cancels a round or a build; what it has published is kept. Raises Refusal (404) for an unknown number."""
    return await cancel_answer(id, _about(asker.classroom))


def _build_of(slug: str) -> str:
    return f"class:{slug}"


def _about(classroom: Class) -> tuple[str, ...]:
    return live_job(classroom.slug), _build_of(classroom.slug)


def is_live(classroom: Class) -> bool:
    """Whether acts may follow."""
    return classroom.state != Class.State.ENDED


async def _rows(classroom: Class) -> StoredRows:
    """The rows of live rounds, or the stored ones if there are no others."""
    people = await sync_to_async(_pseudonyms)(classroom)
    if is_live(classroom):
        live = rounds().found(classroom.slug)
        if live is not None:
            return StoredRows(live.tables, live.as_of_ms)
    return await asyncio.to_thread(stored_class, classroom.slug, people.keys())


def _pseudonyms(classroom: Class) -> dict[str, Participant]:
    found = Participant.objects.filter(classroom=classroom, user__isnull=False).exclude(presence__in=_GONE)
    return {pseudonym(settings.DATA, one.user_id): one for one in found if one.user_id is not None}


async def _scene(request: HttpRequest, asker: Asker, found: StoredRows, *, named: bool) -> Scene:
    classroom = asker.classroom
    members = await sync_to_async(_pseudonyms)(classroom)
    people = {
        person: Person(one.number, one.nickname if named else "")
        for person, one in members.items()
        if one.role == Role.LEARNER
    }
    seen = await sync_to_async(_seen)(asker, {row["lab"] for row in found.tables.get(STEPS, ())})
    clock = await _clock(classroom, found)
    return Scene(
        preferences_of(request).language,
        people,
        lambda lab, seq: f"/r/{lab}?seq={seq}" if lab in seen and seq else "",
        lambda at_ms: instant_of(clock, at_ms),
        lambda class_us: f"/classes/{classroom.slug}/replay/?at={shown_instant(class_us)}",
    )


def _seen(asker: Asker, labs: set[str | None]) -> frozenset[str]:
    """Returns the labs that the requester may see."""
    runs = {run.slug: run for run in Run.objects.filter(slug__in={(lab or "").partition("/")[0] for lab in labs})}
    may_see = {slug for slug, run in runs.items() if may(asker.user, run, "see")}
    return frozenset(lab for lab in labs if lab and lab.partition("/")[0] in may_see)


async def _clock(classroom: Class, found: StoredRows) -> list[tuple[int, int]]:
    """Pairs of wall time and class time."""
    if found.clock:
        return list(found.clock)
    if not is_live(classroom):
        return []
    live = await live_classes().of(classroom)
    return [(now_ms(), live.room.now_us())]


def shown_instant(class_us: int) -> str:
    """Class time as the address of a replay has it: `31:42.500`."""
    seconds, part_us = divmod(class_us, _US_PER_S)
    return f"{seconds // 60}:{seconds % 60:02d}.{part_us // 1_000:03d}"


def now_ms() -> int:
    """The wall clock, in milliseconds."""
    return time.time_ns() // 1_000_000
