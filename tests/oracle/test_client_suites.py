"""How the conformance run judges what Go tests print, and what applications leave in topics and files."""

import json
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

from devtools.oracle import conformance
from devtools.oracle.clients import connect, programs, streams
from devtools.oracle.clients.go_tests import Suite, judge
from devtools.oracle.clients.outcome import Outcome, ToolMissing, tool


def printed(*events: tuple[str, str]) -> list[str]:
    """Lines of `go test -json`: (test, action)."""
    return [json.dumps({"Test": test, "Action": action, "Output": f"{test} says\n"}) for test, action in events]


def suite(*skipped: str, least: int = 1) -> Suite:
    return Suite(package="example.org/x", version="v1", wanted="^Test", least=least, skipped=skipped)


def test_go_tests_pass_by_their_own_end_and_not_by_those_of_subtests() -> None:
    lines = printed(("TestA", "run"), ("TestA/one", "fail"), ("TestA", "output"), ("TestA", "fail"), ("TestB", "pass"))
    outcome = judge(suite(), ["go: downloading", *lines])
    assert (outcome.passed, outcome.failed) == (1, 1)
    assert outcome.faults == ["TestA: fail\nTestA says\n"]


def test_go_test_that_skips_where_kafka_passes_has_failed() -> None:
    outcome = judge(suite("TestB", "TestC"), printed(("TestA", "skip"), ("TestB", "skip"), ("TestC", "pass")))
    assert (outcome.passed, outcome.failed, outcome.skipped) == (0, 2, 1)


def test_go_test_without_an_end_and_missing_tests_have_failed() -> None:
    outcome = judge(suite(least=3), printed(("TestA", "pass"), ("TestB", "run")))
    assert outcome.passed == 1
    assert [fault.partition("\n")[0] for fault in outcome.faults] == ["TestB: no end", "2 tests ran, expected 3"]


def test_word_counts_must_be_consecutive() -> None:
    expected = Counter({"a": 2, "b": 1})
    right = [(0, "a", "1"), (1, "b", "1"), (0, "a", "2")]
    assert streams.differing(right, expected) == ""
    assert "wrong: a" in streams.differing([*right, (0, "a", "2")], expected)
    assert "wrong: b" in streams.differing(right[::2], expected)
    assert "wrong: c" in streams.differing([*right, (0, "c", "1")], expected)


def test_copied_lines_are_counted_by_block() -> None:
    first = Counter({f"line {number}": 1 for number in range(connect.LINES)})
    assert connect.differing("the sink", first, [1]) == ""
    assert "2000 are missing" in connect.differing("the sink", first, [1, 1])
    assert "1 too many (line 7)" in connect.differing("the sink", first + Counter({"line 7": 1}), [1])


def run_conformance(arguments: list[str], monkeypatch: pytest.MonkeyPatch, **parts: conformance.Part) -> int:
    monkeypatch.setattr(conformance, "PARTS", parts)
    monkeypatch.setattr(conformance, "cluster", lambda *_: nullcontext(["127.0.0.1:9092"]))
    monkeypatch.setattr("sys.argv", ["conformance", *arguments])
    return conformance.main()


def test_part_without_its_program_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def need() -> None:
        tool("no-such-program", "its tests")

    right = conformance.Part(lambda _: Outcome(passed=3))
    lacking = conformance.Part(lambda _: Outcome(passed=1), need)
    assert run_conformance(["--parts=a,b"], monkeypatch, a=lacking, b=right) == 2
    printed = capsys.readouterr().out
    assert "NOT RUN a: There is no `no-such-program` on the PATH." in printed
    assert [line.split() for line in printed.splitlines()[-2:]] == [["a", "all"], ["b", "3", "0", "0", "0"]]
    assert run_conformance(["--parts=b"], monkeypatch, a=lacking, b=right) == 0
    wrong = conformance.Part(lambda _: Outcome(passed=3, failed=1))
    assert run_conformance(["--parts=a,b"], monkeypatch, a=lacking, b=wrong) == 1


def test_program_of_the_card_without_its_executable_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "NEEDS", {"kcat.sh": ("no-such-program",), "console_tools.sh": ("sh",)})
    programs.need()
    monkeypatch.setattr(programs, "NEEDS", {"kcat.sh": ("no-such-program",)})
    outcome = programs.play("127.0.0.1:9092", tmp_path, tmp_path)
    assert (outcome.passed, outcome.failed, len(outcome.missing)) == (0, 0, 1)
    with pytest.raises(ToolMissing, match="no-such-program"):
        programs.need()
