"""Exports and imports recorded classes as files."""

from typing import IO

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from lab.actions.classes.demonstration import open_demonstration
from lab.actions.classes.transfer_class import export_class, import_class
from lab.actions.execution import ImportProgress
from lab.api.recorded import Asker, for_class
from lab.classroom.recorded.class_file import SUFFIX
from lab.rights import user_of
from lab.texts.refusal import Refusal
from lab.web.classes.class_pages import classes_page
from lab.web.transfer_pages import file_answer, import_view


@require_GET
@for_class("export")
async def export(request: HttpRequest, asker: Asker) -> HttpResponse | StreamingHttpResponse:
    """The recording as a file. Raises Refusal while the class is live."""
    return await file_answer(await export_class(asker.classroom), asker.classroom.title, SUFFIX)


@login_required
@require_POST
async def demonstration(request: HttpRequest) -> HttpResponse:
    """Opens the recorded class that comes with the lab."""
    try:
        made = await open_demonstration(await user_of(request))
    except Refusal as refusal:
        return await classes_page(request, refusal)
    return redirect("class-replay", made.slug)


async def _take_class(user: User, source: IO[bytes], progress: ImportProgress) -> str:
    return reverse("class-replay", args=((await import_class(user, source, progress=progress)).slug,))


import_file = import_view("class", _take_class, classes_page)
