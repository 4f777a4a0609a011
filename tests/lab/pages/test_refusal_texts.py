"""Each sentence in which the lab refuses something has its Chinese."""

import ast
import json
import re
from collections.abc import Iterator

import pytest

from lab.texts.refusal import Refusal
from lab.texts.refusals import CHINESE, in_language
from lab.texts.refusals import sentences as sentences_in
from tests.support.paths import ROOT

#: what makes a refusal, by name: its arguments that are strings are sentences
MAKERS = {
    "Refusal",
    "ShellError",
    "InvalidFrame",
    "not_found",
    "refuse",
    "usage_error",
    "_missing",
    "_no_rate",
    "no_such_instant",
}
PLACE = re.compile(r"\{(\d)\}")
#: values and identifiers alone, which are the same in every language
NOT_A_SENTENCE = re.compile(r"[^a-z]*|\S+")


def templates(node: ast.expr) -> Iterator[str]:
    """The sentences that an argument may be, with {0}, {1} for values."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            numbers = iter(range(10))
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else f"{{{next(numbers)}}}" for p in parts)
        case ast.IfExp(body=body, orelse=orelse):
            yield from templates(body)
            yield from templates(orelse)


def sentences() -> dict[str, str]:
    """Each one that the code says, and where."""
    found = {}
    for folder in ("lab", "broker_core/shell"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "id", "")
                # what comes before the sentence is a command's name, or the command that runs
                arguments = node.args[1:2] if name in ("usage_error", "refuse") else node.args[:3]
                for argument in arguments if name in MAKERS else ():
                    for text in templates(argument):
                        if not NOT_A_SENTENCE.fullmatch(PLACE.sub("", text)):
                            found[text] = f"{path.relative_to(ROOT)}:{node.lineno}"
    return found


def test_every_sentence_has_its_chinese() -> None:
    chinese = json.loads(CHINESE.read_text(encoding="utf-8"))
    said = sentences()
    assert len(said) > 150
    assert {text: where for text, where in said.items() if text not in chinese} == {}


def test_the_same_values_stand_in_both() -> None:
    for english, chinese in json.loads(CHINESE.read_text(encoding="utf-8")).items():
        assert sorted(PLACE.findall(english)) == sorted(PLACE.findall(chinese)), english
        assert re.search(r"[一-鿿]|topics", chinese), english


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("The run has 3 branches already.", "这个运行已有 3 个分支。"),
        ("There is no branch 'x' of a run 'a'.", "运行 'a' 没有分支 'x'。"),
        ("'9' is no number of brokers.", "'9' 不是有效的代理数。"),
        ("The seed is missing.", "没有写种子。"),
        (
            "Port 9092 of 127.0.0.1 is that of another broker of this lab.",
            "127.0.0.1 的端口 9092 已属于本实验室的另一个代理。",
        ),
        # Kafka's own words stay
        ("Topic 'orders' already exists.", "Topic 'orders' already exists."),
    ],
)
def test_a_sentence_finds_its_chinese(english: str, chinese: str) -> None:
    assert in_language(english, "zh-CN") == chinese
    assert in_language(english, "en") == english


def test_what_kafka_says_is_no_sentence_of_the_lab() -> None:
    ours = re.compile("|".join(re.sub(r"\\{\d\\}", ".*", re.escape(one)) for one in sentences_in("zh-CN")))
    assert ours.fullmatch("Change --acks and open it again; help producer says what each option is for.")
    printed = {
        line.removeprefix("! ")
        for path in (ROOT / "tests/data/scenarios").glob("*.scenario")
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.startswith(("$", "#"))
    }
    assert len(printed) > 1_000
    assert [line for line in printed if ours.fullmatch(line)] == []
    assert sentences_in("en") == {}


def test_a_refusal_speaks_the_language_of_who_reads_it() -> None:
    refusal = Refusal(
        "There is nothing before the first event.", "An event from 1 on was expected.", "Choose a later one."
    )
    assert refusal.as_json("zh-CN") == {
        "what": "第一个事件之前什么也没有。",
        "expected": "应为 1 及以后的事件。",
        "todo": "请选择更晚的一个。",
    }
    assert refusal.as_json()["todo"] == "Choose a later one."
