"""What is refused in three messages."""

import json
from pathlib import Path

import pytest

from broker_core.events.console import shown
from broker_core.shell.grammar.parser import ShellError
from broker_core.texts import Rejection, TextError, register, render, text
from broker_core.texts.catalogues import forget


@pytest.fixture
def damaged(tmp_path: Path):
    """Catalogues in which one rejection lacks a message, and another one requires a value that is not given."""
    messages = {"trial.short.what": "w", "trial.short.expected": "e", "trial.wide.what": "{seed} {brokers}"}
    for language in ("en", "zh-CN"):
        (tmp_path / language).mkdir()
        (tmp_path / language / "trial.json").write_text(json.dumps(messages), encoding="utf-8")
    register(tmp_path)
    yield tmp_path
    forget(tmp_path)


def test_rejection_is_three_sentences_in_the_readers_language() -> None:
    refused = ShellError("shell.unknown_broker", broker="9", brokers="1, 2, 3", example="broker ... 1")
    assert (refused.id, refused.what) == (
        "shell.unknown_broker",
        text("shell.unknown_broker.what", broker="9", brokers="1, 2, 3", example="broker ... 1"),
    )
    assert str(refused) == "Unknown broker '9'. Expected one of 1, 2, 3. Name one of them, as in: broker ... 1"
    assert render(refused.what, "zh-CN") == "没有 broker“9”。"
    assert render(refused.codes["expected"], "zh-CN") == "应为以下之一：1, 2, 3。"


def test_catalogues_share_common_messages() -> None:
    refused = ShellError.of(
        text("shell.sleep_incomplete"),
        text("shell.usage", forms="sleep TIME"),
        text("shell.type_help", command="sleep"),
    )
    assert isinstance(refused, ShellError) and refused.id == "shell.sleep_incomplete"
    assert render(refused.expected) == "Expected: sleep TIME"


def test_catalogue_that_lacks_a_message_or_a_value_is_named(damaged: Path) -> None:
    with pytest.raises(TextError, match=r"trial\.short\.todo"):
        str(Rejection("trial.short"))
    with pytest.raises(TextError, match=r"trial\.wide\.what needs a value for {brokers}"):
        render(Rejection("trial.wide", seed=1).what)


def test_terminal_shows_messages_of_the_lab_in_english_and_kafkas_as_they_are() -> None:
    assert shown("! shell.no_producer?name=p1") == "! No producer is named p1; producer open p1 opens one."
    for line in ("! Error while executing topic command : boom", "shell.no_producer?name=p1", "! No producer runs."):
        assert shown(line) == line
