"""The measures of two sets of runs side by side, from stored tables."""

import asyncio
from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from lab import selectors
from lab.analytics.compare import MEASURES
from lab.analytics.figures.parts import Rows, Words
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.csv_text import csv_of
from lab.analytics.store.reading import rows
from lab.preferences import preferences_of
from lab.recordings.folder import branch_folder
from lab.recordings.summary import read_summary
from lab.rights import user_of
from lab.studies.between import charts_of, pairs_by_seed
from lab.texts.refusal import Refusal

MAX_RUNS = 500
"""On a side."""
SUMMARY = "gold.run_summary"
LATENCY = "gold.commit_latency"
SIDES = ("left", "right")


@login_required
@ensure_csrf_cookie
@require_GET
async def page(request: HttpRequest) -> HttpResponse:
    """The choice of two sets of runs, and their differences. Raises Refusal (404) for a branch of another user."""
    user = await user_of(request)
    choices = await sync_to_async(selectors.branch_choices)(user)
    left, right = _sides(request, choices)
    context = {
        "choices": [{**one, "is_left": one["address"] in left, "is_right": one["address"] in right} for one in choices],
        "eras": sorted({str(one["era"]) for one in choices}, key=_era),
        "query": request.GET.urlencode() if left and right else "",
        "one_each": (left[0], right[0]) if len(left) == len(right) == 1 else None,
        "user_name": await sync_to_async(selectors.shown_name)(user),
    }
    response = await sync_to_async(render)(request, "compare/measures.html", context)
    # Plotly writes style attributes (lab.web.middleware).
    response.inline_styles = True  # type: ignore[attr-defined]
    return response


@login_required
@require_GET
async def charts(request: HttpRequest) -> HttpResponse:
    """The charts with their sentences and tables; runs without tables, and those with newer events; whether runs were
    paired. Raises Refusal (404) for a branch of another user.
    """
    left, right, words = await _asked(request)
    read = await asyncio.to_thread(_read, (left, right))
    found = await asyncio.to_thread(charts_of, *read, words)
    summaries = {row["branch"]: row for side in read[0] for row in side}
    answer = {
        "charts": found,
        "missing": [one for one in (*left, *right) if one not in summaries],
        "behind": await asyncio.to_thread(_behind, summaries),
        "is_paired": pairs_by_seed(*read[0]),
    }
    response = JsonResponse(answer)
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_GET
async def csv(request: HttpRequest, name: str) -> HttpResponse:
    """The table of one chart. Raises Refusal (404) for an unknown chart or branch."""
    left, right, words = await _asked(request)
    found = await asyncio.to_thread(lambda: charts_of(*_read((left, right)), words))
    chart = next((one for one in found if one["measure"] == name), None)
    if chart is None:
        raise Refusal(
            "refusal.no_chart", 404, chart=name[:40], charts=", ".join(one["measure"] for one in found) or "-"
        )
    table = chart["table"]
    response = HttpResponse(csv_of(table["columns"], table["rows"]), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="measures-{name}.csv"'
    return response


async def _asked(request: HttpRequest) -> tuple[list[str], list[str], Words]:
    user = await request.auser()
    choices = await sync_to_async(selectors.branch_choices)(user)
    left, right = _sides(request, choices)
    return left, right, Words(preferences_of(request).language)


def _sides(request: HttpRequest, choices: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
    known = {one["address"] for one in choices}
    found = []
    for side in SIDES:
        addresses = list(dict.fromkeys(request.GET.getlist(side)))
        for address in addresses:
            if address not in known:
                raise Refusal("refusal.no_branch", 404, branch=address[:80])
        if len(addresses) > MAX_RUNS:
            raise Refusal("refusal.many_runs", limit=MAX_RUNS, count=len(addresses))
        found.append(addresses)
    return found[0], found[1]


def _read(sides: Sequence[Sequence[str]]) -> tuple[list[Rows], list[Rows]]:
    """The stored rows of both sides: summaries, and distributions of latencies."""
    store = Store.at(str(settings.TABLES))
    build = store.newest()
    if build is None:
        return [[], []], [[], []]
    columns = {
        SUMMARY: ("run", "branch", "seed", "events", *MEASURES),
        LATENCY: ("branch", "acks", "share", "latency_us", "batches"),
    }
    summaries, latencies = ([_rows(store, build, table, side, columns[table]) for side in sides] for table in columns)
    return summaries, latencies


def _rows(store: Store, build: Build, table: str, branches: Sequence[str], columns: Sequence[str]) -> Rows:
    found = rows(store, build, table, branches, columns)
    if found is None:
        return []
    listed: list[dict[str, Any]] = found.to_pylist()
    return listed


def _behind(summaries: dict[str, dict[str, Any]]) -> list[str]:
    """The branches with events newer than their tables."""
    store = Store.at(str(settings.TABLES))
    build = store.newest()
    made_to = {} if build is None else build.made_to(SUMMARY)
    behind = []
    for address in summaries:
        run, _, branch = address.partition("/")
        if read_summary(branch_folder(run, branch, runs=settings.RUNS)).last_seq > made_to.get(address, 0):
            behind.append(address)
    return behind


def _era(era: str) -> tuple[int, ...]:
    return tuple(int(part) for part in era.split("."))
