"""Tables and their columns are described in the languages of the pages."""

import json
from typing import Any

from django.core.management import call_command

from broker_core.texts import LANGUAGES
from broker_core.texts.catalogues import PLACE, read
from lab.analytics.build.events import STORED
from lab.analytics.tables.described import CATALOGUES, DECLARED_IN, described
from tests.support.catalogues import CHINESE
from tests.support.classroom.people import make_user
from tests.support.lab_server import LabServer, Visitor

TERMS = {"API", "broker", "follower", "generation", "leader", "leader、isr 或 outisr（不在 ISR 中）"}
"""Descriptions that are a term of Kafka alone."""
NAMES = {"API", "COMMIT", "Empty", "Fetch", "ISR", "JSON", "KLL", "Kafka", "Produce", "ZooKeeper"}
"""Of Kafka and others, with which the description of a column may begin."""


def ids() -> dict[str, str]:
    found = {f"table.{table.name}": table.doc for table in STORED.values()}
    for table in STORED.values():
        found |= {f"table.{table.name}.{column.name}": column.doc for column in table.stored}
    return found


def test_every_table_and_column_is_described_in_each_language() -> None:
    assert all(ids().values())
    for language in set(LANGUAGES) - {DECLARED_IN}:
        texts = read([CATALOGUES], language)
        assert texts.keys() ^ ids().keys() == set()
        assert list(texts) == sorted(texts)
        untold = {id for id, text in texts.items() if not CHINESE.search(text) and text not in TERMS}
        assert {id for id in untold if "COMMIT" not in texts[id]} == set()
        assert not any(PLACE.search(text) or "偏移量" in text for text in texts.values())


def test_tables_are_described_by_sentences_and_columns_by_phrases() -> None:
    for language, stop in ((DECLARED_IN, "."), ("zh-CN", "。")):
        for table in described(STORED, language):
            phrases = {column["name"]: column["doc"] for column in table["columns"]}
            assert table["doc"].endswith(stop), table["name"]
            assert not {name for name, phrase in phrases.items() if phrase[-1] in ".。;；,，"}, table["name"]
    for table in described(STORED):
        assert table["doc"][0].isupper(), table["name"]
        # A phrase begins with a capital only if a name does.
        words = {column["doc"].partition(" ")[0].rstrip(",") for column in table["columns"]}
        assert not {word for word in words if word[0].isupper()} - NAMES, table["name"]


def test_same_description_has_the_same_translation() -> None:
    texts = read([CATALOGUES], "zh-CN")
    said: dict[str, set[str]] = {}
    for id, declared in ids().items():
        said.setdefault(declared, set()).add(texts[id])
    assert {declared: words for declared, words in said.items() if len(words) > 1} == {}


def test_the_page_and_the_command_describe_tables_in_the_asked_language(lab_server: LabServer, capsys: Any) -> None:
    make_user("reader-of-tables")
    visitor = Visitor(lab_server).sign_in_as("reader-of-tables")
    assert "An election of a leader for a partition that had one before, or" in visitor.get("/tables/").text
    page = visitor.get("/tables/?language=zh-CN").text
    assert "为已有过 leader 的分区选举 leader，" in page and "新 leader 接任的时刻" in page
    assert "An election of a leader" not in page
    call_command("analytics", "tables", "--language", "zh-CN", "--json")
    assert json.loads(capsys.readouterr().out) == described(STORED, "zh-CN")
    call_command("analytics", "tables", "--columns")
    assert "An election of a leader" in capsys.readouterr().out
