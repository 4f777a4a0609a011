"""A coordinator that loads a large partition: each step of the engine does a bounded part, and requests are served."""

import copy
from collections import Counter
from typing import Any

import pytest

from broker_core.errors import Errors
from broker_core.events.group import GroupsLoaded, GroupsLoadStarted
from broker_core.events.transaction import TransactionsLoaded, TransactionsLoadStarted
from broker_core.groups import loading, offset_log
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.groups.facts import Groups
from broker_core.groups.offset_log import LoadedOffset
from broker_core.groups.offsets import CommittedOffset
from broker_core.log.recovery import slices
from broker_core.run import Run
from broker_core.transactions import loading as transaction_loading
from broker_core.transactions.coordinator import TransactionCoordinator
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

GROUPS = [f"g{number:02}" for number in range(10)]
IDS = [f"pay{number}" for number in range(10)]
OFFSETS = "__consumer_offsets-0"
PARTITIONS = 3
SLICE = 4


def with_groups() -> ShellRun:
    """Ten groups with an offset for each of three partitions, all in one partition of `__consumer_offsets`."""
    shell = ShellRun(offsets_topic_num_partitions="1")
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,1:2:3,1:2:3")
    shell.at("producer open p --acks 1")
    shell.at("producer send p orders-0 a:1 b:2")
    for name in GROUPS:
        shell.at(f"kafka-consumer-groups.sh --reset-offsets --group {name} --topic orders --to-earliest --execute")
    shell.after(1)
    shell.journal()
    return shell


def fail_over(shell: ShellRun, partition: str = OFFSETS) -> int:
    """Ends the coordinator; returns the next one, which has begun to load."""
    old = shell.run.view["partitions"][partition]["leader"]
    shell.run.submit(f"broker kill {old}")
    while shell.run.view["partitions"][partition]["leader"] == old or not loads(shell, partition):
        assert shell.run.step_event()
    return shell.run.view["partitions"][partition]["leader"]


def loads(shell: ShellRun, partition: str) -> bool:
    """Whether its leader is between two slices of loading it."""
    broker = shell.run._cluster.brokers[shell.run.view["partitions"][partition]["leader"]]
    parts = (broker.groups._loading, broker.transactions.coordinator.partitions)
    return any(partition in part._progress for part in parts)


def coordinator(shell: ShellRun, broker: int) -> GroupCoordinator:
    return shell.run._cluster.brokers[broker].groups


def offsets(shell: ShellRun, broker: int) -> dict[str, dict[str, int]]:
    groups = shell.run.view["groups"].values()
    return {group["group"]: group["offsets"] for group in groups if group["coordinator"] == f"b{broker}"}


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_BATCHES", SLICE)
    monkeypatch.setattr(loading, "SLICE_EVENTS", SLICE)
    monkeypatch.setattr(transaction_loading, "SLICE_IDS", SLICE)


@pytest.mark.usefixtures("small_slices")
def test_partition_is_loaded_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = with_groups()
    before = offsets(shell, shell.run.view["partitions"][OFFSETS]["leader"])
    replayed, taken_in = Counter[int](), Counter[int]()
    take, commit = offset_log._take, Groups.commit

    def count_replayed(*given: Any) -> None:
        replayed[shell.run._kernel.steps] += 1
        take(*given)

    def count_taken_in(*given: Any) -> None:
        taken_in[shell.run._kernel.steps] += 1
        commit(*given)

    monkeypatch.setattr(offset_log, "_take", count_replayed)
    monkeypatch.setattr(Groups, "commit", count_taken_in)
    broker = fail_over(shell)
    shell.after(20)
    assert offsets(shell, broker) == before and sorted(before) == GROUPS
    assert sum(replayed.values()) >= len(GROUPS) * PARTITIONS and max(replayed.values()) <= SLICE * PARTITIONS
    assert sum(taken_in.values()) == len(GROUPS) * PARTITIONS and max(taken_in.values()) <= SLICE + PARTITIONS
    started, loaded = shell.events(GroupsLoadStarted, GroupsLoaded)
    assert isinstance(started, GroupsLoadStarted) and (loaded.broker, loaded.partition) == (f"b{broker}", OFFSETS)
    assert (loaded.group_count, loaded.offset_count) == (len(GROUPS), len(GROUPS) * PARTITIONS)
    assert differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_requests_are_served_and_those_for_groups_refused_until_all_are_taken_in() -> None:
    shell = with_groups()
    broker = fail_over(shell)
    groups = coordinator(shell, broker)
    stages = set()
    while loads(shell, OFFSETS):
        assert groups.status(GROUPS[0]) is Errors.COORDINATOR_LOAD_IN_PROGRESS and groups.is_loading
        stages.add(OFFSETS in groups.registry.owned)
        assert differences(shell.run) == []
        assert shell.run.step_event()
    assert stages == {False, True}
    assert groups.status(GROUPS[0]) is Errors.NONE and not groups.is_loading


def test_small_partition_is_loaded_in_one_step() -> None:
    shell = with_groups()
    old = shell.run.view["partitions"][OFFSETS]["leader"]
    shell.at(f"broker kill {old}")
    shell.after(20)
    assert not shell.events(GroupsLoadStarted)
    assert sorted(offsets(shell, shell.run.view["partitions"][OFFSETS]["leader"])) == GROUPS


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("steps", [1, 40])
def test_coordinator_killed_while_it_loads_is_replaced(steps: int) -> None:
    shell = with_groups()
    before = offsets(shell, shell.run.view["partitions"][OFFSETS]["leader"])
    broker = fail_over(shell)
    for _ in range(steps):
        if loads(shell, OFFSETS):
            shell.run.step_event()
    shell.at(f"broker kill {broker}")
    shell.after(30)
    leader = shell.run.view["partitions"][OFFSETS]["leader"]
    assert leader != broker and offsets(shell, leader) == before
    shell.at(f"broker start {broker}")
    shell.after(30)
    assert not shell.run.view["alarms"] and differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_coordinator_that_resigns_while_it_loads_forgets_the_partition() -> None:
    shell = with_groups()
    groups = coordinator(shell, fail_over(shell))
    while not groups.registry.known:
        assert shell.run.step_event()
    groups.on_resignation(OFFSETS)
    assert groups.status(GROUPS[0]) is Errors.NOT_COORDINATOR and not groups.is_loading
    shell.after(1)
    assert not groups.registry.known and differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_transaction_that_ends_between_two_slices_decides_the_offsets_not_taken_in_yet() -> None:
    shell = with_groups()
    broker = fail_over(shell)
    groups = coordinator(shell, broker)
    while not groups.registry.known:
        assert shell.run.step_event()
    loaded = groups._loading._progress[OFFSETS].replay.loaded
    last = GROUPS[-1]
    assert last not in groups.registry.known
    for producer_id, offset in ((7, 1), (8, 2)):
        pending = LoadedOffset(1_000, CommittedOffset(offset, -1, "", 0))
        loaded.pending[producer_id] = {last: {f"orders-{offset}": pending}}
    groups.transaction_completed(7, OFFSETS, True)
    groups.transaction_completed(8, OFFSETS, False)
    shell.after(20)
    assert offsets(shell, broker)[last] == {"orders-0": 0, "orders-1": 1, "orders-2": 0}
    assert not groups.registry.known[last].pending_transactional


@pytest.mark.usefixtures("small_slices")
def test_loading_continues_after_a_restored_checkpoint_and_makes_the_same_events() -> None:
    shell = with_groups()
    fail_over(shell)
    shell.after(30)
    fail_over(shell)
    running = shell.run.running_commands
    for command in running:
        shell.run.interrupt(command)
    shell.journal()
    saved = shell.run.checkpoint()
    assert saved is not None and loads(shell, OFFSETS)
    disk, store = copy.deepcopy(shell.disk), copy.deepcopy(shell.run._cluster.zookeeper.store)
    again = Run.restore(saved, disk=disk, zk=store)
    for run in (shell.run, again):
        run.advance(run.now_us + 20_000_000)
    assert again.digest() == shell.run.digest() and not loads(shell, OFFSETS)


@pytest.mark.usefixtures("small_slices")
def test_transactional_ids_are_loaded_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = ShellRun(transaction_state_log_num_partitions="1")
    for name in IDS:
        shell.at(f"producer open {name} --transactional-id {name}")
    shell.journal()
    created: Counter[int] = Counter()
    create = TransactionCoordinator._create

    def count(*given: Any) -> Any:
        created[shell.run._kernel.steps] += 1
        return create(*given)

    monkeypatch.setattr(TransactionCoordinator, "_create", count)
    state = "__transaction_state-0"
    broker = fail_over(shell, state)
    transactions = shell.run._cluster.brokers[broker].transactions.coordinator
    while loads(shell, state):
        assert transactions.status(IDS[0]) is Errors.COORDINATOR_LOAD_IN_PROGRESS
        assert shell.run.step_event()
    assert transactions.status(IDS[0]) is Errors.NONE
    assert sum(created.values()) == len(IDS) and max(created.values()) <= SLICE
    shell.after(20)
    events = shell.events(TransactionsLoadStarted, TransactionsLoaded)
    assert [type(event) for event in events] == [TransactionsLoadStarted, TransactionsLoaded]
    assert events[1].count == len(IDS)
    shell.at(f"producer begin {IDS[0]}")
    assert shell.exit_code == 0 and differences(shell.run) == []
