"""The words of the pages, in English and Chinese: one catalogue for the templates and the browser's modules."""

import json
from functools import cache
from pathlib import Path

from django.conf import settings

LANGUAGES = ("en", "zh-CN")


@cache
def catalogue(language: str) -> dict[str, str]:
    """Message key to text. Raises `KeyError` for a language that the pages do not have."""
    if language not in LANGUAGES:
        raise KeyError(language)
    path = Path(settings.BASE_DIR) / "static" / "lab" / "i18n" / f"{language}.json"
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return texts


def translate(language: str, key: str, **values: object) -> str:
    """The text of `key` with `{name}` replaced. Where `n` is 1 and `key.one` exists, that one is taken.

    Raises `KeyError` for an unknown key: a page with a hole in it is a defect.
    """
    texts = catalogue(language)
    if values.get("n") == 1 and f"{key}.one" in texts:
        key = f"{key}.one"
    text = texts[key]
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text
