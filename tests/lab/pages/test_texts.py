"""The texts of the pages: the same keys in both languages, and a text for each key that a page or module asks for."""

import re

import pytest

from lab.texts.i18n import LANGUAGES, catalogue, translate
from tests.support.paths import ROOT

EN, ZH = (catalogue(language) for language in LANGUAGES)
SOURCES = [
    *ROOT.glob("static/lab/ui/**/*.js"),
    *ROOT.glob("static/lab/draw/**/*.js"),
    *ROOT.glob("templates/**/*.html"),
]
#: `t("key"`, `this.#t("key"`, `{% t "key" %}`, `t(condition ? "one" : "other"`
ASKED = [
    re.compile(r'\bt\("([a-z_]+\.[\w.]+)"'),
    re.compile(r"""{%\s*t(?:_other)?\s+["']([a-z_]+\.[\w.]+)["']"""),
    re.compile(r'\bt\([^()"]*\? "([a-z_]+\.[\w.]+)" : "[a-z_]+\.[\w.]+"'),
    re.compile(r'\bt\([^()"]*\? "[a-z_]+\.[\w.]+" : "([a-z_]+\.[\w.]+)"'),
]


def asked_keys() -> dict[str, str]:
    """Keys that sources name in full, with the file that does."""
    return {
        key: str(path.relative_to(ROOT))
        for path in SOURCES
        for pattern in ASKED
        for key in pattern.findall(path.read_text(encoding="utf-8"))
    }


def test_the_two_languages_have_the_same_keys() -> None:
    # Chinese has no singular of its own.
    assert {key for key in EN if not key.endswith(".one")} == {key for key in ZH if not key.endswith(".one")}


def test_every_text_takes_the_same_values_in_both_languages() -> None:
    def values(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    different = {key for key in ZH if key in EN and not key.endswith(".one") and values(EN[key]) != values(ZH[key])}
    assert different == set()


def test_every_key_that_a_page_asks_for_has_a_text() -> None:
    asked = asked_keys()
    assert len(asked) > 300
    assert {key: path for key, path in asked.items() if key not in EN} == {}


def test_chinese_is_chinese() -> None:
    """Names that are never translated apart, a text in the Chinese catalogue has Chinese in it."""
    plain = {key for key, text in ZH.items() if not re.search(r"[\u4e00-\u9fff]", text)}
    assert {key for key in plain if re.search(r"[a-z]{3,} [a-z]{3,}", ZH[key])} == {"console.placeholder"} & plain


def test_one_has_its_own_text() -> None:
    assert translate("en", "runs.brokers", n=1) == "1 broker"
    assert translate("en", "runs.brokers", n=3) == "3 brokers"
    assert translate("zh-CN", "runs.brokers", n=1) == "1 个代理"


def test_a_hole_in_a_page_is_a_defect() -> None:
    with pytest.raises(KeyError):
        translate("en", "no.such")
    with pytest.raises(KeyError):
        catalogue("de")
