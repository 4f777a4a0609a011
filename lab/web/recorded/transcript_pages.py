"""The transcript of a class, for screen readers and for printing."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.actions.classes.recorded.transcript import Part, transcript_of
from lab.api.recorded import Asker, for_class
from lab.models import Class
from lab.preferences import preferences_of
from lab.web.pages import page
from lab.web.recorded.replay_pages import class_address_time, shown_class_instant


@never_cache
@require_GET
@for_class("see")
async def transcript(request: HttpRequest, asker: Asker) -> HttpResponse:
    """The whole transcript, or with `?q=` the matching lines; `?captions=zh-CN` selects the language of the captions.

    Raises Refusal: 404 if the user is not in the class, 400 if the query is too long.
    """
    classroom, language = asker.classroom, preferences_of(request).language
    query = " ".join(request.GET.get("q", "").split())
    found = await transcript_of(asker.me, language, request.GET.get("captions", language), query)
    lines = sum(len(part.lines) for part in found.parts)
    context = {
        "classroom": classroom,
        "is_live": classroom.state != Class.State.ENDED,
        "query": query,
        "parts": [_shown(part) for part in found.parts],
        "lines": lines,
        "left": found.left,
        "spoken": found.spoken,
        "languages": found.languages,
    }
    return await page(request, "class/transcript.html", context)


def _shown(part: Part) -> dict[str, object]:
    lines = [
        {
            "at": shown_class_instant(one.at_us),
            "address": class_address_time(one.at_us),
            "kind": one.kind,
            "text": one.text,
            "lang": one.language,
        }
        for one in part.lines
    ]
    return {
        "at": shown_class_instant(part.at_us),
        "address": class_address_time(part.at_us),
        "title": part.title,
        "lines": lines,
    }
