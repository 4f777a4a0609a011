"""kafka-simple-consumer-shell.sh from older documentation: it still works, and prints the command that replaces it."""

import pytest

from broker_core.events.console import shown
from tests.support.shell_runs import ShellRun, refused


@pytest.fixture(params=["0.8", "0.10", "1.1", "2.4", "3.9"])
def shell(request: pytest.FixtureRequest) -> ShellRun:
    shell = ShellRun(era=request.param)
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1")
    shell.at("producer open p1 --acks all --idempotence false")
    shell.at("producer send p1 orders-1 a:one b:two c:three")
    shell.after(2)
    return shell


def test_simple_consumer_reads_a_partition_and_names_its_replacement(shell: ShellRun) -> None:
    line = "kafka-simple-consumer-shell.sh --broker-list localhost:9092 --topic orders --partition 1"
    today = "kafka-console-consumer.sh --topic orders --partition 1 --offset {}"
    assert shell.at(f"{line} --no-wait-at-logend") == [
        refused("shell.tool_removed", line=today.format("earliest")),
        "one",
        "two",
        "three",
        "Terminating. Reached the end of partition (orders, 1) at offset 3",
    ]
    replacement = today.format("1 --max-messages 1 --property print.offset=true")
    printed = shell.at(f"{line} --offset 1 --max-messages 1 --print-offsets")
    assert printed == [
        refused("shell.tool_removed", line=replacement),
        "next offset = 2",
        "two",
    ]
    assert shell.at(replacement) == ["Offset:1\ttwo", "! Processed a total of 1 messages"]


def test_any_replica_can_be_read(shell: ShellRun) -> None:
    line = "kafka-simple-consumer-shell.sh --topic orders --partition 1 --replica {} --no-wait-at-logend"
    for broker in (1, 2, 3):
        assert shell.at(line.format(broker))[1:4] == ["one", "two", "three"]
    assert shell.at(line.format(7))[1:] == ["! Error: replica 7 does not exist for partition (orders, 1)"]
    assert shell.exit_code == 1


def test_simple_consumer_waits_at_the_end_until_interrupted() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    number = shell.run.submit("kafka-simple-consumer-shell.sh --topic orders --offset -1", "test")
    shell.after(2)
    shell.at("kafka-console-producer.sh --topic orders", "late")
    shell.after(2)
    assert shell.run.view["console"][str(number)]["output"][1:] == ["late"]
    shell.at("interrupt")
    assert shell.run.running_commands == ()


def test_group_offsets_are_read_with_the_command_of_old_tutorials() -> None:
    shell = ShellRun(offsets_topic_num_partitions="1")
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    shell.at("kafka-console-producer.sh --topic orders", "one")
    shell.at("kafka-console-consumer.sh --topic orders --group readers --from-beginning --max-messages 1")
    line = "kafka-simple-consumer-shell.sh --topic __consumer_offsets --no-wait-at-logend --formatter"
    hint, *printed = shell.at(line)
    assert shown(hint).endswith("--formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    assert any('"group":"readers"' in each and '"offset":1' in each for each in printed)
    assert printed[-1].startswith("Terminating. ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "A low-level tool for fetching data directly from a particular replica."),
        ("--partition 0", 'Missing required argument "[topic]"'),
        ("--topic orders --partition 9", "Error: partition 9 does not exist for topic orders"),
        ("--topic nothing", "Error: no valid topic metadata for topic: nothing"),
        ("--topic orders --offset -3", "Invalid starting offset: -3"),
        ("--topic orders --offset 99", "org.apache.kafka.common.errors.OffsetOutOfRangeException"),
        ("--topic orders --partition x", "joptsimple.OptionArgumentConversionException: Cannot parse argument 'x'"),
        ("--topic orders --broker-list nonsense", "Please provide valid host:port"),
        ("--topic orders --formatter no.Such", "no.Such"),
        ("--topic orders --bogus", "joptsimple.UnrecognizedOptionException: bogus is not a recognized option"),
    ],
)
def test_simple_consumer_reports_read_errors(arguments: str, says: str) -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    printed = shell.at(f"kafka-simple-consumer-shell.sh {arguments}")
    assert any(line.startswith(f"! {says}") for line in printed), printed
    assert shell.exit_code == 1
