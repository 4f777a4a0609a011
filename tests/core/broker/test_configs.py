"""Dynamic configurations: which changes are accepted, which brokers are notified, and the effects."""

from math import inf

import pytest
from msgspec import Struct, structs

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.config.dynamic_config import DynamicBrokerConfig
from broker_core.config_defs import (
    BROKER_CONFIGS,
    DYNAMIC_CONFIGS,
    INT_MAX,
    LONG_MAX,
    TOPIC_CONFIGS,
    ConfigException,
    broker_name,
    text_of,
)
from broker_core.config_defs.java_text import (
    hash_map_order,
    parse_double,
    parse_integer,
    partition_code,
    scala_hash_set_order,
    scala_set,
    scala_set_order,
)
from broker_core.events.control import ConfigurationApplied
from broker_core.groups.host import GroupSettings
from broker_core.log import LogConfig
from broker_core.replication.quota import RESPONSE_BYTES, ReplicationQuota
from broker_core.shell.java import jackson
from broker_core.transactions.host import TransactionSettings
from tests.support.shell_runs import ShellRun

TOPIC = "kafka-configs.sh --alter --entity-type topics --entity-name orders"
DEFAULT = "kafka-configs.sh --alter --entity-type brokers --entity-default"


def broker(shell: ShellRun, broker_id: int):
    return shell.run._cluster.brokers[broker_id]


def make(shell: ShellRun, assignment: str = "1:2", *options: str) -> None:
    shell.at(f"kafka-topics.sh --create --topic orders --replica-assignment {assignment} {' '.join(options)}")
    shell.at("producer open p")


# the tables


def test_every_default_passes_its_own_check() -> None:
    for key in [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()]:
        if key.default is not None:
            assert key.parse(text_of(key.default)) == key.default


@pytest.mark.parametrize("settings", [BrokerConfig, GroupSettings, TransactionSettings, LogConfig])
def test_defaults_of_the_parts_are_those_of_the_definitions(settings: type[Struct]) -> None:
    definitions = {**BROKER_CONFIGS, **TOPIC_CONFIGS}
    compared = 0
    for field in structs.fields(settings):
        key = definitions.get(field.name.replace("_", "."))
        if key is not None:
            default = ",".join(key.default) if isinstance(key.default, tuple) else key.default
            assert field.default == default, key.name
            compared += 1
    assert compared > 4


def test_settings_that_topics_inherit_are_dynamic() -> None:
    assert set(BROKER_CONFIGS) >= DYNAMIC_CONFIGS - {"log.cleaner.io.max.bytes.per.second"}
    for name in TOPIC_CONFIGS:
        taken = broker_name(name)
        if taken is not None and name not in ("message.format.version", "segment.index.bytes"):
            assert taken in DYNAMIC_CONFIGS, name


@pytest.mark.parametrize("version", ["2.8", "2.8.1", "0.10.2", "3.0-IV1", "3.9"])
def test_versions_of_formats(version: str) -> None:
    TOPIC_CONFIGS["message.format.version"].parse(version)


@pytest.mark.parametrize("version", ["9.9", "2", "", "2.8-IV9"])
def test_invalid_versions_are_refused(version: str) -> None:
    with pytest.raises(ConfigException, match=f"Version {version} is not a valid version"):
        TOPIC_CONFIGS["message.format.version"].parse(version)


def test_order_of_java_hash_maps() -> None:
    assert scala_set(["broker.id", "zookeeper.connect"]) == "Set(zookeeper.connect, broker.id)"
    assert hash_map_order(["nosuch-1", "orders-9"], code=partition_code) == ["orders-9", "nosuch-1"]


@pytest.mark.parametrize(("count", "first"), [(6, 0), (13, 7)])
def test_partitions_of_a_transaction_are_in_the_order_of_scala_sets(count: int, first: int) -> None:
    """As a real broker described transactions of `count` partitions: the set of 13 is a larger one."""
    numbers = [*range(first, count), *range(first)]
    added = [f"orders-{number}" for number in range(count)]
    assert scala_hash_set_order(added, partition_code) == [f"orders-{number}" for number in numbers]


def test_order_of_immutable_scala_sets() -> None:
    """As Scala 2.13 returned them; the last four have the same hash."""
    few = ["e", "d", "c", "e", "b"]
    assert scala_set_order(few) == ["e", "d", "c", "b"]
    many = ["e", "d", "c", "b", "a", "zz", "Classic", "nope"]
    assert scala_set_order(many) == ["e", "a", "nope", "b", "zz", "c", "Classic", "d"]
    more = [*"abcdefghijklmnopqrstuvwxyz", "aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh", "ii", "jj", "kk"]
    more += ["topic-1", "topic-2", "topic-33", "AaAa", "BBBB", "AaBB", "BBAa"]
    assert " ".join(scala_set_order(more)) == (
        "n t topic-2 a m i v topic-1 e s x j y u f q b g l p AaAa BBBB AaBB BBAa"
        " cc c h aa r bb topic-33 w ee ff k hh kk ii jj o z dd gg d"
    )


# one broker


def test_per_broker_values_override_cluster_defaults_and_static_ones() -> None:
    config = DynamicBrokerConfig(BrokerConfig.of({"min.insync.replicas": "1", "log.retention.hours": "5"}))
    config.update(defaults={"min.insync.replicas": "2", "log.retention.ms": "70"})
    config.update(own={"min.insync.replicas": "3"})
    assert config.current.settings == {"min.insync.replicas": "3", "log.retention.ms": "70"}
    config.update(own={})
    assert config.current.settings["min.insync.replicas"] == "2"
    config.update(defaults={})
    assert config.current.settings == {"min.insync.replicas": "1", "log.retention.hours": "5"}


def test_invalid_dynamic_values_in_zookeeper_are_ignored() -> None:
    config = DynamicBrokerConfig(BrokerConfig())
    config.update(defaults={"log.segment.bytes": "many", "broker.id": "7", "listeners": "x", "log.roll.ms": "5"})
    assert config.defaults == {"log.roll.ms": "5"}


def test_thread_pools_are_resized_within_factor_two() -> None:
    config = DynamicBrokerConfig(BrokerConfig())
    config.validate({"num.io.threads": "16"}, per_broker=True)
    config.validate({"num.io.threads": "4"}, per_broker=True)
    for wanted, why in (("17", "not be greater than double"), ("3", "at least half")):
        with pytest.raises(ConfigException, match=why):
            config.validate({"num.io.threads": wanted}, per_broker=True)


@pytest.mark.parametrize("era", ["0.8", "0.10", "1.1", "2.4", "3.9"])
def test_brokers_of_every_era_are_configured_while_they_run(era: str) -> None:
    """The checks of 3.9 apply to the settings that were set, not to the defaults of an older release."""
    shell = ShellRun(era=era)
    one = "kafka-configs.sh --alter --entity-type brokers --entity-name 1"
    assert shell.at(f"{one} --add-config log.cleaner.threads=2") == ["Completed updating config for broker 1."]
    everywhere = "Completed updating default config for brokers in the cluster."
    assert shell.at(f"{DEFAULT} --add-config log.segment.bytes=5000") == [everywhere]
    shell.after(1)
    assert broker(shell, 1).config.log_cleaner_threads == 2
    assert broker(shell, 2).config.settings["log.segment.bytes"] == "5000"
    assert shell.at(f"{one} --delete-config log.cleaner.threads") == ["Completed updating config for broker 1."]


def test_listeners_of_ipv4_and_ipv6_may_share_a_port() -> None:
    config = DynamicBrokerConfig(BrokerConfig())
    names = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT"}
    config.validate({**names, "listeners": "PLAINTEXT://127.0.0.1:9092,SECOND://[::1]:9092"}, per_broker=True)
    with pytest.raises(ConfigException, match="one needs to be IPv4 and the other IPv6"):
        config.validate({**names, "listeners": "PLAINTEXT://127.0.0.1:9092,SECOND://127.0.0.2:9092"}, per_broker=True)


DIGITS = "9" * 5000
"""More digits than Python converts to an integer."""


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("listeners", f"PLAINTEXT://:{DIGITS}", "For input string"),
        ("max.connections.per.ip.overrides", f"a:{DIGITS}", "For input string"),
        ("log.cleaner.threads", DIGITS, "Not a number of type INT"),
        ("leader.replication.throttled.rate", DIGITS, "Not a number of type LONG"),
        ("log.cleaner.min.cleanable.ratio", DIGITS, "Value must be no more than 1"),
    ],
)
def test_out_of_range_numbers_are_refused_with_kafkas_message(name: str, text: str, why: str) -> None:
    with pytest.raises(ConfigException, match=why):
        DynamicBrokerConfig(BrokerConfig()).validate({name: text}, per_broker=True)


def test_huge_numbers_in_znodes_do_not_stop_a_broker() -> None:
    shell = ShellRun()
    make(shell)
    zeros = "0" * 5000
    rate = f"leader.replication.throttled.rate={zeros}7"
    shell.at(f"kafka-configs.sh --alter --entity-type brokers --entity-name 1 --add-config {rate}")
    shell.at(f"{TOPIC} --add-config leader.replication.throttled.replicas=[{DIGITS}:1,0:{DIGITS},{zeros}:1]")
    shell.at(f"zk create /config/changes/config_change_{DIGITS} rubbish")
    shell.after(1)
    leader = broker(shell, 1).quotas.leader
    assert leader.bytes_per_second == 7
    assert leader.throttled == {"orders": {0}}


@pytest.mark.parametrize(
    ("text", "bits", "number"),
    [
        ("2147483647", 32, INT_MAX),
        ("-2147483648", 32, -INT_MAX - 1),
        ("2147483648", 32, None),
        ("-2147483649", 32, None),
        ("9223372036854775807", 64, LONG_MAX),
        ("9223372036854775808", 64, None),
        ("32768", 16, None),
        ("+007", 32, 7),
        ("-0", 32, 0),
        ("00", 32, 0),
        ("", 32, None),
        ("+", 32, None),
        ("1 ", 32, None),
        ("1_0", 32, None),
    ],
)
def test_integers_are_parsed_as_in_java(text: str, bits: int, number: int | None) -> None:
    assert parse_integer(text, bits) == number


@pytest.mark.parametrize(
    ("text", "number"), [("0x1p99999", inf), ("-0x1p99999", -inf), ("0x1.8p1", 3.0), ("0x1", None)]
)
def test_hexadecimal_doubles_are_parsed_as_in_java(text: str, number: float | None) -> None:
    assert parse_double(text) == number


# effects


def test_smaller_segment_size_applies_at_the_next_append() -> None:
    shell = ShellRun()
    make(shell)
    shell.at("producer send p orders-0 a:1 b:2 c:3")
    assert shell.at(f"{TOPIC} --add-config segment.bytes=200") == ["Completed updating config for topic orders."]
    shell.at("producer send p orders-0 d:4 e:5")
    assert shell.at("segments orders-0") == ["broker 1: 0(210) 3(140)", "broker 2: 0(210) 3(140)"]
    shell.at(f"{TOPIC} --delete-config segment.bytes")
    shell.at("producer send p orders-0 f:6")
    assert shell.at("segments orders-0") == ["broker 1: 0(210) 3(210)", "broker 2: 0(210) 3(210)"]


def test_cluster_wide_min_isr_applies_without_a_restart() -> None:
    shell = ShellRun()
    make(shell, "1:2")
    shell.at("broker kill 2")
    shell.at('wait "isr orders-0 == [1]" 20s')
    assert shell.at("producer send p orders-0 a:1") == ["orders-0@0"]
    shell.at(f"{DEFAULT} --add-config min.insync.replicas=2")
    shell.at("producer open q --retries 0")
    assert shell.at("producer send q orders-0 b:2")[-1].startswith("NotEnoughReplicasException")
    shell.at(f"{DEFAULT} --delete-config min.insync.replicas")
    assert shell.at("producer send p orders-0 c:3") == ["orders-0@1"]


def test_broker_reads_dynamic_configs_at_start() -> None:
    shell = ShellRun()
    make(shell, "2:3")
    shell.at("broker stop 3")
    shell.at(f"{TOPIC} --add-config segment.bytes=200")
    shell.at(f"{DEFAULT} --add-config log.index.interval.bytes=7")
    shell.at("broker start 3")
    shell.at('wait "isr orders-0 == [2,3]" 20s')
    config = broker(shell, 3).replicas.partitions["orders-0"].log.config
    assert (config.segment_bytes, config.index_interval_bytes) == (200, 7)


def test_broker_whose_session_ended_catches_up_with_the_notifications() -> None:
    shell = ShellRun()
    make(shell, "1:2")
    shell.at("broker freeze 2")
    shell.after(10)
    shell.at(f"{TOPIC} --add-config segment.bytes=200")
    shell.at("broker thaw 2")
    shell.at('wait "isr orders-0 == [1,2]" 20s')
    assert broker(shell, 2).replicas.partitions["orders-0"].log.config.segment_bytes == 200


def test_notifications_are_purged_after_a_quarter_of_an_hour() -> None:
    shell = ShellRun()
    make(shell)
    shell.at(f"{TOPIC} --add-config segment.bytes=200")
    shell.after(14 * 60)
    shell.at(f"{TOPIC} --add-config segment.bytes=300")
    shell.after(1)
    assert shell.at("zk ls /config/changes") == ["[config_change_0000000000, config_change_0000000001]"]
    shell.after(2 * 60)
    shell.at(f"{TOPIC} --add-config segment.bytes=400")
    shell.after(1)
    assert shell.at("zk ls /config/changes") == ["[config_change_0000000001, config_change_0000000002]"]


def test_malformed_znodes_below_config_are_ignored() -> None:
    shell = ShellRun()
    make(shell)
    shell.at("zk create /config/changes/config_change_0 rubbish")
    shell.at("zk set /config/topics/orders rubbish")
    shell.at(f"{TOPIC} --add-config segment.bytes=200")
    assert broker(shell, 1).replicas.partitions["orders-0"].log.config.segment_bytes == 200


def test_dynamic_configs_survive_a_restart_of_all_brokers() -> None:
    shell = ShellRun()
    make(shell)
    shell.at("kafka-configs.sh --alter --entity-type brokers --entity-name 2 --add-config log.segment.bytes=5000")
    for broker_id in (1, 2, 3):
        shell.at(f"broker kill {broker_id}")
    for broker_id in (1, 2, 3):
        shell.at(f"broker start {broker_id}")
    shell.at('wait "brokers == [1,2,3]" 60s')
    assert shell.at("kafka-configs.sh --describe --entity-type brokers --entity-name 2")[1:] == [
        "  log.segment.bytes=5000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.segment.bytes=5000, "
        "DEFAULT_CONFIG:log.segment.bytes=1073741824}"
    ]


def test_alter_configs_of_a_broker_that_is_down_times_out() -> None:
    shell = ShellRun()
    shell.at("broker stop 3")
    begun_us = shell.run.now_us
    printed = shell.at("kafka-configs.sh --describe --entity-type brokers --entity-name 3")
    assert printed[-1] == "! java.util.concurrent.TimeoutException"
    assert 30_000_000 <= shell.run.now_us - begun_us < 31_000_000


def test_logger_level_applies_to_children_until_the_broker_stops() -> None:
    shell = ShellRun()
    described = "kafka-configs.sh --describe --broker-logger 2"
    level = "  kafka.controller.KafkaController={} sensitive=false synonyms={{}}"
    shell.at("kafka-configs.sh --alter --broker-logger 2 --add-config root=ERROR")
    assert level.format("ERROR") in shell.at(described)
    for step in ("kill", "start"):
        shell.at(f"broker {step} 2")
    assert level.format("WARN") in shell.at(described)


def test_quotas_are_propagated_and_credentials_are_not_returned() -> None:
    shell = ShellRun()
    applied = []
    for line in ("--client c1 --add-config producer_byte_rate=5", "--add-config SCRAM-SHA-256=[password=x]"):
        shell.at(f"kafka-configs.sh --alter --user u {line}")
        shell.at("sleep 1s")
        applied.append({(each.broker, each.entity, each.configs) for each in shell.events(ConfigurationApplied)})
    brokers = ("b1", "b2", "b3")
    assert applied[0] == {(broker, "users/u/clients/c1", (("producer_byte_rate", "5"),)) for broker in brokers}
    assert applied[1] == {(broker, "users/u", (("SCRAM-SHA-256", "[hidden]"),)) for broker in brokers}


# quotas


def test_quota_is_measured_over_eleven_samples() -> None:
    quota = ReplicationQuota()
    quota.bytes_per_second = 100
    quota.throttle("orders", ("0:1", "1:2", "2:1"), 1)
    assert [quota.is_throttled(f"orders-{number}") for number in range(3)] == [True, False, True]
    assert not quota.holds_back("orders-0", 0)
    quota.record(1_000, 0)
    assert quota.holds_back("orders-0", 5_000_000)
    assert not quota.holds_back("orders-1", 5_000_000)
    assert not quota.holds_back("orders-0", 10_500_000)
    quota.record(1_000_000, 10_500_000)
    assert quota.holds_back("orders-0", 20_000_000)
    assert not quota.holds_back("orders-0", 21_500_000)
    quota.throttle("orders", (), 1)
    assert not quota.is_throttled("orders-0")


def test_wildcard_throttles_all_replicas_and_counts_batch_overhead() -> None:
    quota = ReplicationQuota()
    quota.throttle("orders", ("*",), 1)
    assert quota.is_throttled("orders-17")
    assert quota.bytes_per_second == LONG_MAX
    quota.bytes_per_second = RESPONSE_BYTES - 1
    quota.record_response([], 0)
    assert quota.holds_back("orders-0", 1)


def test_throttled_replica_waits_and_resumes() -> None:
    shell = ShellRun()
    make(shell, "1:2")
    shell.at("producer send p orders-0 a:1")
    shell.at("file move.json", '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,3]}]}')
    shell.at("kafka-reassign-partitions.sh --reassignment-json-file move.json --execute --throttle 1")
    assert shell.at('wait "replicas orders-0 == [1,3]" 30s') == ["[timeout]"]
    for broker_id in (1, 2, 3):
        shell.at(
            f"kafka-configs.sh --alter --entity-type brokers --entity-name {broker_id} "
            "--add-config leader.replication.throttled.rate=100000"
        )
    assert shell.at('wait "replicas orders-0 == [1,3]" 30s') == []


# files that are not JSON


@pytest.mark.parametrize("text", ['{"a":[1,2,{"b":null}],"c":"d\\"e","f":-1.5e3,"g":true}', "[]", "7 and more", '""'])
def test_valid_json_has_no_error(text: str) -> None:
    assert jackson.fault(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a" 1}', "Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value"),
        ("[1 2]", "Unexpected character ('2' (code 50)): was expecting comma to separate Array entries"),
        ('{"a":nul}', "Unrecognized token 'nul': was expecting (JSON String, Number, Array, Object or token"),
        ('{"a"', "Unexpected end-of-input within/between Object entries"),
        ('{"a', "Unexpected end-of-input in field name"),
        ('{"a":1,', "Unexpected end-of-input within/between Object entries"),
        ('{"a":1.}', "Unexpected character ('}' (code 125)) in numeric value: Decimal point not followed by a digit"),
        ('{"a":1e+}', "Unexpected character ('}' (code 125)) in numeric value: Exponent indicator not followed by a"),
        ('{"a":-01}', "Invalid numeric value: Leading zeroes not allowed"),
        ('{"a":12-3}', "Unexpected character ('-' (code 45)): was expecting comma to separate Object entries"),
        ('{"a":+1}', "Unexpected character ('+' (code 43)) in numeric value: JSON spec does not allow numbers to have"),
        ('{"a":-Infinity}', "Non-standard token '-Infinity': enable `JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS`"),
        ('{"a":"\\x"}', "Unrecognized character escape 'x' (code 120)"),
        ('{"a":"\\u12G4"}', "Unexpected character ('G' (code 71)): expected a hex-digit for character escape sequence"),
        ("// c", "Unexpected character ('/' (code 47)): maybe a (non-standard) comment? (not recognized as one since"),
        ("]", "Unexpected close marker ']': expected '}' (for root starting at [Source: REDACTED"),
        ("{\u201ca\u201d:1}", "Unexpected character ('\u201c' (code 8220 / 0x201c)): was expecting double-quote to"),
    ],
)
def test_first_json_error_is_reported(text: str, message: str) -> None:
    fault = jackson.fault(text)
    assert fault is not None
    assert fault.lines[0].startswith(message)
    assert fault.lines[1].startswith(" at [Source: REDACTED")


def test_settings_of_groups_reach_the_coordinator() -> None:
    groups = BrokerConfig.of({"group.min.session.timeout.ms": "1000", "group.initial.rebalance.delay.ms": "0"}).groups
    assert (groups.group_min_session_timeout_ms, groups.group_initial_rebalance_delay_ms) == (1000, 0)
