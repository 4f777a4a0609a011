"""Regular expressions of users: those whose matching could take very long are refused."""

import re

import pytest

from broker_core.config_defs.patterns import RefusedPattern, bounded_pattern
from broker_core.refusals import ShellError
from tests.support.shell_runs import ShellRun, refused

NAME = "a" * 40
SLOW = [
    "(a+)+b",
    "(a|a)*b",
    "(.*)*x",
    "a*a*a*a*b",
    "(a*)*+b",
    "(a??)*b",
    "(a{1,2})+b",
    "([a-z]+)*x",
    "(?:a|b|ab)*c",
    "(x+x+)+y",
    "(?i)(?:[a-z]-?|A-?)+1",
    r"(\w|[^\W\d])+!",
    "(?=(a+)+b)a",
    "a*(?=a*a*a*c)b",
    "a?" * 40 + "a" * 40,
    "((a?){1000}){1000}",
    "(?:){1000000000}",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_pattern_with_many_ways_to_match_is_refused(pattern: str) -> None:
    with pytest.raises(RefusedPattern) as caught:
        bounded_pattern(pattern)
    assert caught.value.what.id == "shell.pattern_slow"


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?P<x>a)(?P=x)", "(a)?(?(1)b|c)"])
def test_pattern_that_refers_back_is_refused(pattern: str) -> None:
    with pytest.raises(RefusedPattern) as caught:
        bounded_pattern(pattern)
    assert caught.value.what.id == "shell.pattern_refers_back"


@pytest.mark.parametrize("pattern", ["a" * 1001, "(" * 500 + "a" + ")" * 500])
def test_huge_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(RefusedPattern) as caught:
        bounded_pattern(pattern)
    assert caught.value.what.id == "shell.pattern_too_long"


@pytest.mark.parametrize(
    ("pattern", "name", "other"),
    [
        (".*", "orders", None),
        ("orders-.*", "orders-eu", "payments-eu"),
        ("a|b", "b", "c"),
        (r"[a-z]+-\d+", "orders-12", "orders-"),
        ("^test.*$", "test-1", "a-test"),
        (r"\s+", " \t", "a"),
        (",", ",", ";"),
        (".*-eu-.*", "a-eu-b", "a-us-b"),
        ("(?!__).*", "orders", "__consumer_offsets"),
        ("([a-z]+\\.)*[a-z]+", "com.example.orders", "com..orders"),
        ("(foo|bar)*", "foobarfoo", "foob"),
        ("orders(-dlq)?", "orders-dlq", "orders-"),
        ("a+?b{2,3}", "aabbb", "ab"),
    ],
)
def test_usual_pattern_matches(pattern: str, name: str, other: str | None) -> None:
    compiled = bounded_pattern(pattern)
    assert compiled.fullmatch(name)
    assert other is None or compiled.fullmatch(other) is None


@pytest.mark.parametrize("separator", [",", r"\s+", r"\s*,\s*", "[;,]", r"\|"])
def test_usual_separator_is_searched(separator: str) -> None:
    assert bounded_pattern(separator, 1_000, is_searched=True).pattern == separator


def test_number_of_a_repeat_beyond_32_bits_is_an_invalid_pattern() -> None:
    with pytest.raises(re.error):
        bounded_pattern("a{99999999999}")


HEADERS = (
    "kafka-console-producer.sh --topic orders --property parse.headers=true --property headers.delimiter=/ "
    "--property headers.separator={}"
)


def slow(pattern: str, length: int = 249) -> list[str]:
    return [refused("shell.pattern_slow", pattern=pattern, length=length)]


def test_tools_refuse_a_pattern_that_could_take_long() -> None:
    shell = ShellRun()
    shell.at(f"kafka-topics.sh --create --topic {NAME} --replica-assignment 1")
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1")
    for line in (
        "kafka-topics.sh --describe --topic (a+)+b",
        "kafka-topics.sh --list --topic (a+)+b",
        "kafka-get-offsets.sh --topic (a+)+b",
        "kafka-get-offsets.sh --topic-partitions (a+)+b:0",
        "kafka-console-consumer.sh --include (a+)+b --timeout-ms 1000",
        "kafka-console-consumer.sh --include (a+)+b --group g --timeout-ms 1000",
        "kafka-replica-verification.sh --broker-list b1:9092 --topics-include (a+)+b",
    ):
        assert shell.at(line.replace("(a+)+b", "'(a+)+b'")) == slow("(a+)+b"), line
        assert shell.exit_code == 1
    assert shell.at(HEADERS.format("'(a+)+b'"), f"{NAME}/x") == slow("(a+)+b", 1_000)
    assert shell.at("kafka-topics.sh --list --topic 'a+,orders'") == [NAME, "orders"]


def test_separator_is_checked_again_for_a_long_line() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1")
    long = f"{'k:v  ' * 1_400}/x"
    assert shell.at(HEADERS.format(r"'\s+'"), long) == slow(r"\s+", 7_000)
    assert shell.at(HEADERS.format(r"'\s+'"), "k:v  l:w/x") == []
    read = "kafka-console-consumer.sh --topic orders --from-beginning --max-messages 1 --property print.headers=true"
    assert shell.at(read)[0] == "k:v,l:w\tx"


@pytest.mark.parametrize(("topic", "id"), [("(a+)+b", "shell.pattern_slow"), ("(a", "shell.pattern_invalid")])
def test_consumer_with_several_topics_refuses_the_pattern(topic: str, id: str) -> None:
    with pytest.raises(ShellError) as caught:
        ShellRun().at(f"consumer start c --group g --topic 'orders,{topic}'")
    assert caught.value.id == id
