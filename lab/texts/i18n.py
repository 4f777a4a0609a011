"""The words of the pages, in English and Chinese: one catalogue for the templates and the browser's modules.

Not Django's gettext: the browser and the core need catalogues without Django, and one format is enough.
"""

import hashlib
import json
from functools import cache

from broker_core.texts import LANGUAGES, catalogue, render, text
from broker_core.texts.text import Value

__all__ = ["LANGUAGES", "catalogue", "digest", "merged", "translate"]

DIGEST_LENGTH = 10


def translate(language: str, key: str, **values: Value) -> str:
    """The text of `key` with `{name}` replaced. Where `n` is 1 and `key.one` exists, that one is taken.

    Raises `TextError` for an unknown key: a page with a hole in it is a defect.
    """
    return render(text(key, **values), language)


@cache
def merged(language: str) -> bytes:
    """All texts of a language as the page gets them: its own, and those of the core and the lab that it renders."""
    return json.dumps(dict(catalogue(language)), ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


@cache
def digest(language: str) -> str:
    """Returns the digest of the merged catalogue: it is part of its address, so that a browser may cache it."""
    return hashlib.sha256(merged(language)).hexdigest()[:DIGEST_LENGTH]
