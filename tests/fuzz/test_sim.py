"""Random simulation: what it draws, what it finds, how it shrinks, and what it has found so far."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from broker_core.replication.partition import Partition
from broker_core.shell.grammar.parser import split
from broker_core.shell.tools import COMMANDS
from devtools.sim.__main__ import main
from devtools.sim.campaign import run_campaign
from devtools.sim.draw import draw
from devtools.sim.player import play
from devtools.sim.schedule import Schedule
from devtools.sim.shrink import shrink
from devtools.sim.verdict import Played
from tests.support.paths import DATA

NAMES = {command.name for command in COMMANDS}
#: Schedules of `make soak` and of `make test`; `make sim` plays the requested number.
SCHEDULES, FEW_SCHEDULES = 4_000, 96
PARTS = 8
FOUND = sorted((DATA / "sim").glob("*.lab"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_regressions_found_by_random_schedules(path: Path) -> None:
    played = _played(path.stem)
    assert played.failure is None
    assert played.events > 100


@pytest.mark.parametrize(
    ("script", "alarm"),
    [
        ("missed-epoch", ("I-WEAKISR", "cause.leader_missed_epoch")),
        ("late-fetch", ("I-EXPAND", "cause.leader_late_fetch")),
        ("kept-epoch", ("I-EPOCHCACHE", "cause.epoch_kept_epoch")),
        ("led-after-deletion", ("I-LEADERINISR", "cause.zookeeper_usurped")),
        ("refused-append", ("I-EPOCHCACHE", "cause.epoch_refused_append")),
        ("compacted-epoch", ("I-NOTRUNCBELOWHW", "cause.log_compacted_epoch")),
        ("early-join", ("I-COMPLETE", "cause.leader_joined_early")),
        ("split-epoch", ("I-EPOCHCACHE", "cause.leader_split_epoch")),
        ("split-epoch", ("I-LOGMONO", "cause.leader_split_epoch")),
        ("watermark-beyond-the-log", ("I-COMMIT", "cause.truncation_hw")),
    ],
)
def test_violations_that_kafka_allows_are_reported_and_explained(script: str, alarm: tuple[str, str]) -> None:
    assert alarm in _played(script).alarms


@pytest.mark.parametrize(
    "script", ["next-topic-of-that-name", "forgotten-producer", "deleted-and-forgotten", "answer-after-deletion"]
)
def test_harmless_schedules_raise_no_alarm(script: str) -> None:
    played = _played(script)
    assert (played.failure, dict(played.alarms)) == (None, {})


def test_leftovers_of_a_deleted_topic_block_its_recreation() -> None:
    for script in (
        "deleted-while-moved",
        "order-of-a-deleted-topic",
        "log-left-behind",
        "cancelled-too-late",
        "untold-replica",
        "led-after-deletion",
    ):
        assert _played(script).found == ("a partition cannot heal, as Kafka's would not",)


def test_partition_recovers_when_a_failed_replica_is_removed() -> None:
    assert _played("given-up-and-gone").found == ()


def test_max_message_bytes_applies_to_followers_before_2_6_only() -> None:
    assert _played("follower-refuses-large").found == ("a partition cannot heal, as Kafka's would not",)
    assert _played("follower-takes-large").found == ()


def test_follower_truncated_within_a_batch_cannot_append_it() -> None:
    assert _played("cut-within-a-batch").found == ("a partition cannot heal, as Kafka's would not",)


def test_deletion_waits_for_a_reassignment_without_a_leader() -> None:
    assert _played("deletion-waits-for-a-move").found == ("a partition cannot heal, as Kafka's would not",)


@cache
def _played(name: str) -> Played:
    return play(Schedule.of_script((DATA / "sim" / f"{name}.lab").read_text()))


def test_schedule_depends_on_the_seed_only() -> None:
    assert draw(4, "3.9") == draw(4, "3.9")
    assert draw(4, "3.9").lines != draw(5, "3.9").lines
    assert draw(4, "0.10").lines == draw(4, "3.9").lines


def test_schedule_plays_the_same_twice() -> None:
    first, second = play(draw(12, "3.9")), play(draw(12, "3.9"))
    assert first == second
    assert first.events > 1000


def test_schedule_is_a_script_of_the_shell_grammar() -> None:
    schedule = draw(21, "2.4")
    assert Schedule.of_script(schedule.script(schedule.lines, "as drawn")) == schedule
    for seed in range(40):
        for line in draw(seed, "3.9").lines:
            assert split(line)[0] in NAMES


def test_every_fault_is_drawn() -> None:
    words = {" ".join(split(line)[:2]) for seed in range(200) for line in draw(seed, "3.9").lines}
    expected = {
        *(f"broker {verb}" for verb in ("kill", "stop", "powerloss", "freeze", "thaw", "start")),
        *("link cut", "link restore", "link latency", "link loss", "disk slow", "session expire", "hold fetch"),
        *("zk delete", "producer burst", "consumer follow", "consumer start", "consumer stop", "consumer kill"),
        *("kafka-topics.sh --create", "kafka-topics.sh --delete", "kafka-topics.sh --alter"),
        *("kafka-configs.sh --alter", "kafka-leader-election.sh --election-type"),
        *("kafka-reassign-partitions.sh --reassignment-json-file", "kafka-delete-records.sh --offset-json-file"),
    }
    assert expected <= words


def test_planted_bug_is_found_and_shrunk_to_a_few_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    truly = Partition.update_follower_high_watermark

    def one_too_far(self: Partition, leader_high_watermark: int) -> None:
        truly(self, leader_high_watermark + 1)

    monkeypatch.setattr(Partition, "update_follower_high_watermark", one_too_far)
    schedule = draw(3, "3.9")
    failure = play(schedule).failure
    assert failure is not None
    assert failure.kind == "I-HWFOLL"
    short, played, again = shrink(schedule, failure.kind)
    assert again.kind == "I-HWFOLL"
    assert len(short.lines) <= 6 < len(schedule.lines)
    script = short.script(played.typed)
    assert play(Schedule.of_script(script)).failure is not None
    monkeypatch.undo()
    assert play(Schedule.of_script(script)).failure is None


@pytest.mark.timeout(900)
def test_line_that_never_ends_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devtools.sim.player.MAX_EVENTS", 1_000)
    lines = ("kafka-topics.sh --create --topic t --partitions 1", "kafka-console-consumer.sh --topic t")
    failure = play(draw(1, "3.9").with_lines(lines)).failure
    assert failure is not None
    assert (failure.kind, failure.detail) == ("endless", f"more than 1000 events of {lines[1]}")


@pytest.mark.parametrize(
    ("era", "first", "found"),
    [
        (
            "0.10",
            77,
            {"record lost, explained by cause.truncation_hw", "logs differ, explained by cause.truncation_hw"},
        ),
        ("1.1", 733, {"logs differ, explained by cause.truncation_kip101"}),
    ],
)
def test_random_schedules_replay_alike(era: str, first: int, found: set[str]) -> None:
    """Seeds known to show it come first; where the core has changed, another one soon after does."""
    assert any(found <= set(play(draw(seed, era)).found) for seed in range(first, first + 50))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_random_schedules_show_nothing_unexplained(part: int, rounds: Callable[[int], int]) -> None:
    """In parts, which the processes of `make test` share."""
    is_soak = rounds(SCHEDULES) == SCHEDULES
    count = (SCHEDULES if is_soak else FEW_SCHEDULES) // PARTS
    first = part * count + 1
    tally = run_campaign(range(first, first + count), ("2.4", "3.9"), 1, lambda tally, results: None)
    assert [(result.seed, result.era, result.failure) for result in tally.failed] == []
    assert tally.schedules == count
    assert tally.events > count * 3_000


def test_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--seed", "12", "--era", "3.9", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "#! seed 12" in printed
    assert "none failed" in printed
    assert main(["--era", "3.9"]) == 2
    assert main(["--runs", "5", "--era", "1.9"]) == 2
    assert "Unknown era '1.9'" in capsys.readouterr().err
