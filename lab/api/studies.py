"""The pages of studies. They show content of the lab, or results of its operator, to all signed-in users."""

import asyncio
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab import selectors
from lab.analytics.figures.parts import Words
from lab.course.loader import course
from lab.preferences import preferences_of
from lab.rights import user_of
from lab.studies.figure import charts_of, csv_of
from lab.studies.shelf import all_found, one_found


@login_required
@require_GET
async def studies(request: HttpRequest) -> HttpResponse:
    """The studies by chapter of the course, then those of no chapter."""
    found = await asyncio.to_thread(all_found)
    chapters = course().chapters
    groups = [(chapter, [one for one in found if one.chapter == chapter.slug]) for chapter in chapters]
    known = {chapter.slug for chapter in chapters}
    return await _page(
        request,
        "studies/list.html",
        {
            "groups": [group for group in groups if group[1]],
            "others": [one for one in found if one.chapter not in known],
        },
    )


@login_required
@require_GET
async def study(request: HttpRequest, slug: str) -> HttpResponse:
    """The result of a study. Raises Refusal (404) for an unknown one."""
    found = await asyncio.to_thread(one_found, slug)
    chapter = next((one for one in course().chapters if one.slug == found.chapter), None)
    runs = sum(point.runs for point in found.points)
    stopped = sum(point.stopped for point in found.points)
    response = await _page(
        request, "studies/study.html", {"study": found, "chapter": chapter, "runs": runs, "stopped": stopped}
    )
    # Plotly writes style attributes (lab.web.middleware).
    response.inline_styles = True  # type: ignore[attr-defined]
    return response


@login_required
@require_GET
async def charts(request: HttpRequest, slug: str) -> HttpResponse:
    """The charts of a study with their sentences and tables. Raises Refusal (404) for an unknown one."""
    found = await asyncio.to_thread(one_found, slug)
    return JsonResponse({"charts": charts_of(found, Words(preferences_of(request).language))})


@login_required
@require_GET
async def csv(request: HttpRequest, slug: str) -> HttpResponse:
    """All distributions as CSV. Raises Refusal (404) for an unknown study."""
    found = await asyncio.to_thread(one_found, slug)
    response = HttpResponse(csv_of(found), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{found.slug}.csv"'
    return response


async def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    user = await user_of(request)
    context["user_name"] = await sync_to_async(selectors.shown_name)(user)
    return await sync_to_async(render)(request, template, context)
