"""franz-go's own tests that speak to a cluster: those of its package `kgo`."""

import json
import os
import subprocess
from pathlib import Path

from devtools.oracle.clients.outcome import Outcome, tool

VERSION = "v1.22.2"
PACKAGE = "github.com/twmb/franz-go/pkg/kgo"
TIMEOUT_MINUTES = 30
SETTINGS = {"KGO_TEST_RF": "3", "KGO_TEST_RECORDS": "5000", "KGO_TEST_MAX_TOPIC_PARTS": "10"}
#: The tests that a real Kafka 3.9.1 passes, too.
PASSED = (
    "TestAddRemovePartitions",
    "TestClient_Produce",
    "TestClient_ProduceLargeMessages",
    "TestConsumeMaxDecompressBatchBytes",
    "TestConsumeRegex",
    "TestConsumeTopicRetrieval",
    "TestConsumeTopicRetrieval_Many",
    "TestDirectPartitionPurge",
    "TestGroupETL",
    "TestGroupSimple",
    "TestHookPollStart",
    "TestIssue1034",
    "TestIssue325",
    "TestIssue337",
    "TestIssue434",
    "TestIssue523",
    "TestIssue648",
    "TestIssue769",
    "TestIssue810",
    "TestIssue831",
    "TestIssue865",
    "TestIssueFetchLargerThanBrokerMaxReadBytes",
    "TestIssueProduceSyncManualPartitionNegativeDoesNotPanic",
    "TestPauseIssue489",
    "TestPauseIssueOct2023",
    "TestPing",
    "TestPooling",
    "TestTxnEtl",
    "TestUnknownGroupOffsetFetchPinned",
)
#: Those that ask for something newer than 3.9, or older, and say so.
SKIPPED = (
    "Test848RegexBrokerResolves",
    "TestConsumeRegexShareSkipsInternal",
    "TestIssueProduceBrokerTooOldFailsRecords",
    "TestShareGroup",
    "TestShareGroupAckOnClose",
    "TestShareGroupETL",
    "TestShareGroupOffsetsAdmin",
)


def need() -> None:
    """Raises ToolMissing."""
    tool("go", "franz-go's tests")


def prepare_module(folder: Path, name: str) -> None:
    """A Go module that requires franz-go. Raises CalledProcessError when the go command cannot fetch it."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in (["go", "mod", "init", name], ["go", "get", f"{PACKAGE}@{VERSION}"]):
        subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)


def play(bootstrap: str, work: Path) -> Outcome:
    """Runs the tests. One that skips where a real Kafka passes has failed."""
    prepare_module(work, "conformance")
    wanted = "|".join(sorted([*PASSED, *SKIPPED]))
    command = ["go", "test", "-mod=mod", "-json", "-count=1", f"-timeout={TIMEOUT_MINUTES}m", f"-run=^({wanted})$"]
    done = subprocess.run(
        [*command, PACKAGE],
        cwd=work,
        env={**os.environ, **SETTINGS, "KGO_SEEDS": bootstrap},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    ends = {each["Test"]: each["Action"] for each in events if "Test" in each and each["Action"] in _ENDS}
    outcome = Outcome()
    for name in PASSED:
        said = "".join(each["Output"] for each in events if each.get("Test") == name and "Output" in each)
        verdict = ends.get(name, "no end")
        outcome.judge("" if verdict == "pass" else f"{name}: {verdict}\n{said[-2_000:]}")
    for name in SKIPPED:
        verdict = ends.get(name, "no end")
        if verdict == "skip":
            outcome.skipped += 1
        else:
            outcome.judge(f"{name}: {verdict}, a real Kafka makes it skip")
    return outcome


_ENDS = ("pass", "fail", "skip")
