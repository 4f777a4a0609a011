"""The page gets one catalogue of its language: its own texts, and the messages of the core and the lab."""

import re

from broker_core.texts import catalogue
from lab.texts.i18n import digest
from tests.support.lab_server import LabServer, Visitor


def test_page_names_the_catalogue_of_its_language(lab_server: LabServer) -> None:
    visitor = Visitor(lab_server)
    address = re.search(r'data-texts="([^"]+)"', visitor.get("/sign-in/", **{"Accept-Language": "zh-CN"}).text)
    assert address is not None
    answer = visitor.get(address[1])
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.json == dict(catalogue("zh-CN"))
    assert answer.json["runs.brokers"] == "{n} 个 broker"
    assert answer.json["failure.timer"].startswith("定时器")


def test_outdated_catalogue_address_serves_the_current_one_uncached(lab_server: LabServer) -> None:
    visitor = Visitor(lab_server)
    answer = visitor.get("/texts/0000000000/en.json")
    assert answer.json == dict(catalogue("en"))
    assert answer.headers["Cache-Control"] == "no-store"
    assert visitor.get(f"/texts/{digest('en')}/de.json").status == 404
