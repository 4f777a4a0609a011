"""Malformed data in the znodes that brokers cannot do without: brokers that need them report it in Kafka's words, the
others are not affected.
"""

import pytest

from broker_core.texts import text
from tests.support.shell_runs import ShellRun, refused

ERAS = ("0.8", "0.10", "1.1", "2.4", "3.9")


def keeps_fetching(shell: ShellRun) -> None:
    """The cluster still serves requests, and the lab itself has no failure."""
    shell.at("kafka-topics.sh --create --topic after --replica-assignment 1:2")
    assert shell.at("kafka-get-offsets.sh --topic after") == ["after:0:0"]
    assert shell.run.view["alarms"] == {}


@pytest.mark.parametrize("era", [era for era in ERAS if era != "0.8"])
def test_broker_that_cannot_read_the_id_of_the_cluster_does_not_start(era: str) -> None:
    shell = ShellRun(era=era)
    whole = shell.at("zk get /cluster/id")[0]
    shell.at("zk set /cluster/id rubbish")
    shell.at("broker stop 3")
    assert shell.at("broker start 3") == [
        refused("shell.broker_start_failed", broker=3, reason=text("fatal.cluster_id", json="rubbish"))
    ]
    assert shell.exit_code == 1
    keeps_fetching(shell)
    shell.at(f"zk set /cluster/id '{whole}'")
    assert shell.at("broker start 3") == []


@pytest.mark.parametrize("era", ["1.1", "2.4"])
def test_broker_that_allocates_producer_ids_fails_to_start_without_them(era: str) -> None:
    shell = ShellRun(era=era)
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2,2:1,3:2")
    shell.at("zk set /latest_producer_id_block rubbish")
    shell.at("broker stop 3")
    assert shell.at("broker start 3") == [
        refused(
            "shell.broker_start_failed",
            broker=3,
            reason=text("fatal.producer_ids", json="rubbish"),
        )
    ]
    keeps_fetching(shell)
    shell.at("zk delete /latest_producer_id_block")
    shell.at("zk create /latest_producer_id_block")
    assert shell.at("broker start 3") == []
    assert shell.at('wait "isr orders-0 == [1,2]" 10s') == []


@pytest.mark.parametrize("block", ["rubbish", '{"version":1,"broker":1,"block_start":"0","block_end":"x"}'])
def test_init_producer_id_waits_until_the_block_is_readable(block: str) -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3")
    shell.at(f"zk set /latest_producer_id_block '{block}'")
    shell.at("producer open p1 --acks all")
    shell.run.submit("producer send p1 orders-0 k:v", "test")
    shell.after(5)
    assert shell.at("kafka-get-offsets.sh --topic orders") == ["orders:0:0"]
    keeps_fetching(shell)
    whole = '{"version":1,"broker":1,"block_start":"0","block_end":"999"}'
    shell.at(f"zk set /latest_producer_id_block '{whole}'")
    shell.after(5)
    assert shell.at("kafka-get-offsets.sh --topic orders") == ["orders:0:1"]


@pytest.mark.parametrize("era", ERAS)
def test_invalid_broker_registrations_are_ignored(era: str) -> None:
    shell = ShellRun(era=era)
    shell.at("zk create /brokers/ids/x rubbish")
    shell.at("broker stop 3")
    assert shell.at("broker start 3") == []
    assert shell.at('wait "brokers == [1,2,3]" 10s') == []
    keeps_fetching(shell)


@pytest.mark.parametrize("era", ERAS)
def test_broker_whose_id_is_registered_externally_does_not_start(era: str) -> None:
    shell = ShellRun(era=era)
    shell.at("broker stop 3")
    shell.at("zk create /brokers/ids/3 rubbish")
    assert shell.at("broker start 3") == [
        refused(
            "shell.broker_start_failed",
            broker=3,
            reason="KeeperException$NodeExistsException: KeeperErrorCode = NodeExists",
        )
    ]
    keeps_fetching(shell)
    shell.at("zk delete /brokers/ids/3")
    assert shell.at("broker start 3") == []
