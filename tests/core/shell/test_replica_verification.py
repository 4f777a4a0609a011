"""kafka-replica-verification.sh: reads every replica, and reports differences."""

import pytest

from broker_core.events.console import CommandPrinted
from tests.support.shell_runs import ShellRun, refused

TOOL = "kafka-replica-verification.sh --topics-include orders --time -2 --max-wait-ms 500 --report-interval-ms 1000"


@pytest.fixture
def shell() -> ShellRun:
    shell = ShellRun()
    shell.at(
        "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1 --config cleanup.policy=compact "
        "--config segment.bytes=200 --config min.cleanable.dirty.ratio=0.99"
    )
    shell.at("producer open p")
    shell.at("producer send p orders-0 a:1 a:2 a:3 b:1 a:4")
    shell.after(1)
    return shell


def test_equal_replicas_are_verified_up_to_the_high_watermark(shell: ShellRun) -> None:
    shell.at("kafka-topics.sh --create --topic others --replica-assignment 3")
    number = shell.run.submit(TOOL, "test")
    shell.after(3.5)
    shell.run.interrupt(number)
    begun, *reports = [
        line for event in shell.events(CommandPrinted) if event.command == number for line in event.lines
    ]
    assert begun.endswith(": verification process is started")
    # reports are more than a second apart, and it looks every half
    assert [report.partition(": ")[2] for report in reports] == [
        "max lag is 0 for partition orders-0 at offset 5 among 2 partitions"
    ] * 3


def test_replica_cleaned_alone_differs_in_offset(shell: ShellRun) -> None:
    shell.at("log clean orders-0 2")
    _, unlike = shell.at(TOOL)
    assert unlike.endswith(": partition orders-0: replica 1's offset 0 doesn't match replica 2's offset 2")
    assert shell.exit_code == 1


def test_verification_starts_once_all_brokers_are_up(shell: ShellRun) -> None:
    shell.at("broker stop 3")
    assert shell.at(TOOL) == [
        refused("shell.verification_broker", broker=3),
    ]
    assert shell.at("kafka-replica-verification.sh --topics-include nothing") == [
        "! ERROR No topics found. [topics-include] if specified, is either filtering out all topics or there is no "
        "topic. (org.apache.kafka.tools.ReplicaVerificationTool)"
    ]
    assert shell.at("kafka-replica-verification.sh --topics-include [") == [
        "! [ is an invalid regex",
        "! java.lang.RuntimeException: [ is an invalid regex",
    ]
    shell.at("broker start 3")
    assert shell.at("kafka-replica-verification.sh --time 9999999999999")[1].startswith(
        "! java.lang.NullPointerException: Cannot invoke "
    )
    assert shell.at("kafka-replica-verification.sh --topics-include orders --time -5")[0] == (
        "! The target time for partition orders-0 is -5. The target time cannot be negative."
    )
    printed = shell.at("kafka-replica-verification.sh --bootstrap-server localhost:1")
    assert printed[0] == "! bootstrap-server is not a recognized option"
