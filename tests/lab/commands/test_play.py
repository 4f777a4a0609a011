"""`manage.py play`: scripts without a page."""

from pathlib import Path

import pytest

from broker_core.events.codec import decode
from broker_core.events.console import CommandReceived
from broker_core.events.world import RunStarted
from devtools.oracle.play import play_files
from tests.support.paths import DATA

SCRIPT = """#! brokers 2
# what follows is typed as it stands
kafka-topics.sh --create --topic orders --replica-assignment 1:2
kafka-console-producer.sh --topic orders
< one
< two
kafka-get-offsets.sh --topic orders
"""


def test_script_prints_its_transcript_and_its_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, journal = tmp_path / "first.lab", tmp_path / "journal"
    script.write_text(SCRIPT)
    assert play_files([script], "memory", 3, journal) == 0
    assert capsys.readouterr().out.splitlines() == [
        "$ kafka-topics.sh --create --topic orders --replica-assignment 1:2",
        "Created topic orders.",
        "$ kafka-console-producer.sh --topic orders",
        "< one",
        "< two",
        "$ kafka-get-offsets.sh --topic orders",
        "orders:0:2",
    ]
    events = [decode(seq, data)[4] for seq, data in enumerate(journal.read_bytes().splitlines(), 1)]
    lines = [event.line for event in events if isinstance(event, CommandReceived)]
    assert lines[1:] == [
        "kafka-topics.sh --create --topic orders --replica-assignment 1:2",
        "kafka-console-producer.sh --topic orders\n< one\n< two",
        "kafka-get-offsets.sh --topic orders",
    ]


def test_same_seed_gives_the_same_journal(tmp_path: Path) -> None:
    script = tmp_path / "first.lab"
    script.write_text(SCRIPT)
    journals = []
    for name in ("a", "b"):
        play_files([script], "memory", 3, tmp_path / name)
        journals.append((tmp_path / name).read_bytes())
    assert journals[0] == journals[1] != b""


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("broker kil 1\n", "Invalid command: broker kil 1"),
        ("#! brokers none\n", "line 1"),
    ],
)
def test_invalid_script_line_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    script = tmp_path / "bad.lab"
    script.write_text(text)
    assert play_files([script], "memory", 0, None) == 2
    assert complaint in capsys.readouterr().err
    assert play_files([tmp_path / "absent.lab"], "memory", 0, None) == 2


def test_transcript_plays_the_same_on_a_real_zookeeper(tmp_path: Path) -> None:
    path = DATA / "scenarios" / "10-leader-kill.scenario"
    for store in ("memory", "zookeeper"):
        assert play_files([path], store, 1, tmp_path / store) == 0
    assert (tmp_path / "memory").read_bytes() == (tmp_path / "zookeeper").read_bytes()


def test_script_sets_its_seed_and_ampersand_does_not_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, journal = tmp_path / "quick.lab", tmp_path / "journal"
    script.write_text("#! brokers 1\n#! seed 77\n#! era 3.9\nsleep 1m &\nsleep 2s\nzk ls /brokers/ids\n")
    assert play_files([script], "memory", 3, journal) == 0
    assert capsys.readouterr().out.splitlines() == ["$ sleep 1m &", "$ sleep 2s", "$ zk ls /brokers/ids", "[1]"]
    events = [
        (decode(seq, data)[1], decode(seq, data)[4]) for seq, data in enumerate(journal.read_bytes().splitlines(), 1)
    ]
    started = next(event for _, event in events if isinstance(event, RunStarted))
    assert (started.seed, started.era) == (77, "3.9")
    assert events[-1][0] < 30_000_000


def test_unknown_era_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "old.lab"
    script.write_text("#! era 0.1\nzk ls /\n")
    assert play_files([script], "memory", 0, None) == 2
    assert "Unknown era '0.1'" in capsys.readouterr().err


def test_malformed_script_is_reported_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent, binary, script = tmp_path / "absent.lab", tmp_path / "binary.lab", tmp_path / "wrong.lab"
    binary.write_bytes(b"\xff\xfe")
    script.write_text("zk ls /\n\nbroker kill 9\n")
    for path, says in (
        (absent, f"{absent}: No such file or directory. Expected a readable file"),
        (tmp_path, f"{tmp_path}: Is a directory. Expected a readable file"),
        (binary, f"{binary} is not valid UTF-8. Expected a .scenario or .lab file"),
        (script, f"{script}, line 3: Unknown broker '9'."),
    ):
        assert play_files([path], "memory", 1, None) == 2
        assert capsys.readouterr().err.startswith(says)
    assert play_files([script], "memory", 1, tmp_path / "no folder" / "journal") == 2
    assert "journal: No such file or directory." in capsys.readouterr().err
