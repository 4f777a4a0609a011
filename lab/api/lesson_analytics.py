"""The analytics of a lesson: everyone's own attempts, and for instructors the results of all learners.

The results of all learners have no names and are shown only for groups of at least five.
"""

import asyncio

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.analytics.build.logs import learner_log, log_of, logs
from lab.analytics.build.people import pseudonym
from lab.analytics.jobs import Job, analyst
from lab.analytics.orders import LogsTask
from lab.analytics.serve.class_reader import (
    ALL,
    LESSON_TABLES,
    OF_LESSON,
    OWN,
    OWN_TABLES,
    csv_of,
    figures_of,
    is_behind,
    stored_lesson,
    stored_own,
)
from lab.analytics.serve.learning_reader import Scene
from lab.api.class_analytics import now_ms, orders_of
from lab.api.history import json_answer
from lab.api.jobs import begun_answer, cancel_answer, job_answer
from lab.course.loader import course
from lab.preferences import preferences_of
from lab.rights import may, user_of

_EVERYBODY = "lessons"
"""What the work for all learners is called; that of one has the name of their log."""


@login_required
@ensure_csrf_cookie
@require_GET
async def page(request: HttpRequest, slug: str) -> HttpResponse:
    """The page. Raises Refusal (404) for an unknown lesson."""
    lesson = course().lesson(slug)
    user = await user_of(request)
    context = {
        "lesson": lesson,
        "exercise": lesson.exercise,
        "is_staff": await sync_to_async(may)(user, None, "staff"),
        "user_name": await sync_to_async(selectors.shown_name)(user),
    }
    response = await sync_to_async(render)(request, "course/analytics.html", context)
    # Plotly writes style attributes (lab.web.middleware).
    response.inline_styles = True  # type: ignore[attr-defined]
    return response


@require_GET
async def tables(request: HttpRequest, slug: str) -> HttpResponse:
    """The charts: the user's own, followed by those over all learners if the user may see them."""
    user, is_staff = await _asker(request, slug)
    scene = _scene(request)
    own = await asyncio.to_thread(stored_own, _person(user), slug)
    figures = await asyncio.to_thread(figures_of, OWN, own.tables, scene)
    as_of_ms, is_withheld = own.as_of_ms, False
    if is_staff:
        every = await asyncio.to_thread(stored_lesson, slug)
        of_all = await asyncio.to_thread(figures_of, OF_LESSON, every.tables, scene)
        figures, as_of_ms = {**of_all, **figures}, every.as_of_ms or as_of_ms
        is_withheld = bool(every.as_of_ms) and not of_all
    return json_answer(
        {
            "figures": figures,
            "as_of_ms": as_of_ms if figures else 0,
            "now_ms": now_ms(),
            "live": False,
            "people": 0,
            "withheld": is_withheld,
        }
    )


@require_GET
async def table_csv(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """All rows of a chart. Raises Refusal (404) for an unknown chart, and for one of all learners without the right."""
    user, is_staff = await _asker(request, slug)
    if name in OF_LESSON and is_staff:
        found = await asyncio.to_thread(stored_lesson, slug)
        text = await asyncio.to_thread(csv_of, OF_LESSON, name, found.tables, _scene(request))
    else:
        own = await asyncio.to_thread(stored_own, _person(user), slug)
        text = await asyncio.to_thread(csv_of, OWN, name, own.tables, _scene(request))
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}-{name}.csv"'
    return response


@require_POST
async def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Starts an update of the tables from the logs, or finds the job in progress; null if there is nothing to do."""
    user, is_staff = await _asker(request, slug)
    return begun_answer(await (_begin_all(user) if is_staff else _begin_own(user)))


async def _begin_all(user: User) -> Job | None:
    found = await sync_to_async(logs)()
    if not found or not await asyncio.to_thread(is_behind, found, LESSON_TABLES, ALL):
        return None
    task = LogsTask(str(settings.TABLES), orders_of(found), (*LESSON_TABLES, *OWN_TABLES))
    return await asyncio.to_thread(analyst().begin, _EVERYBODY, task, requester_id=user.pk)


async def _begin_own(user: User) -> Job | None:
    found = await sync_to_async(log_of)(user.pk)
    name = learner_log(_person(user))
    if found is None or not await asyncio.to_thread(is_behind, [found], OWN_TABLES, name):
        return None
    task = LogsTask(str(settings.TABLES), orders_of([found]), OWN_TABLES)
    return await asyncio.to_thread(analyst().begin, name, task, requester_id=user.pk)


@require_GET
async def job(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """The progress of a job. Raises Refusal (404) for a number that is unknown or not visible to the user."""
    return job_answer(request, id, _about(*await _asker(request, slug)))


@require_POST
async def cancel(request: HttpRequest, slug: str, id: str) -> HttpResponse:
    """Cancels a job; what it has published is kept. Raises Refusal (404) like `job`."""
    return await cancel_answer(id, _about(*await _asker(request, slug)))


def _about(user: User, is_staff: bool) -> tuple[str, ...]:
    return (_EVERYBODY if is_staff else learner_log(_person(user)),)


async def _asker(request: HttpRequest, slug: str) -> tuple[User, bool]:
    """The user, and whether they may see the results of all learners. Raises Refusal: 401 if not signed in, 404."""
    user = await user_of(request)
    course().lesson(slug)
    return user, await sync_to_async(may)(user, None, "staff")


def _person(user: User) -> str:
    return pseudonym(settings.DATA, user.pk)


def _scene(request: HttpRequest) -> Scene:
    """Labs can be opened only from the user's own rows."""
    return Scene(preferences_of(request).language, lab=lambda lab, seq: f"/r/{lab}?seq={seq}" if lab and seq else "")
