"""Idempotent and transactional producers of the lab, and what their coordinator lives through.

What single requests are answered is held to recordings in tests/oracle/test_conformance.py.
"""

import pytest

from broker_core.eras import ERAS
from broker_core.events.log import BatchAppended
from broker_core.events.rpc import RpcSent
from broker_core.events.transaction import (
    ProducersExpired,
    TransactionsLoaded,
    TransactionsLoadStarted,
    TransactionTransitioned,
)
from broker_core.transactions.log import decode_key, decode_value, encode_key, encode_value
from broker_core.transactions.metadata import TransactionMetadata, Transit
from broker_core.transactions.states import TransactionState
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused

CREATE = "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
READ = "kafka-console-consumer.sh --topic orders --partition 0 --from-beginning --timeout-ms 1000 --isolation-level"


@pytest.fixture
def shell() -> ShellRun:
    run = ShellRun()
    run.at(CREATE)
    return run


def values(shell: ShellRun, level: str = "read_committed") -> list[str]:
    return [line for line in shell.at(f"{READ} {level}") if not line.startswith("! ")]


def coordinator(shell: ShellRun) -> int:
    (transaction,) = shell.run.view["transactions"].values()
    return int(transaction["coordinator"][1:])


def states(shell: ShellRun) -> list[str]:
    return [event.to_state for event in shell.events(TransactionTransitioned)]


def test_record_of_the_coordinator_has_the_bytes_of_a_real_broker() -> None:
    transit = Transit(TransactionState.ONGOING, 0, 0, -1, 60_000, ("data-0",), 1_795_247_565_095, 1_795_247_565_095)
    assert encode_key("tx-1").hex() == "0000000474782d31"
    assert (len(encode_key("tx-1")), len(encode_value(transit))) == (8, 51)
    assert decode_key(encode_key("tx-1")) == "tx-1"
    assert decode_value(encode_value(transit)) == transit


def test_producer_with_exhausted_epochs_gets_a_new_id() -> None:
    current = Transit(TransactionState.EMPTY, 7, 32_766, -1, 1_000, (), -1, 0)
    metadata = TransactionMetadata("x", "__transaction_state-0", current)
    assert metadata.is_epoch_exhausted
    rotated = metadata.rotate_producer_id(8, 1_000, True, 5)
    assert (rotated.producer_id, rotated.producer_epoch, rotated.last_producer_epoch) == (8, 0, 32_766)
    assert rotated.previous_producer_id == 7
    with pytest.raises(ValueError, match="on its way"):
        metadata.fence_epoch()


def test_duplicate_batch_is_written_once(shell: ShellRun) -> None:
    shell.at("kafka-topics.sh --create --topic alone --replica-assignment 1")
    shell.at("producer open p --idempotence true")
    assert shell.at("producer send p alone-0 a:1") == ["alone-0@0"]
    shell.events()
    shell.at("broker freeze 1")
    shell.at("producer stream p alone-0 1")
    shell.after(12)
    shell.at("producer stream p alone-0 0")
    shell.at("broker thaw 1")
    shell.after(20)
    offsets = [e.base_offset for e in shell.events(BatchAppended) if e.replica == "alone-0@b1"]
    assert offsets == sorted(set(offsets))
    assert shell.node("p")["retried"]
    assert differences(shell.run) == []


def test_read_committed_waits_for_the_end_of_the_transaction(shell: ShellRun) -> None:
    shell.at("producer open t --transactional-id pay")
    shell.at("producer begin t")
    assert shell.at("producer send t orders-0 a:1") == ["orders-0@0"]
    shell.at("producer open p --acks all")
    shell.at("producer send p orders-0 b:2")
    assert (values(shell), values(shell, "read_uncommitted")) == ([], ["1", "2"])
    assert shell.run.view["replicas"]["orders-0@b1"]["first_unstable_offset"] == 0
    shell.at("producer abort t")
    assert (values(shell), values(shell, "read_uncommitted")) == (["2"], ["1", "2"])
    shell.after(1)
    assert shell.run.view["replicas"]["orders-0@b1"]["first_unstable_offset"] == -1
    assert differences(shell.run) == []


def test_methods_of_a_transaction_wait_for_the_ids(shell: ShellRun) -> None:
    # As typed in one go: an application would still be in initTransactions.
    shell.run.submit("producer open t --transactional-id pay")
    shell.run.submit("producer begin t")
    assert shell.at("producer send t orders-0 a:1") == ["orders-0@0"]
    assert shell.at("producer commit t") == []
    assert values(shell) == ["1"]


def test_group_member_reads_committed_records(shell: ShellRun) -> None:
    shell.at("producer open t --transactional-id pay")
    shell.at("producer begin t")
    shell.at("producer send t orders-0 a:1")
    shell.at("consumer start c --group g --topic orders --isolation read_committed")
    shell.at('wait "group g == Stable 1" 30s')
    shell.after(1)
    assert shell.at("consumer output c") == []
    shell.at("producer commit t")
    shell.at("producer begin t")
    shell.at("producer send t orders-0 b:2")
    shell.at("producer abort t")
    shell.after(1)
    assert len(shell.at("consumer output c")) == 1
    assert differences(shell.run) == []


def test_prepared_decision_survives_a_coordinator_failover(shell: ShellRun) -> None:
    shell.at("producer open t --transactional-id pay")
    shell.at("producer begin t")
    shell.at("producer send t orders-0 a:1")
    shell.at("producer send t orders-1 b:2")
    shell.events()
    shell.at("producer commit t")
    assert states(shell) == ["PrepareCommit"]
    shell.at(f"broker kill {coordinator(shell)}")
    shell.after(30)
    assert states(shell)[-1] == "CompleteCommit"
    assert differences(shell.run) == []
    shell.at(f"broker start {({1, 2, 3} - set(up(shell))).pop()}")
    shell.after(5)
    assert values(shell) == ["1"]


def test_coordinator_that_is_loading_answers_load_in_progress(shell: ShellRun) -> None:
    shell.at("producer open t --transactional-id pay")
    old = coordinator(shell)
    for broker_id in sorted({1, 2, 3} - {old}):
        shell.at(f"disk slow {broker_id} 2000ms")
    shell.at(f"broker kill {old}")
    shell.at("producer open u --transactional-id pay")
    shell.after(60)
    events = shell.events(TransactionsLoadStarted, TransactionsLoaded, RpcSent)
    partitions = {event.partition for event in events if isinstance(event, TransactionsLoadStarted)}
    assert partitions and partitions <= {event.partition for event in events if isinstance(event, TransactionsLoaded)}
    assert "InitProducerId" in {event.api for event in events if isinstance(event, RpcSent) and event.label == LOADING}
    (transaction,) = shell.run.view["transactions"].values()
    assert transaction["producer_epoch"] == 1
    assert differences(shell.run) == []


def up(shell: ShellRun) -> list[int]:
    nodes = shell.run.view["nodes"].values()
    return [node["broker_id"] for node in nodes if node["kind"] == "broker" and node["state"] == "up"]


def test_transaction_past_its_timeout_is_aborted(shell: ShellRun) -> None:
    shell.at("producer open t --transactional-id pay --transaction-timeout 1000")
    shell.at("producer begin t")
    shell.at("producer send t orders-0 a:1")
    shell.after(25)
    assert states(shell)[-2:] == ["PrepareAbort", "CompleteAbort"]
    (found,) = shell.at("producer commit t")
    assert found.startswith(("InvalidProducerEpochException", "ProducerFencedException"))
    assert values(shell) == []


def test_expired_producers_are_removed() -> None:
    shell = ShellRun(producer_id_expiration_ms="5000", producer_id_expiration_check_interval_ms="2000")
    shell.at(CREATE)
    shell.at("producer open p --idempotence true")
    shell.at("producer send p orders-0 a:1")
    shell.after(10)
    assert {event.replica for event in shell.events(ProducersExpired)} == {f"orders-0@b{n}" for n in (1, 2, 3)}


def test_transactional_methods_need_their_state(shell: ShellRun) -> None:
    shell.at("producer open p --idempotence true")
    assert shell.at("producer begin p") == [
        "IllegalStateException: Transactional method invoked on a non-transactional producer."
    ]
    shell.at("producer open q --acks 1")
    assert shell.at("producer begin q")[0].startswith("IllegalStateException: Cannot use transactional methods")
    shell.at("producer open t --transactional-id pay")
    assert shell.at("producer send t orders-0 a:1") == [
        "IllegalStateException: Cannot add partition orders-0 to transaction while in state  READY"
    ]
    assert shell.at("producer commit t") == [
        "IllegalStateException: TransactionalId pay: Invalid transition attempted from state READY to state "
        "COMMITTING_TRANSACTION"
    ]


def test_fenced_or_uninitialized_producer_is_replaced_when_opened_again(shell: ShellRun) -> None:
    for broker_id in (2, 3):
        shell.at(f"broker kill {broker_id}")
    (late, advice) = shell.at("producer open t --transactional-id pay")
    assert late == "TimeoutException: Timeout expired after 15000ms while awaiting InitProducerId"
    assert advice == refused("shell.producer_without_id", name="t")
    assert shell.at("producer begin t") == [
        "IllegalStateException: Cannot attempt operation `beginTransaction` because the previous call to "
        "`initTransactions` timed out and must be retried"
    ]
    for broker_id in (2, 3):
        shell.at(f"broker start {broker_id}")
    assert shell.at("producer open t --transactional-id pay") == []
    assert shell.at("producer open t --transactional-id pay") == [
        refused("shell.name_taken", name="t", command="producer close")
    ]
    # another producer with the id fences it; opened again it fences that one
    assert shell.at("producer open u --transactional-id pay") == []
    shell.at("producer begin t")
    (fenced,) = shell.at("producer send t orders-0 a:1")
    assert fenced.startswith("ProducerFencedException")
    assert shell.at("producer open t --transactional-id pay") == []
    shell.at("producer begin t")
    (sent,) = shell.at("producer send t orders-0 a:1")
    assert sent.startswith("orders-0@")
    assert shell.at("producer commit t") == []


def test_old_brokers_do_not_support_producer_ids() -> None:
    assert [era.name for era in ERAS.values() if not era.transactions.are_supported] == ["0.8", "0.10"]
    assert [era.name for era in ERAS.values() if era.transactions.are_verified] == ["3.9"]
