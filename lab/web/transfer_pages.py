"""Exports and imports runs as files."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import IO, Any, TypeVar
from urllib.parse import quote

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.actions.export_page import excerpt_of
from lab.actions.export_run import export_run
from lab.actions.import_run import import_run
from lab.archives.manifest import SUFFIX
from lab.archives.temporary import written
from lab.models import Branch
from lab.recordings.history import parse_seconds
from lab.runtime.host import host
from lab.texts.refusal import Refusal
from lab.web.alone.document import write_page
from lab.web.alone.program import version
from lab.web.pages import runs_page, user_of

_CHUNK = 256 * 1024

T = TypeVar("T")


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
    carried = await excerpt_of(host(), found, from_us, to_us)
    about = {**carried.about, "version": version()}
    file = await written(lambda target: write_page(target, carried.excerpt, about, carried.bookmarks))
    return await file_answer(file, found.run.name or found.run.slug, ".html", "text/html; charset=utf-8")


def import_view(
    take: Callable[[User, IO[bytes]], Awaitable[T]],
    opened: Callable[[T], HttpResponse],
    refused: Callable[[HttpRequest, Refusal], Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]:
    """A view that imports the file of a form with `take`, and then opens what was made. A rejected file leaves nothing
    behind; `refused` shows the reason.
    """

    @login_required
    @require_POST
    async def import_file(request: HttpRequest) -> HttpResponse:
        try:
            made = await take(await user_of(request), _given_file(request))
        except Refusal as refusal:
            return await refused(request, refusal)
        return opened(made)

    return import_file


def _given_file(request: HttpRequest) -> IO[bytes]:
    given = request.FILES.get("file")
    if given is None or given.file is None:
        raise Refusal("refusal.no_file_chosen", field="file")
    return given.file


def _opened_branch(branch: Branch) -> HttpResponse:
    return redirect("lab", branch.run.slug, branch.name)


import_file = import_view(import_run, _opened_branch, runs_page)


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
