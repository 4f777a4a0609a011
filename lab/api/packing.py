"""Compressed responses for static contents: scripts, styles and texts also load over slow connections."""

import gzip

from django.http import HttpRequest, HttpResponse

MIN_BYTES = 1_000
"""Shorter ones are sent as they are."""
LEVEL = 6


def packed(content: bytes) -> bytes:
    """The same bytes for the same content."""
    return gzip.compress(content, LEVEL, mtime=0)


def takes_packed(request: HttpRequest) -> bool:
    """Whether the browser unpacks gzip."""
    accepted = request.headers.get("Accept-Encoding", "")
    return any(one.partition(";")[0].strip() == "gzip" for one in accepted.split(","))


def answer(content: bytes, kind: str, *, is_packed: bool) -> HttpResponse:
    """A compressed response, or an uncompressed one for browsers that do not support it."""
    response = HttpResponse(content, content_type=kind)
    response["Vary"] = "Accept-Encoding"
    if is_packed:
        response["Content-Encoding"] = "gzip"
    return response
