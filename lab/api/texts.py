"""The catalogue of texts that the page renders messages with."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from lab.api.packing import answer, packed, takes_packed
from lab.texts.i18n import LANGUAGES, digest, merged
from lab.texts.refusal import no_page

KEEP_FOR_EVER = "public, max-age=31536000, immutable"


@cache
def _packed_texts(language: str) -> bytes:
    return packed(merged(language))


@require_safe
def texts(request: HttpRequest, hash: str, language: str) -> HttpResponse:
    """All texts of one language: id to template. The address of an older catalogue returns the current one,
    uncached.
    """
    if language not in LANGUAGES:
        raise no_page(request.path)
    is_packed = takes_packed(request)
    response = answer(
        _packed_texts(language) if is_packed else merged(language), "application/json", is_packed=is_packed
    )
    response["Cache-Control"] = KEEP_FOR_EVER if hash == digest(language) else "no-store"
    return response
