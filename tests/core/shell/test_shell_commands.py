"""Commands as processes in simulated time, and their output when the cluster is not in the required state."""

import pytest

from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.java.errors import JavaException
from broker_core.shell.tools.kafka.consumer_groups_reset import parse_datetime, parse_duration
from tests.support.shell_runs import ShellRun, refused


def test_commands_run_concurrently_and_end_independently() -> None:
    shell = ShellRun()
    slow = shell.run.submit("sleep 10s", "a")
    quick = shell.run.submit("sleep 2s", "b")
    instant = shell.run.submit("zk get /controller_epoch", "c")
    assert shell.run.running_commands == (slow, quick)
    assert shell.run.view["console"][str(instant)]["output"] == ["1"]
    shell.after(3)
    assert shell.run.running_commands == (slow,)
    shell.after(8)
    assert shell.run.running_commands == ()


def test_interrupted_command_reports_its_result() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    shell.at("kafka-console-producer.sh --topic orders", "one", "two")
    number = shell.run.submit("kafka-console-consumer.sh --topic orders --from-beginning", "test")
    shell.after(5)
    assert shell.run.running_commands == (number,)
    assert shell.run.view["console"][str(number)]["output"] == ["one", "two"]
    shell.at("interrupt")
    command = shell.run.view["console"][str(number)]
    assert command["output"] == ["one", "two", "! Processed a total of 2 messages"]
    assert (command["state"], command["exit_code"]) == ("done", 130)
    assert shell.at("interrupt") == [refused("shell.no_command_running")]


DIGITS = "9" * 5000
"""More than Python reads into a number."""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("broker kill {}", "unknown_broker"),
        ("interrupt {}", "command_not_running"),
        ("link loss 1 2 {}", "invalid_percentage"),
        ("producer burst p orders-0 {}", "invalid_number"),
        ("consumer start c --group g --topic orders --process-ms {}", "option_not_positive"),
        ("consumer seek c orders-0@{}", "seek_position"),
        ("sleep {}", "invalid_time"),
    ],
)
@pytest.mark.parametrize("number", [DIGITS, "²"], ids=["long", "superscript"])
def test_invalid_numbers_are_refused(line: str, why: str, number: str) -> None:
    shell = ShellRun()
    with pytest.raises(ShellError) as caught:
        shell.at(line.format(number))
    assert caught.value.id == f"shell.{why}"
    assert shell.at("zk get /controller_epoch") == ["1"]


@pytest.mark.parametrize(
    "line",
    [
        "kafka-topics.sh --create --topic orders --partitions {}",
        "kafka-topics.sh --create --topic orders --replica-assignment 1:{}",
        "kafka-get-offsets.sh --time {}",
        "kafka-get-offsets.sh --partitions {}",
        "kafka-configs.sh --describe --entity-type brokers --entity-name {}",
        "kafka-console-consumer.sh --topic orders --partition 0 --offset {}",
        "kafka-consumer-groups.sh --reset-offsets --group g --topic orders:{} --to-earliest",
        "kafka-features.sh upgrade --feature metadata.version={}",
        "kafka-log-dirs.sh --describe --broker-list {}",
        "kafka-reassign-partitions.sh --generate --broker-list {} --topics-to-move-json-file none",
    ],
)
def test_tools_refuse_out_of_range_numbers(line: str) -> None:
    shell = ShellRun()
    assert shell.at(line.format(DIGITS))
    assert shell.exit_code == 1
    assert shell.at("zk get /controller_epoch") == ["1"]


def test_broker_must_be_in_a_state_that_allows_it() -> None:
    shell = ShellRun()
    assert shell.at("broker thaw 2") == [
        refused("shell.broker_state", broker=2, state="up", verb="thaw", states="frozen")
    ]
    assert shell.exit_code == 1
    shell.at("broker kill 2")
    assert shell.at("broker kill 2") == [
        refused("shell.broker_state", broker=2, state="down", verb="kill", states="up / starting / frozen / exiting")
    ]
    assert shell.at("broker start 2") == []
    assert shell.at('wait "brokers == [1,2,3]" 1s') == []


def test_broker_starts_when_its_old_registration_has_expired() -> None:
    shell = ShellRun()
    shell.at("broker kill 3")
    killed_us = shell.run.now_us
    shell.at("broker start 3")
    assert shell.run.now_us - killed_us >= 6_000_000


def test_link_is_cut_once() -> None:
    shell = ShellRun()
    assert shell.at("link cut 1 zk") == []
    assert shell.at("link cut zk b1") == [refused("shell.link_cut", a="zk", b="b1")]
    assert shell.at("link restore 1 zk") == []
    assert shell.at("link restore 1 zk") == [refused("shell.link_not_cut", a="b1", b="zk")]


def test_wait_reports_a_timeout() -> None:
    shell = ShellRun()
    begun_us = shell.run.now_us
    assert shell.at('wait "controller == 3" 2s') == ["[timeout]"]
    assert shell.run.now_us - begun_us == 2_000_000


def test_condition_needs_the_metadata_of_every_live_broker() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    state = '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}'
    shell.at(f"zk set /brokers/topics/orders/partitions/0/state '{state}'")
    assert shell.at('wait "isr orders-0 == [1]" 1s') == ["[timeout]"]


def test_tools_report_that_no_broker_responds() -> None:
    shell = ShellRun()
    for broker_id in (1, 2, 3):
        shell.at(f"broker kill {broker_id}")
    begun_us = shell.run.now_us
    printed = shell.at("kafka-topics.sh --create --topic orders")
    assert printed[0].endswith("Timed out waiting for a node assignment. Call: createTopics")
    assert shell.exit_code == 1
    assert 60_000_000 <= shell.run.now_us - begun_us < 62_000_000


def test_tools_wait_for_a_frozen_broker() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2,3:2")
    shell.at("file quick.properties", "default.api.timeout.ms=4000", "request.timeout.ms=2000")
    shell.at("broker freeze 1")
    late = "org.apache.kafka.common.errors.TimeoutException: Timed out waiting to send the call. Call: "
    printed = shell.at("kafka-topics.sh --create --topic two --partitions 1 --command-config quick.properties")
    assert f"! ERROR {late}createTopics" in printed
    shell.at("broker thaw 1")
    shell.after(10)
    shell.at("broker freeze 3")
    printed = shell.at("kafka-get-offsets.sh --topic orders --command-config quick.properties")
    skipped = "! Skip getting offsets for topic-partition orders-1 due to error: "
    assert printed == [f"{skipped}{late}listOffsets(api=LIST_OFFSETS)", "orders:0:0"]


def test_tool_with_a_dead_leader_does_not_try_another_broker() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 3:2")
    shell.at("broker kill 3")
    printed = shell.at("kafka-get-offsets.sh --topic orders")
    assert printed[0].endswith("Timed out waiting for a node assignment. Call: listOffsets(api=LIST_OFFSETS)")
    assert shell.at("kafka-get-offsets.sh --topic orders") == ["orders:0:0"]


def test_throttle_is_set_at_the_brokers_that_respond() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 2")
    plan = '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[3]}]}'
    shell.at("file plan.json", plan)
    shell.at("broker freeze 2")
    printed = shell.at("kafka-reassign-partitions.sh --reassignment-json-file plan.json --execute --throttle 500")
    assert any("Call: incrementalAlterConfigs" in line for line in printed)
    assert "500" in shell.at("zk get /config/brokers/3")[0]


def test_client_with_invalid_values_is_refused() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1")
    bad = "org.apache.kafka.common.config.ConfigException: Invalid value x for configuration "
    name = "socket.connection.setup.timeout.ms"
    given = f"kafka-console-producer.sh --topic orders --producer-property {name}=x"
    assert shell.at(given) == [f"! {bad}{name}: Not a number of type LONG"]
    consumer = "kafka-console-consumer.sh --topic orders --timeout-ms 500 --consumer-property"
    assert f"! {bad}{name}: Not a number of type LONG" in shell.at(f"{consumer} {name}=x")
    printed = shell.at(f"{consumer} group.instance.id=a/b")
    assert "contains one or more characters other than ASCII alphanumerics" in printed[2]
    shell.at("file client.properties", "metadata.recovery.strategy=x")
    words = "String must be one of (case insensitive): REBOOTSTRAP, NONE"
    printed = shell.at("kafka-topics.sh --list --command-config client.properties")
    assert printed[0] == f"! Invalid value x for configuration metadata.recovery.strategy: {words}"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2020-1-1T0:0:0.0", 1_577_836_800_000),
        ("2020-01-01T00:00:00.12", 1_577_836_800_012),
        ("2020-01-01T00:00:00.123+0230", 1_577_829_600_123),
        ("2020-01-01T00:00:00.123-02:30", 1_577_845_800_123),
        (" 2020-01-01T00:00:00.000 +02 and more", 1_577_829_600_000),
        ("12020-01-01T00:00:00.000", 317_147_356_800_000),
        ("2020-02-30T00:00:00.000", None),
        ("2020-01-01T00:00:00.000+19:00", None),
        ("2020-01-01T00:00:00.1234", None),
        ("2020-01-01T00:00:00Z", None),
    ],
)
def test_times_are_read_as_by_a_date_format_of_java(text: str, ms: int | None) -> None:
    if ms is not None:
        assert parse_datetime(text) == ms
        return
    with pytest.raises(JavaException, match="Unparseable date"):
        parse_datetime(text)


@pytest.mark.parametrize(
    ("text", "ms"), [("PT1,5S", 1_500), ("PT-0.5S", -500), ("-PT+1H", -3_600_000), ("PT5.S", 5_000)]
)
def test_durations_are_read_as_by_java(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


def test_too_long_duration_is_refused() -> None:
    with pytest.raises(JavaException, match="Text cannot be parsed to a Duration: seconds"):
        parse_duration("PT99999999999999999999S")
    with pytest.raises(JavaException, match="Instant exceeds minimum or maximum instant"):
        parse_duration("P999999999999D")


def test_numbers_are_limited_to_java_ints() -> None:
    shell = ShellRun()
    printed = shell.at("kafka-topics.sh --create --topic orders --replica-assignment 99999999999")
    assert '! ERROR java.lang.NumberFormatException: For input string: "99999999999"' in printed


def test_controller_may_move_while_a_topic_is_made() -> None:
    shell = ShellRun()
    shell.at("broker kill 1")
    assert shell.at("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 2") == [
        "Created topic orders."
    ]


def test_znodes_are_edited_from_the_console() -> None:
    shell = ShellRun()
    assert shell.at("zk create /lab hello") == ["Created /lab"]
    assert shell.at("zk create /lab") == ["Node already exists: /lab"]
    assert shell.at('zk create /lab/child \'[3, {"b": 1, "a": 2}]\'') == ["Created /lab/child"]
    assert shell.at("zk tree /lab") == ["/lab = hello", '/lab/child = [3,{"a":2,"b":1}]']
    assert shell.at("zk delete /lab") == ["Node not empty: /lab"]
    assert shell.at("zk set /lab bye") == []
    assert shell.at("zk stat /lab") == ["dataVersion = 1", "cversion = 1", "ephemeral = no", "numChildren = 1"]
    assert shell.at("zk set /nosuch x") == ["Node does not exist: /nosuch"]
    assert shell.at("zk ls -R /lab") == ["/lab", "/lab/child"]


def test_configurations_of_the_brokers_show_in_a_description() -> None:
    shell = ShellRun(log_segment_delete_delay_ms="1000", min_insync_replicas="2")
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2 --config retention.ms=5000")
    (first, *_) = shell.at("kafka-topics.sh --describe --topic orders")
    assert first.endswith("Configs: min.insync.replicas=2,retention.ms=5000,file.delete.delay.ms=1000")
    shell.at("broker kill 2")
    shell.at('wait "isr orders-0 == [1]" 20s')
    assert len(shell.at("kafka-topics.sh --describe --under-min-isr-partitions")) == 1
    assert shell.at("kafka-topics.sh --describe --at-min-isr-partitions") == []


def test_segments_and_their_sizes() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2 --config segment.bytes=200")
    shell.at("producer open p")
    shell.at("producer send p orders-0 a:1 b:2 c:3 d:4 e:5")
    assert shell.at("segments orders-0") == ["broker 1: 0(140) 2(140) 4(70)", "broker 2: 0(140) 2(140) 4(70)"]


def test_segments_of_an_unhosted_partition() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2")
    assert shell.at("segments orders-7") == [refused("shell.no_replica", partition="orders-7")]
    assert shell.exit_code == 1


def test_consumer_of_many_topics() -> None:
    shell = ShellRun()
    for topic in ("eu", "us", "other"):
        shell.at(f"kafka-topics.sh --create --topic {topic} --replica-assignment 1:2")
        shell.at(f"kafka-console-producer.sh --topic {topic} <<< {topic}-1")
    printed = shell.at("kafka-console-consumer.sh --include 'e.|u.' --from-beginning --timeout-ms 9000")
    assert sorted(line for line in printed if not line.startswith("!")) == ["eu-1", "us-1"]
    assert printed[-1] == "! Processed a total of 2 messages"


def test_tools_help() -> None:
    shell = ShellRun()
    for tool in (
        "kafka-topics.sh",
        "kafka-console-producer.sh",
        "kafka-console-consumer.sh",
        "kafka-get-offsets.sh",
        "kafka-configs.sh",
        "kafka-leader-election.sh",
        "kafka-log-dirs.sh",
    ):
        printed = shell.at(f"{tool} --help")
        assert printed[0].startswith(("! This tool ", "! An interactive shell "))
        assert printed[1].split()[:2] == ["!", "Option"]
        assert any(line.startswith("! --topic") for line in printed)


def test_unknown_options_are_reported_by_the_tool() -> None:
    shell = ShellRun()
    printed = shell.at("kafka-topics.sh --zookeeper localhost --list")
    assert printed[0] == "! zookeeper is not a recognized option"
    assert shell.exit_code == 1
    printed = shell.at("kafka-console-consumer.sh --topic x --bogus")
    assert printed[0] == "! bogus is not a recognized option"
    assert printed[1].startswith("! Option")


@pytest.mark.parametrize("era", ["0.8", "0.10", "1.1", "2.4"])
def test_tools_of_older_eras_accept_the_zookeeper_option(era: str) -> None:
    shell = ShellRun(era=era)
    create = "kafka-topics.sh --create --zookeeper localhost:2181 --topic orders --partitions 1 --replication-factor 3"
    hint, created = shell.at(create)
    assert hint == refused("shell.zookeeper_option") and created == "Created topic orders."
    assert shell.at("kafka-topics.sh --zookeeper=localhost --list")[1:] == ["orders"]
    assert shell.at("kafka-configs.sh --zookeeper x:1 --describe --entity-type topics --entity-name orders")[1:] == [
        "Dynamic configs for topic orders are:"
    ]
    assert shell.at("kafka-topics.sh --list --zookeeper")[0] == "! zookeeper is not a recognized option"
    assert shell.at("kafka-get-offsets.sh --zookeeper x --topic orders")[0].endswith("is not a recognized option")


def test_topic_of_a_million_partitions_is_refused_at_once() -> None:
    shell = ShellRun()
    create = "kafka-topics.sh --create --topic orders --partitions {} --replication-factor 3"
    assert "Excessively large number of partitions" in "\n".join(shell.at(create.format(1_000_000)))
    shell.at(create.format(1))
    grown = shell.at("kafka-topics.sh --alter --topic orders --partitions 1000000")
    assert "Excessively large number of partitions" in "\n".join(grown)
