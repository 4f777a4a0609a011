"""The shell prints what a real Kafka 3.9 cluster printed."""

from pathlib import Path

import pytest

from broker_core.shell.grammar.transcript import TranscriptError, normalise, parse_transcript
from broker_core.zk.memory_store import MemoryStore
from devtools.oracle.scenarios import compare, judge
from tests.support.paths import DATA

TRANSCRIPTS = sorted((DATA / "scenarios").glob("*.scenario"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_of_a_real_cluster(path: Path) -> None:
    verdict = judge(path, MemoryStore())
    assert verdict.kind == "ok", "\n".join([verdict.detail, *verdict.lines])


def test_other_seeds_print_the_same() -> None:
    path = next(path for path in TRANSCRIPTS if path.stem.startswith("11-"))
    assert [judge(path, MemoryStore(), seed).kind for seed in range(1, 6)] == ["ok"] * 5


def test_runner_distinguishes_differences_from_unsupported_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1-good.scenario").write_text("$ zk get /controller_epoch\n1\n")
    (tmp_path / "2-bad.scenario").write_text("$ zk get /controller_epoch\n7\n")
    (tmp_path / "3-later.scenario").write_text("$ kafka-acls.sh --list\n")
    assert compare(tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok 1-good"
    assert lines[1] == "FAIL 2-bad: line 1: $ zk get /controller_epoch: -7"
    assert lines[2] == "todo 3-later: Unknown command 'kafka-acls.sh'."
    assert lines[3] == "1 passed, 1 failed, 1 todo"
    assert compare(tmp_path, only="1,3") == 0
    assert compare(tmp_path, only="9") == 2


def test_transcript_is_read_with_its_settings_inputs_and_outputs() -> None:
    transcript = parse_transcript(
        "#! brokers 5\n#! config min.insync.replicas=2\n#! fresh\n# A title\n$ cat\n< one\n<\nout  \n\nend\n\n# "
        "note\n$ true\n"
    )
    assert (transcript.title, transcript.brokers, transcript.config) == (
        "A title",
        (1, 2, 3, 4, 5),
        {"min.insync.replicas": "2"},
    )
    cat, true = transcript.steps
    assert cat.stdin == ("one", "")
    assert cat.expected == ("out", "", "end")
    assert (true.line, true.expected, true.number) == ("true", (), 13)


@pytest.mark.parametrize("text", ["#! brokers many\n", "#! speed 3\n", "output before any command\n"])
def test_malformed_transcript_is_refused(text: str) -> None:
    with pytest.raises(TranscriptError, match="line 1"):
        parse_transcript(text)


def test_script_is_a_command_a_line() -> None:
    script = parse_transcript("# set up\nfile names\n< a\n\nsleep 1s\n", is_script=True)
    assert [(step.line, step.stdin) for step in script.steps] == [("file names", ("a",)), ("sleep 1s", ())]


def test_differences_between_two_clusters_are_reported() -> None:
    printed = [
        '{"endpoints":["PLAINTEXT://127.0.0.1:9093"],"port":9093,"timestamp":"1700000000123"}',
        "! WARN something else",
        "! WARN Got error produce response with correlation id 17 on t-0. Error: NOT_ENOUGH_REPLICAS",
        '! Missing required argument "[topic]"',
        "! Option                  Description",
        "! ------                  -----------",
    ]
    assert normalise("zk get /x", printed, 1) == [
        '{"endpoints":["PLAINTEXT://127.0.0.1:<port>"],"port":<port>,"timestamp":"<ms>"}',
        "! WARN Got error produce response with correlation id <n> on t-0. Error: NOT_ENOUGH_REPLICAS",
        '! Missing required argument "[topic]"',
        "! <usage>",
        "[exit 1]",
    ]


def test_rows_without_an_order_are_sorted() -> None:
    assert normalise("kafka-topics.sh --list", ["b", "a"], 0) == ["a", "b"]
    rows = ["Partition:1\tx", "Partition:0\ty", "Partition:1\tz"]
    assert normalise("kafka-console-consumer.sh --topic t", rows, 0) == [rows[1], rows[0], rows[2]]
    assert normalise("producer send p t-0 a", ["TimeoutException: after 15000 ms"], 0) == [
        "TimeoutException: after <n> ms"
    ]
