"""The replay of a recorded class, and of a live one for latecomers."""

import re

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from lab.actions.classes.recorded.chapters import shown_chapters
from lab.actions.classes.recordings import instant_within, look_into
from lab.api.recorded import Asker, for_class
from lab.models import Class
from lab.preferences import preferences_of
from lab.rights import may
from lab.texts.refusal import Refusal
from lab.web.pages import page

_INSTANT = re.compile(
    r"(?:(?P<hours>\d{1,2}):(?=\d\d:))?(?P<minutes>\d{1,4}):(?P<seconds>[0-5]\d)(?:\.(?P<fraction>\d{1,6}))?"
)
_US = 1_000_000


@never_cache
@ensure_csrf_cookie
@require_GET
@for_class("see")
async def replay(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The page; `?at=31:42.500` is the instant of class time to start at. Raises Refusal (404) if the user is not in
    the class, or the instant is malformed.
    """
    classroom = asker.classroom
    at_us = await instant_within(classroom, parse_class_instant(request.GET.get("at", "0:00")))
    length_us = await look_into(classroom, lambda found: found.length_us)
    chapters = await shown_chapters(classroom, preferences_of(request).language)
    context = {
        "classroom": classroom,
        "me": asker.me,
        "is_live": classroom.state != Class.State.ENDED,
        "is_staff": await sync_to_async(may)(asker.user, classroom, "staff"),
        "at_us": at_us,
        "length": shown_class_instant(length_us),
        "chapters": [{"at": shown_class_instant(one["at_us"]), "title": one["title"]} for one in chapters],
    }
    response = await page(request, "class/replay.html", context)
    # Plotly writes style attributes (lab.web.middleware); staff may have charts.
    response.inline_styles = context["is_staff"]  # type: ignore[attr-defined]
    return response


def parse_class_instant(text: str) -> int:
    """`31:42.500` or `1:05:00` as microseconds of class time. Raises Refusal (404) for anything else."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise Refusal("refusal.invalid_class_instant", 404, instant=text[:40])
    minutes = int(found["hours"] or 0) * 60 + int(found["minutes"])
    fraction = int((found["fraction"] or "").ljust(6, "0"))
    return (minutes * 60 + int(found["seconds"])) * _US + fraction


def class_address_time(at_us: int) -> str:
    """Class time as used in addresses: `31:42.500`."""
    ms = max(0, at_us) // 1_000
    return f"{ms // 60_000}:{ms // 1_000 % 60:02d}.{ms % 1_000:03d}"


def shown_class_instant(at_us: int) -> str:
    """Class time as `31:42`."""
    minutes, seconds = divmod(max(0, at_us) // _US, 60)
    return f"{minutes}:{seconds:02d}"
