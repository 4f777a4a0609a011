"""Messages as codes: how they are written, read and rendered."""

import pytest

from broker_core.texts import LANGUAGES, Text, TextError, catalogue, escape, register, render, text
from broker_core.texts.catalogues import forget


@pytest.fixture
def greetings(tmp_path):
    """A folder of catalogues of this test's own."""
    for language, templates in {
        "en": '{"greeting.day": "a day", "greeting.hello": "hello {name}, for {why}", "greeting.n": "{n} days", '
        '"greeting.n.one": "{n} day"}',
        "zh-CN": '{"greeting.day": "一天", "greeting.hello": "{name}，你好（{why}）", "greeting.n": "{n} 天"}',
    }.items():
        (tmp_path / language).mkdir()
        (tmp_path / language / "greeting.json").write_text(templates, encoding="utf-8")
    register(tmp_path)
    yield tmp_path
    forget(tmp_path)


@pytest.mark.parametrize(
    "message",
    [
        text("greeting.day"),
        text("greeting.hello", name="c1", why=text("greeting.day")),
        text("greeting.hello", name="a & (b) = 100 %?\n中", why=""),
        text("greeting.hello", name=text("greeting.hello", name="(", why=text("greeting.n", n="1")), why=")"),
        text("event.HighWatermarkAdvanced", replica="orders-0@b1", to_offset="7"),
    ],
)
def test_code_is_one_line_of_ascii_and_reads_back(message: Text) -> None:
    assert message.code.isascii()
    assert not any(one.isspace() for one in message.code)
    assert Text.parse(message.code) == message


def test_code_is_the_same_whatever_the_order_of_its_values() -> None:
    assert text("greeting.hello", why="b", name="a").code == "greeting.hello?name=a&why=b"
    nested = text("greeting.hello", name="orders-0@b1", why=text("greeting.n", n=5))
    assert nested.code == "greeting.hello?name=orders-0@b1&why=(greeting.n?n=5)"


@pytest.mark.parametrize(
    "prose",
    [
        "",
        "kill",
        "the batch claims 90 bytes, 12 are left",
        "MESSAGE_TOO_LARGE",
        "Greeting.day",
        "greeting.day?",
        "greeting.day?name",
        "greeting.hello?name=a b",
        "greeting.hello?name=(greeting.day",
        "greeting.hello?name=(a day)",
        "greeting.hello?name=%FF",
        "greeting.hello?name=a&",
        "greeting.day: and more",
    ],
)
def test_prose_is_not_parsed_as_a_code(prose: str) -> None:
    assert Text.parse(prose) is None
    assert [render(prose, language) for language in LANGUAGES] == [prose, prose]


def test_message_is_rendered_in_each_language_with_the_messages_in_it(greetings) -> None:
    message = text("greeting.hello", name="c1", why=text("greeting.day"))
    assert str(message) == render(message) == "hello c1, for a day"
    assert render(message, "zh-CN") == render(message.code, "zh-CN") == "c1，你好（一天）"


def test_singular_has_its_own_template(greetings) -> None:
    assert [render(text("greeting.n", n=n)) for n in (1, 2)] == ["1 day", "2 days"]
    assert [render(f"greeting.n?n={n}") for n in (1, 2)] == ["1 day", "2 days"]
    assert render(text("greeting.n", n=1), "zh-CN") == "1 天"


def test_braces_in_a_value_are_not_placeholders(greetings) -> None:
    assert render(f"greeting.hello?name={escape('{why} & more')}&why=fun") == "hello {why} & more, for fun"


def test_message_without_a_template_or_a_value_is_a_defect(greetings) -> None:
    with pytest.raises(TextError, match=r"no text greeting\.evening in zh-CN"):
        render(text("greeting.evening"), "zh-CN")
    with pytest.raises(TextError, match=r"greeting\.hello needs a value for \{why\}"):
        render(text("greeting.hello", name="c1"))
    with pytest.raises(TextError, match="no catalogue in the language 'de'"):
        catalogue("de")
    # In a recording it may be a message of another version.
    assert render("greeting.evening?n=1") == "greeting.evening?n=1"
    assert render("greeting.hello?name=c1") == "greeting.hello?name=c1"


def test_duplicate_id_is_a_defect(greetings) -> None:
    (greetings / "en" / "other.json").write_text('{"greeting.day": "again"}')
    with pytest.raises(TextError, match=r"greeting\.day of other\.json"):
        catalogue.cache_clear()
        catalogue("en")
