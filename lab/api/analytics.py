"""The analytics page, the charts of stored tables, and the job that brings the tables up to the run."""

import asyncio
import contextlib
import json

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.analytics.build.found import branch_id, with_ancestors
from lab.analytics.build.recordings import recordings
from lab.analytics.figures.stored import STAGES
from lab.analytics.jobs import Priority, analyst
from lab.analytics.orders import BuildTask
from lab.analytics.serve.gold_reader import csv_of, is_made, parquet_of, shown
from lab.analytics.store.objects import PlaceError, is_object_store
from lab.api.history import for_branch
from lab.api.jobs import begun_answer, cancel_answer, job_answer
from lab.models import Branch
from lab.preferences import preferences_of
from lab.recordings.folder import BranchFolder, branch_folder
from lab.rights import user_of
from lab.runtime.lab import Lab


@login_required
@ensure_csrf_cookie
@require_GET
async def page(request: HttpRequest, run: str, branch: str) -> HttpResponse:
    """The page, which requests an update of the tables itself. If there are none, Spark starts while it loads."""
    user = await user_of(request)
    found = await sync_to_async(selectors.branch_of)(user, run, branch, "export")
    await asyncio.to_thread(_start_ahead, branch_folder(run, branch))
    name = await sync_to_async(selectors.shown_name)(user)
    context = {"run": {"id": run, "name": found.run.name}, "branch": branch, "user_name": name}
    response = await sync_to_async(render)(request, "lab/analytics.html", context)
    # Plotly writes style attributes (lab.web.middleware).
    response.inline_styles = True  # type: ignore[attr-defined]
    return response


def _start_ahead(folder: BranchFolder) -> None:
    """Starts Spark if there is no chart of a branch. The page does not wait for an object store, and is shown although
    tables cannot be read: it says so itself.
    """
    with contextlib.suppress(PlaceError, OSError):
        if not is_object_store(str(settings.TABLES)) and not is_made(folder):
            analyst().start()


@require_GET
@for_branch("export")
async def stored(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The charts of stored tables, with the last event included and the last event of the branch.

    `internal=1` includes the partitions of internal topics, whose number is `internal`.
    """
    internal = request.GET.get("internal") == "1"
    found = await asyncio.to_thread(shown, lab.recording.folder, preferences_of(request).language, internal=internal)
    response = JsonResponse(
        {
            "made_to": found.last_seq,
            "last_seq": lab.recording.last_seq,
            "figures": found.figures,
            "internal": found.internal,
            "bands": found.bands,
            "faults": found.faults,
            "damage": [{"from_seq": one, "to_seq": other, "reason": why} for one, other, why in found.damage],
        }
    )
    response["Cache-Control"] = "no-store"
    return response


@require_GET
@for_branch("export")
async def stored_csv(request: HttpRequest, branch: Branch, lab: Lab, name: str) -> HttpResponse:
    """All rows of a chart's table. Raises Refusal (404) for an unknown chart."""
    text = await asyncio.to_thread(csv_of, lab.recording.folder, name)
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{branch.run.slug}-{branch.name}-{name}.csv"'
    return response


@require_GET
@for_branch("export")
async def stored_parquet(request: HttpRequest, branch: Branch, lab: Lab, name: str) -> HttpResponse:
    """All rows of a chart's table with their types. Raises Refusal (404) for an unknown chart."""
    data = await asyncio.to_thread(parquet_of, lab.recording.folder, name)
    response = HttpResponse(data, content_type="application/vnd.apache.parquet")
    response["Content-Disposition"] = f'attachment; filename="{branch.run.slug}-{branch.name}-{name}.parquet"'
    return response


@require_POST
@for_branch("export")
async def build(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """Starts an update of the tables to the current branch, or finds the job in progress.

    `{"priority": "build"}` means low priority. Raises Refusal (429) like `Analyst.begin`.
    """
    user = await request.auser()
    await asyncio.to_thread(lab.recording.flush)
    task = await sync_to_async(_build_task)(branch)
    job = await asyncio.to_thread(analyst().build, lab.recording.folder, task, _priority(request), user.pk)
    return begun_answer(job)


@require_GET
@for_branch("export")
async def build_job(request: HttpRequest, branch: Branch, lab: Lab, id: str) -> HttpResponse:
    """The progress of a build. Raises Refusal (404) if the job does not exist."""
    return job_answer(request, id, _about(branch))


@require_POST
@for_branch("export")
async def cancel_build(request: HttpRequest, branch: Branch, lab: Lab, id: str) -> HttpResponse:
    """Cancels a build; what it has published is kept. Raises Refusal (404) if the job does not exist."""
    return await cancel_answer(id, _about(branch))


def _about(branch: Branch) -> tuple[str, ...]:
    return (branch_id(branch.run.slug, branch.name),)


def _priority(request: HttpRequest) -> Priority:
    try:
        asked = json.loads(request.body or b"{}")
    except ValueError:
        return "page"
    return "build" if isinstance(asked, dict) and asked.get("priority") == "build" else "page"


def _build_task(branch: Branch) -> BuildTask:
    every = recordings([branch.run.slug])
    own = [one for one in every if one.entry.branch == branch_id(branch.run.slug, branch.name)]
    found = tuple((str(one.folder), one.entry) for one in with_ancestors(own, every))
    return BuildTask(str(settings.TABLES), found, STAGES)
