"""A recorded class as a standalone page, without a lab or a network."""

import asyncio

import msgspec
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from lab.actions.classes.recorded.export_page import ClassPageContent, class_excerpt
from lab.api.history import json_answer
from lab.api.recorded import Asker, for_class
from lab.archives.temporary import written
from lab.web.alone.class_document import weight_of, write_class_page
from lab.web.recorded.replay_pages import parse_class_instant
from lab.web.transfer_pages import file_answer


@require_GET
@for_class("export")
async def page_file(request: HttpRequest, asker: Asker) -> HttpResponse | StreamingHttpResponse:
    """The page, `from` one instant of class time `to` another; without the voice if `sound` is 0. Raises Refusal: 409
    while the class is live, 404 for an invalid instant, 400 for an empty passage, 413 if the page is too large.
    """
    content = await _content(request, asker)
    has_sound = request.GET.get("sound") != "0"
    file = await written(lambda target: write_class_page(target, content, has_sound=has_sound))
    return await file_answer(file, asker.classroom.title, ".html", "text/html; charset=utf-8")


@require_GET
@for_class("export")
async def page_weight(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The estimated size of the page."""
    found = await asyncio.to_thread(weight_of, await _content(request, asker))
    return json_answer(msgspec.to_builtins(found))


async def _content(request: HttpRequest, asker: Asker) -> ClassPageContent:
    from_us, to_us = (
        parse_class_instant(request.GET[name]) if request.GET.get(name) else None for name in ("from", "to")
    )
    return await class_excerpt(asker.classroom, from_us, to_us)
