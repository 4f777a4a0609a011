"""The sentences of refusals in Chinese.

A refusal is written where something is refused, in English, with its values in place. What a visitor reads in Chinese
is found by the sentence: `refusals.zh-CN.json` has each one with {0}, {1} for its values. A sentence that it does not
have, such as an error of Kafka, stays as it is.
"""

import json
import re
from functools import cache
from pathlib import Path

CHINESE = Path(__file__).with_name("refusals.zh-CN.json")
_PLACE = re.compile(r"\{(\d)\}")
_WORD = re.compile(r"\w+")


def in_language(sentence: str, language: str) -> str:
    """The sentence in `zh-CN`; in any other language as it is."""
    if language == "zh-CN":
        for pattern, chinese in _sentences():
            if found := pattern.fullmatch(sentence):
                return chinese.format(*(found[f"v{number}"] for number in range(len(found.groups()))))
    return sentence


def sentences(language: str) -> dict[str, str]:
    """Sentences with those in the language, for the page, which shows what failed commands print; none in English.

    Those of one or two words are not among them: they would be found in what Kafka says, too.
    """
    if language != "zh-CN":
        return {}
    return {english: other for english, other in _chinese().items() if len(_WORD.findall(_PLACE.sub("", english))) > 2}


@cache
def _chinese() -> dict[str, str]:
    texts: dict[str, str] = json.loads(CHINESE.read_text(encoding="utf-8"))
    return texts


@cache
def _sentences() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns with their Chinese; those that say most first, so that a sentence finds its own."""
    by_length = sorted(_chinese().items(), key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return tuple((_pattern(english), chinese) for english, chinese in by_length)


def _pattern(english: str) -> re.Pattern[str]:
    parts = _PLACE.split(english)
    return re.compile("".join(f"(?P<v{part}>.*)" if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.S)
