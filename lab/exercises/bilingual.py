"""A text of an exercise's content, in both languages."""

from typing import Literal

import msgspec

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


class Bilingual(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same text in English and in Chinese."""

    en: str
    zh: str

    def __post_init__(self) -> None:
        if not self.en.strip() or not self.zh.strip():
            raise ValueError("a text must exist in both languages")

    def in_language(self, language: str) -> str:
        """The text in a language of the lab: `en` or `zh-CN`."""
        return self.zh if language == "zh-CN" else self.en
