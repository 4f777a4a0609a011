"""HTTP API of the pages' search field."""

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from lab.api.history import json_answer
from lab.course.find import found_by_search
from lab.course.loader import course
from lab.preferences import preferences_of
from lab.rights import user_of


@require_GET
async def everything(request: HttpRequest) -> HttpResponse:
    """Lessons, the visitor's runs and the terms of the glossary; the page searches in them."""
    user = await user_of(request)
    return json_answer(await sync_to_async(found_by_search)(user, course(), preferences_of(request).language))
