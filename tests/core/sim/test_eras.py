"""Clusters of each era do what brokers of its release did, and show it on the console."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_core.eras import ERAS
from broker_core.shell.grammar.transcript import TranscriptError, parse_transcript
from broker_core.zk.memory_store import MemoryStore
from devtools.oracle.era_anomalies import replayed, with_our_numbers
from devtools.oracle.eras import cases, compare
from devtools.oracle.scenarios import judge
from tests.support.paths import DATA
from tests.support.shell_runs import ShellRun, refused

RECORDINGS = DATA / "eras"
RECORDED = dict(cases(RECORDINGS))
SCRIPTS = sorted((RECORDINGS / "scripts").glob("*.scenario"))


@pytest.mark.parametrize("name", RECORDED)
def test_real_brokers_of_that_release_did_the_same(name: str) -> None:
    find: Callable[[], list[str]] = RECORDED[name]
    assert find() == []


def test_every_era_was_recorded() -> None:
    assert {name.rpartition("-")[2] for name in RECORDED if name.startswith("s")} == {
        era.release for era in ERAS.values()
    }
    assert sum(name.startswith(tuple(era.release + " " for era in ERAS.values())) for name in RECORDED) == 6 * len(ERAS)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_anomaly_script_runs(path: Path) -> None:
    verdict = judge(path, MemoryStore())
    assert verdict.kind == "ok", "\n".join([verdict.detail, *verdict.lines])


LOST_AND_DIVERGED = {
    # anomaly -> era -> whether an acknowledged record is missing somewhere, whether the logs of live replicas differ
    "s1b": {
        "0.8": (True, True),
        "0.10": (True, True),
        "1.1": (False, False),
        "2.4": (False, False),
        "3.9": (False,) * 2,
    },
    "s2": {"0.8": (True, True), "0.10": (True, True), "1.1": (True, False), "2.4": (True, False), "3.9": (True, False)},
    "s4on": {"0.10": (True, True), "1.1": (True, False), "2.4": (True, False), "3.9": (True, False)},
}


@pytest.mark.parametrize(
    ("anomaly", "era"), [(anomaly, era) for anomaly, eras in LOST_AND_DIVERGED.items() for era in eras]
)
def test_script_shows_lost_records_and_divergence(anomaly: str, era: str) -> None:
    recording = json.loads((RECORDINGS / "anomalies" / f"{anomaly}-{ERAS[era].release}.json").read_text())
    replicas = replayed(era, recording).steps[-1]["replicas"].values()
    logs = [[record.partition("@")[0] for record in replica["log"]] for replica in replicas]
    is_lost = any("1:m1" not in log for log in logs)
    assert (is_lost, any(log != logs[0] for log in logs)) == LOST_AND_DIVERGED[anomaly][era]


def test_divergence_fixed_by_kip_279_occurs_in_1_1_only() -> None:
    for era in ("0.10", "1.1", "2.4", "3.9"):
        recording = json.loads((RECORDINGS / "anomalies" / f"s3-{ERAS[era].release}.json").read_text())
        comparison = next(step for step in replayed(era, recording).steps if step["what"] == "comparison")
        assert [offset for offset, _, _ in comparison["diverged_at"]] == ([*range(10, 15)] if era == "1.1" else []), era


def test_runner_reports_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = json.loads((RECORDINGS / "anomalies" / "s4off-3.9.1.json").read_text())
    recording["steps"][3]["state"]["isr"] = [1, 2]
    (tmp_path / "anomalies").mkdir()
    (tmp_path / "anomalies" / "s4off-3.9.1.json").write_text(json.dumps(recording))
    assert compare(tmp_path) == 1
    verdict, counts = capsys.readouterr().out.splitlines()
    assert verdict.startswith("FAIL s4off-3.9.1: step 3 ") and verdict.endswith("isr is [1], expected [1, 2]")
    assert counts == "0 passed, 1 failed"
    assert compare(tmp_path, only="s1") == 2


def test_fetches_are_held_in_one_direction_only() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic t --replica-assignment 1:2:3")
    shell.at("producer open p --acks 1")
    assert shell.at("hold fetch 2 1") == []
    shell.at("sleep 1s")
    shell.at("producer send p t-0 m0")
    assert shell.at('wait "end t-0 broker 3 == 1" 2s') == []
    assert shell.at('wait "end t-0 broker 2 == 1" 2s') == ["[timeout]"]
    assert shell.at("hold fetch 2 1") == [refused("shell.fetches_held", follower="b2", leader="b1")]
    assert shell.at("release fetch 2 1") == []
    assert shell.at('wait "end t-0 broker 2 == 1" 2s') == []
    assert shell.at("release fetch 2 1") == [refused("shell.fetches_not_held", follower="b2", leader="b1")]


def test_held_fetch_is_dropped_when_either_process_dies() -> None:
    for victim in ("1", "2"):
        shell = ShellRun()
        shell.at("kafka-topics.sh --create --topic t --replica-assignment 1:2:3")
        shell.at("hold fetch 2 1")
        shell.at("sleep 1s")
        shell.at(f"broker kill {victim}")
        assert [rpc for rpc in shell.run.view["rpcs"].values() if rpc["api"] == "Fetch" and rpc["held"]] == []


def test_scripts_name_their_brokers() -> None:
    transcript = parse_transcript("#! brokers 9,1,2\n#! config 2 zookeeper.session.timeout.ms=2000\n#! config a.b=c\n")
    assert transcript.brokers == (9, 1, 2)
    assert (transcript.config, transcript.config_of_broker) == (
        {"a.b": "c"},
        {2: {"zookeeper.session.timeout.ms": "2000"}},
    )
    for bad in ("0", "1,1", "1,x", ""):
        with pytest.raises(TranscriptError, match="expected #! brokers"):
            parse_transcript(f"#! brokers {bad}\n")


def test_scripts_are_mapped_to_other_broker_ids() -> None:
    step = {
        "live": [4, 11],
        "controller": 4,
        "state": {"leader": 11, "isr": [11, 30]},
        "replicas": {"11": {}, "30": {}},
    }
    roles = {"A": 11, "B": 30, "D": 4}
    (ours,) = with_our_numbers({"roles": roles, "steps": [step], "config_per_broker": {"30": {}}})["steps"]
    assert ours == {
        "live": [1, 9],
        "controller": 9,
        "state": {"leader": 1, "isr": [1, 2]},
        "replicas": {"1": {}, "2": {}},
    }
