"""franz-go's integration tests: those of its package `kgo`."""

from pathlib import Path

from devtools.oracle.clients import go_tests
from devtools.oracle.clients.outcome import Outcome, tool

VERSION = "v1.22.2"
PACKAGE = "github.com/twmb/franz-go/pkg/kgo"
SETTINGS = {"KGO_TEST_RF": "3", "KGO_TEST_RECORDS": "5000", "KGO_TEST_MAX_TOPIC_PARTS": "10"}
#: The tests that pass on a real Kafka 3.9.1.
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
#: Tests that require a release newer than 3.9, or an older one.
SKIPPED = (
    "Test848RegexBrokerResolves",
    "TestConsumeRegexShareSkipsInternal",
    "TestIssueProduceBrokerTooOldFailsRecords",
    "TestShareGroup",
    "TestShareGroupAckOnClose",
    "TestShareGroupETL",
    "TestShareGroupOffsetsAdmin",
)

SUITE = go_tests.Suite(
    package=PACKAGE,
    version=VERSION,
    wanted=f"^({'|'.join(sorted([*PASSED, *SKIPPED]))})$",
    least=len(PASSED),
    skipped=SKIPPED,
    settings=SETTINGS,
)


def need() -> None:
    """Raises ToolMissing."""
    tool("go", "franz-go's tests")


def play(bootstrap: str, work: Path) -> Outcome:
    """Runs the tests on a cluster of brokers 0, 1 and 2. Raises CalledProcessError when they cannot be fetched."""
    return go_tests.play(SUITE, work, {"KGO_SEEDS": bootstrap})
