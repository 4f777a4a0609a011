"""The tables page: descriptions of all tables, and SQL for instructors."""

import asyncio
import json
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.analytics.build.events import STORED
from lab.analytics.serve.questions import QUESTIONS
from lab.analytics.serve.sql_box import LIMIT_S, MAX_ROWS, MEMORY_BYTES, Answer, ask
from lab.analytics.serve.visible import Visible, may_ask, visible_to
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.csv_text import csv_of
from lab.analytics.tables.described import described
from lab.preferences import preferences_of
from lab.rights import user_of
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal


@login_required
@ensure_csrf_cookie
@require_GET
async def page(request: HttpRequest) -> HttpResponse:
    """All tables with their columns; for instructors also the editor."""
    user = await user_of(request)
    language = preferences_of(request).language
    tables = described(STORED, language)
    context: dict[str, Any] = {
        "layers": [(layer, [one for one in tables if one["layer"] == layer]) for layer in ("gold", "silver", "bronze")],
        "count": len(tables),
        "asks": await sync_to_async(may_ask)(user),
        "questions": json.dumps(
            [[translate(language, f"tables.question.{name}"), sql] for name, sql in QUESTIONS.items()]
        ),
        "limits": {"limit_s": round(LIMIT_S), "rows": MAX_ROWS, "megabytes": MEMORY_BYTES >> 20},
        "user_name": await sync_to_async(selectors.shown_name)(user),
    }
    return await sync_to_async(render)(request, "tables/tables.html", context)


@require_POST
async def sql(request: HttpRequest) -> HttpResponse:
    """The result of the query `{"query": ...}`, which is stopped when the client disconnects.

    Raises Refusal: 401 if not signed in, 403 for learners, and like `sql_box.ask`.
    """
    try:
        query = json.loads(request.body)["query"]
    except (ValueError, KeyError, TypeError):
        query = ""
    try:
        response = JsonResponse((await _asked(request, str(query)))._asdict())
    except Refusal as refusal:
        # `field` is the line of a mistake.
        said = {**refusal.as_json(preferences_of(request).language), "line": refusal.field}
        response = JsonResponse(said, status=refusal.status)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
async def csv(request: HttpRequest) -> HttpResponse:
    """The answer to the question of the form's field `query`, as a file. Raises Refusal as `sql`."""
    found = await _asked(request, request.POST.get("query", ""))
    response = HttpResponse(csv_of(found.columns, found.rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="answer.csv"'
    return response


async def _asked(request: HttpRequest, query: str) -> Answer:
    user = await user_of(request)
    if not await sync_to_async(may_ask)(user):
        raise Refusal("refusal.not_allowed", 403)
    store = Store.at(str(settings.TABLES))
    build = await asyncio.to_thread(store.newest)
    if build is None:
        raise Refusal("refusal.sql_no_tables", 404)
    return await ask(store, build, query, await sync_to_async(_visible)(user, build), user.pk)


def _visible(user: User, build: Build) -> Visible:
    return visible_to(user, build.ledger())
