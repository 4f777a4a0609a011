"""The pages, as thin views: selectors read, actions write."""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from broker_core.eras import DEFAULT_ERA, ERAS
from lab import selectors
from lab.actions.adopt_clusters import adopt_clusters
from lab.actions.classes.live_class import live_classes
from lab.actions.delete_run import delete_run
from lab.actions.duplicate_run import duplicate_run
from lab.actions.execution import MAX_EXECUTION_S
from lab.actions.imports import refusal_to_show, running_import
from lab.actions.rename_run import rename_run
from lab.actions.rerun import rerun
from lab.actions.start_run import proposed_seed, start_run
from lab.api.state_charts import state_charts
from lab.course.attempts import started_on
from lab.course.lesson_page import in_lists
from lab.course.loader import course
from lab.learning.log import summary_of
from lab.models import Run
from lab.preferences import preferences_of
from lab.recordings.history import parse_instant, seek
from lab.rights import LOCAL_USER, user_of
from lab.runtime.host import host
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal, no_page
from lab.web.middleware import answer_refusal
from lab.web.recorded.compared_side import recorded_side

PAIRS_SHOWN = 5
"""Number of newest runs with a fork that are offered while nothing is chosen to compare."""


@login_required
@require_GET
async def runs(request: HttpRequest) -> HttpResponse:
    user = await user_of(request)
    if user.get_username() == LOCAL_USER:
        await sync_to_async(adopt_clusters)(user)
    return await runs_page(request, refusal_to_show(user, "run"))


@login_required
@require_GET
async def own_files(request: HttpRequest) -> HttpResponse:
    """The inspector for the visitor's files. They are read in the browser and not sent to the server."""
    return await page(request, "inspect/own_files.html", {})


@login_required
@require_POST
async def new_run(request: HttpRequest) -> HttpResponse:
    try:
        branch = await start_run(host(), await user_of(request), request.POST.dict())
    except Refusal as refusal:
        return await runs_page(request, refusal, request.POST.dict())
    return redirect("lab", branch.run.slug, branch.name)


async def _own_run(request: HttpRequest, run: str) -> Run:
    """A run of the user's own. Raises Refusal for any other."""
    return await sync_to_async(selectors.run_of)(await user_of(request), run, "own")


async def _runs_after(request: HttpRequest, act: Awaitable[object]) -> HttpResponse:
    """Shows the runs once the act is done, with the reason if it is refused."""
    try:
        await act
    except Refusal as refusal:
        return await runs_page(request, refusal)
    return redirect("runs")


def _is_confirmed(request: HttpRequest) -> bool:
    return request.POST.get("confirm") == "yes"


@login_required
@require_POST
async def rename(request: HttpRequest, run: str) -> HttpResponse:
    found = await _own_run(request, run)
    try:
        await sync_to_async(rename_run)(found, request.POST.get("name", ""))
    except Refusal as refusal:
        return await runs_page(request, refusal, renamed={"run": run, "name": request.POST.get("name", "")})
    return redirect("runs")


@login_required
@require_POST
async def duplicate(request: HttpRequest, run: str) -> HttpResponse:
    return await _runs_after(request, duplicate_run(host(), await _own_run(request, run)))


@login_required
@require_POST
async def delete(request: HttpRequest, run: str) -> HttpResponse:
    found = await _own_run(request, run)
    return await _runs_after(request, delete_run(host(), found, confirmed=_is_confirmed(request)))


@login_required
@require_POST
async def delete_chosen(request: HttpRequest) -> HttpResponse:
    """Deletes the selected runs: all of them, or none if one belongs to another user."""

    async def delete_all() -> None:
        chosen = [await _own_run(request, slug) for slug in request.POST.getlist("run")]
        if not chosen:
            raise Refusal("refusal.no_runs_chosen")
        for found in chosen:
            await delete_run(host(), found, confirmed=_is_confirmed(request))

    return await _runs_after(request, delete_all())


@login_required
@require_POST
async def rerun_in_era(request: HttpRequest, run: str) -> HttpResponse:
    """Replays a branch's commands on a cluster of another era, and shows both side by side."""
    user = await user_of(request)
    branch = await sync_to_async(selectors.branch_of)(user, run, request.POST.get("branch", ""), "fork")
    again = await rerun(host(), user, branch, request.POST.get("era", ""))
    query = urlencode({"a": f"{run}/{branch.name}", "b": f"{again.run.slug}/{again.name}"}, safe="/")
    return HttpResponseRedirect(f"{reverse('compare')}?{query}")


@login_required
@ensure_csrf_cookie
@require_GET
async def compare(request: HttpRequest) -> HttpResponse:
    """Two branches, of one run or of two, side by side; one may be a lab of a recorded class. Raises Refusal (404) for
    a branch of another user.
    """
    user = await user_of(request)
    choices = await sync_to_async(selectors.branch_choices)(user)
    a, b = [await _side(user, choices, request.GET.get(side, "")) for side in ("a", "b")]
    eras = [name for name in ERAS if a and a["run"] and name != a["era"]]
    forked_us = None
    if a and b and a["run"] and a["run"] == b["run"]:
        forked_us = await sync_to_async(selectors.forked_at_us)(user, a["run"], a["branch"], b["branch"])
    sides = [(name, side, _offered(choices, side)) for name, side in (("a", a), ("b", b))]
    pairs = selectors.branch_pairs(choices)[:PAIRS_SHOWN]
    context = {
        "choices": choices, "a": a, "b": b, "sides": sides, "eras": eras, "forked_us": forked_us, "pairs": pairs,
    }  # fmt: skip
    return await page(request, "compare/compare.html", context)


async def _side(user: User, choices: list[dict[str, Any]], address: str) -> dict[str, Any] | None:
    """The branch `run/branch`, or a lab of a recorded class; None if none was given."""
    found = next((choice for choice in choices if choice["address"] == address), None)
    if address and found is None:
        return await recorded_side(user, address)
    return found


def _offered(choices: list[dict[str, Any]], side: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The choices for a side. A lab of a recorded class is offered only if it is already shown."""
    return [side, *choices] if side is not None and not side["run"] else choices


@login_required
@ensure_csrf_cookie
@require_GET
async def lab(request: HttpRequest, run: str, branch: str) -> HttpResponse:
    """The lab's page. Raises Refusal (404) for an instant that the branch does not have."""
    user, whole = await user_of(request), course()
    found = await sync_to_async(selectors.branch_of)(user, run, branch)
    await live_classes().of_run(found.run)
    opened = await host().lab(run, branch)
    await asyncio.to_thread(seek, opened.recording, **parse_instant(request.GET), now_us=opened.clock().at_us)
    started = whole.lessons.get(await sync_to_async(started_on)(user, found))
    context = {
        "run": {"id": run, "name": found.run.name, "era": found.run.era, "era_text": f"era.{found.run.era}"},
        "branch": branch,
        "zookeeper": opened.zookeeper,
        "exercises": in_lists(whole, await sync_to_async(summary_of)(user.pk)),
        "lesson": started,
        "classroom": found.run.classroom.slug if found.run.classroom else "",
        "state_charts": state_charts(),
    }
    return await page(request, "lab/lab.html", context)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The address does not exist."""
    return answer_refusal(request, no_page(request.path))


def forged_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid CSRF token."""
    return answer_refusal(request, Refusal("refusal.forged_form", 403))


async def runs_page(
    request: HttpRequest,
    refusal: Refusal | None = None,
    form: dict[str, str] | None = None,
    renamed: dict[str, str] | None = None,
) -> HttpResponse:
    """The list of runs. After a refusal, with its message and the rejected form of a new run or a new name."""
    user = await user_of(request)
    language = preferences_of(request).language
    cards = await sync_to_async(selectors.run_cards)(user, language, live_branches())
    query, order = request.GET.get("q", "").strip(), request.GET.get("sort", "")
    context = {
        "runs": selectors.found_cards(cards, query, order),
        "run_count": len(cards),
        "query": query,
        "order": order,
        "orders": [{"name": name, "text": f"runs.sort.{name or 'new'}"} for name in selectors.CARD_ORDERS],
        "new_run": {"name": translate(language, "runs.proposed_name", n=len(cards) + 1), "seed": proposed_seed()},
        "eras": [{"name": era.name, "release": era.release, "text": f"era.{era.name}"} for era in ERAS.values()],
        "chosen_era": (form or {}).get("era", DEFAULT_ERA),
        "error": {**refusal.as_json(language), "field": refusal.field} if refusal else None,
        "form": form or {},
        "renamed": renamed or {},
        "import_max_s": round(MAX_EXECUTION_S),
        "importing": running_import(user, "run"),
    }
    return await page(request, "runs/list.html", context, status=status_of(request, refusal))


def status_of(request: HttpRequest, refusal: Refusal | None) -> int:
    """The status of a page that shows why a form, or an import that no page followed to its end, was refused."""
    return refusal.status if refusal and request.method == "POST" else 200


def live_branches() -> set[tuple[str, str]]:
    """(run, branch) of the running engines."""
    return {(lab.recording.folder.run, lab.recording.folder.branch) for lab in host().labs() if lab.core == "live"}


async def page(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """A page of a signed-in user."""
    user = await user_of(request)
    return await sync_to_async(render_page)(request, template, context, user, status)


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], user: User, status: int = 200
) -> HttpResponse:
    """The same, rendered in the calling thread, which may access the database."""
    return render(request, template, {**context, "user_name": partial(selectors.shown_name, user)}, status=status)
