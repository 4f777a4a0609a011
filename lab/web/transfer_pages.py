"""Exports and imports runs as files."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import IO, Any
from urllib.parse import quote

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.actions.execution import ImportProgress
from lab.actions.export_page import excerpt_of
from lab.actions.export_run import export_run
from lab.actions.import_run import import_run
from lab.actions.imports import Import, Kind, Take, begin_import, cancel_import, followed_import, kept_file
from lab.api.history import json_answer
from lab.archives.manifest import SUFFIX
from lab.archives.temporary import written
from lab.preferences import preferences_of
from lab.recordings.history import parse_seconds
from lab.rights import user_of
from lab.runtime.host import host
from lab.texts.refusal import Refusal
from lab.web.alone.document import write_page
from lab.web.alone.program import version
from lab.web.pages import runs_page

_CHUNK = 256 * 1024


@login_required
@require_GET
async def export(request: HttpRequest, run: str) -> HttpResponse | StreamingHttpResponse:
    """The run as a file. Raises Refusal (404, 403) without the right to export it."""
    found = await sync_to_async(selectors.run_of)(await user_of(request), run, "export")
    return await file_answer(await export_run(host(), found), found.name or found.slug, SUFFIX)


@login_required
@require_GET
async def page_file(request: HttpRequest, run: str, branch: str) -> HttpResponse | StreamingHttpResponse:
    """The branch as a standalone page, from the instant `from` to the instant `to`, in seconds.

    Raises Refusal: 404 and 403 without the right to export it, 404 for an invalid instant, 413 if the page would be too
    large.
    """
    found = await sync_to_async(selectors.branch_of)(await user_of(request), run, branch, "export")
    from_us, to_us = (parse_seconds(request.GET.get(name, "")) for name in ("from", "to"))
    content = await excerpt_of(host(), found, from_us, to_us)
    about = {**content.about, "version": version()}
    file = await written(lambda target: write_page(target, content.excerpt, about, content.bookmarks))
    return await file_answer(file, found.run.name or found.run.slug, ".html", "text/html; charset=utf-8")


def import_view(
    kind: Kind, take: Take, refused: Callable[[HttpRequest, Refusal], Awaitable[HttpResponse]]
) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]:
    """A view that imports the file of a form with `take`. A request for JSON gets the number of the import, which the
    page follows; any other waits until it is complete, and opens what was made, or `refused` shows the reason. A
    rejected file leaves nothing behind.
    """

    @login_required
    @require_POST
    async def import_file(request: HttpRequest) -> HttpResponse:
        user, is_followed = await user_of(request), request.headers.get("Accept") == "application/json"
        try:
            source = kept_file(_given_file(request))
            if is_followed:
                return json_answer({"import": begin_import(user, kind, source, take).id}, status=202)
            with source:
                return redirect(await take(user, source, ImportProgress()))
        except Refusal as refusal:
            if is_followed:
                return json_answer(refusal.as_json(preferences_of(request).language), status=refusal.status)
            # Also one that is not about the file is shown in its form.
            refusal.field = "file"
            return await refused(request, refusal)

    return import_file


def _given_file(request: HttpRequest) -> IO[bytes]:
    given = request.FILES.get("file")
    if given is None or given.file is None:
        raise Refusal("refusal.no_file_chosen", field="file")
    return given.file


async def _take_run(user: User, source: IO[bytes], progress: ImportProgress) -> str:
    branch = await import_run(user, source, progress)
    return reverse("lab", args=(branch.run.slug, branch.name))


import_file = import_view("run", _take_run, runs_page)


@never_cache
@login_required
@require_GET
async def import_progress(request: HttpRequest, id: str) -> HttpResponse:
    """How far an import is; `address` once it is done. Raises Refusal (404) for an unknown one."""
    return _import_answer(request, followed_import(await user_of(request), id))


@login_required
@require_POST
async def end_import(request: HttpRequest, id: str) -> HttpResponse:
    """Cancels an import, unless it is complete. Raises Refusal (404) for an unknown one."""
    return _import_answer(request, await cancel_import(await user_of(request), id))


def _import_answer(request: HttpRequest, found: Import) -> HttpResponse:
    stage, done, of = found.progress.now
    error = found.refusal.as_json(preferences_of(request).language) if found.refusal else None
    now = {"state": found.state, "stage": stage, "done": done, "of": of, "address": found.address, "error": error}
    return json_answer(now)


async def file_answer(file: IO[bytes], name: str, suffix: str, kind: str = "application/zip") -> StreamingHttpResponse:
    """A download with a file name, sent in chunks."""
    size = await asyncio.to_thread(file.seek, 0, 2)
    file.seek(0)
    response = StreamingHttpResponse(_chunks(file), content_type=kind)
    response["Content-Length"] = str(size)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "highwater"
    full = quote(f"{name}{suffix}", safe="")
    response["Content-Disposition"] = f"attachment; filename=\"{plain}{suffix}\"; filename*=UTF-8''{full}"
    return response


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while data := await asyncio.to_thread(file.read, _CHUNK):
            yield data
