"""What the lab refuses, in the language of its reader: over HTTP, on a page, over the socket, in the console."""

import html

import pytest

from broker_core.texts import LANGUAGES, render, text
from lab.texts.refusal import Refusal
from tests.support.lab_server import Visitor


@pytest.fixture(params=LANGUAGES)
def language(visitor: Visitor, request: pytest.FixtureRequest) -> str:
    """The language that the visitor has chosen."""
    visitor.get(f"/runs/?language={request.param}")
    return str(request.param)


def test_api_refuses_in_the_visitors_language(visitor: Visitor, language: str) -> None:
    answer = visitor.get("/api/runs/nosuch/main/index.json")
    assert answer.status == 404
    assert answer.json == Refusal("refusal.no_branch_of_run", run="nosuch", branch="main").as_json(language)
    assert (answer.json["what"] == "Run 'nosuch' has no branch 'main'.") == (language == "en")


def test_form_is_refused_in_the_visitors_language(visitor: Visitor, language: str) -> None:
    answer = visitor.post("/runs/new", name="a run", seed="1.5", brokers="3")
    assert answer.status == 400
    refusal = Refusal("refusal.invalid_seed", value="1.5", min=0, max=2**32 - 1).as_json(language)
    shown = html.unescape(answer.text)
    assert all(sentence in shown for sentence in refusal.values()), refusal


def test_socket_refuses_in_the_visitors_language_and_the_console_keeps_codes(visitor: Visitor, language: str) -> None:
    with visitor.socket(visitor.new_run()) as client:
        refused = client.ask({"k": "do", "line": "broker kill 9"})
        what = text("shell.unknown_broker.what", broker="9")
        assert (refused["k"], refused["what"]) == ("no", render(what, language))
        invalid = client.ask({"k": "time", "op": "rate", "value": 1e9})
        assert invalid["what"] == render(text("refusal.invalid_rate.what", rate=1e9), language)
        # what a command prints is recorded, so it is in no language
        assert client.run("broker thaw 1", exit_code=1) == [
            "! shell.broker_state?broker=1&state=up&states=frozen&verb=thaw"
        ]
