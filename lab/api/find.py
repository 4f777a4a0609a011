"""HTTP API of the pages' search field."""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from lab.api.history import json_answer
from lab.course.find import found_by_search
from lab.course.loader import course
from lab.preferences import preferences_of
from lab.texts.refusal import Refusal


@require_GET
async def everything(request: HttpRequest) -> HttpResponse:
    """Lessons, the visitor's runs and the terms of the glossary; the page searches in them."""
    user = await request.auser()
    if not isinstance(user, User):
        raise Refusal("refusal.not_signed_in", 401)
    return json_answer(await sync_to_async(found_by_search)(user, course(), preferences_of(request).language))
