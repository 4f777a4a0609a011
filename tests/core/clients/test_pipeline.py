"""Pipelines: clients that read, write and commit in a loop, and what each order of that costs when they die."""

from collections import Counter
from collections.abc import Callable

import pytest

from broker_core.events.group import OffsetCommitted, PipelineStageChanged
from broker_core.shell.grammar.parser import ShellError
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused

ORDERS = ("commit-first", "write-first", "transaction")


@pytest.fixture
def shell() -> ShellRun:
    run = ShellRun(transaction_abort_timed_out_transaction_cleanup_interval_ms="1000")
    for topic in ("in", "out"):
        run.at(f"kafka-topics.sh --create --topic {topic} --partitions 2 --replication-factor 3")
    run.at("producer open p")
    return run


def start(shell: ShellRun, order: str, name: str = "w1", *options: str) -> None:
    line = f"pipeline start {name} --from in --to out --group g --order {order}"
    assert shell.at(" ".join((line, "--isolation read_committed", *options))) == []


def written(shell: ShellRun) -> Counter[str]:
    """How often each value is in the output, as a read_committed consumer sees it."""
    shell.at("consumer start check --group check --topic out --isolation read_committed")
    shell.after(8)
    return Counter(line.rsplit(":", 1)[1] for line in shell.at("consumer stop check"))


@pytest.mark.parametrize("order", ORDERS)
def test_each_record_is_written_once_when_nothing_fails(shell: ShellRun, order: str) -> None:
    start(shell, order)
    shell.after(5)
    shell.at("producer burst p in 60")
    shell.after(4)
    node = shell.node("w1")
    assert (node["pipeline"]["handled"], node["pipeline"]["in_hand"], node["pipeline"]["rewinds"]) == (60, 0, 0)
    assert shell.node("w1-producer")["acknowledged"] == 60
    assert written(shell) == Counter({f"p-{number}": 1 for number in range(60)})
    assert differences(shell.run) == []


def until(shell: ShellRun, condition: Callable[[], bool]) -> None:
    """Runs event by event until a condition holds."""
    for _ in range(20_000):
        shell.run.step_event()
        if condition():
            return
    raise AssertionError("the condition never held")


def until_stage(shell: ShellRun, stage: str) -> None:
    """Runs until the pipeline enters a step of its cycle."""
    until(shell, lambda: shell.node("w1")["pipeline"]["state"] == stage)


@pytest.mark.parametrize(("order", "copies"), [("commit-first", 0), ("write-first", 2)])
def test_death_between_the_two_steps_loses_or_repeats(shell: ShellRun, order: str, copies: int) -> None:
    start(shell, order)
    shell.after(5)
    shell.at("producer send p in a:1")
    if order == "commit-first":
        until(shell, lambda: any(commit.group == "g" for commit in shell.events(OffsetCommitted)))
    else:
        until(shell, lambda: shell.node("w1-producer")["acknowledged"] == 1)
    shell.at("pipeline restart w1")
    shell.after(20)
    assert written(shell)["1"] == copies


@pytest.mark.parametrize("stage", ["writing", "sending offsets", "ending"])
def test_death_in_a_transaction_neither_loses_nor_repeats(shell: ShellRun, stage: str) -> None:
    start(shell, "transaction")
    shell.after(5)
    shell.at("producer send p in a:1")
    until_stage(shell, stage)
    shell.at("pipeline restart w1")
    shell.after(25)
    assert written(shell) == Counter({"1": 1})
    assert differences(shell.run) == []


def test_second_pipeline_with_the_same_transactional_id_fences_the_first(shell: ShellRun) -> None:
    start(shell, "transaction", "w1", "--transactional-id", "tx")
    shell.after(5)
    start(shell, "transaction", "w2", "--transactional-id", "tx")
    shell.after(2)
    shell.at("producer burst p in 20")
    shell.after(6)
    assert shell.node("w1")["member"]["state"] == "failed"
    assert "ProducerFencedException" in shell.node("w1")["member"]["why"]


def test_frozen_pipeline_loses_its_partitions_and_its_transaction(shell: ShellRun) -> None:
    start(shell, "transaction")
    shell.after(5)
    start(shell, "transaction", "w2")
    shell.after(8)
    shell.at("producer stream p in 20")
    until_stage(shell, "sending offsets")
    shell.at("consumer freeze w1")
    assert shell.node("w1-producer")["state"] == "frozen"
    shell.after(12)
    shell.at("consumer thaw w1")
    shell.at("producer stream p in 0")
    shell.after(20)
    found = written(shell)
    assert set(found.values()) == {1}
    assert found.total() == shell.node("p")["acknowledged"]


def test_stop_completes_the_cycle_and_leaves_the_group(shell: ShellRun) -> None:
    start(shell, "write-first", "w1", "--process-ms 100")
    shell.after(5)
    shell.at("producer burst p in-0 5")
    shell.after(0.2)
    shell.at("pipeline stop w1")
    assert shell.events(PipelineStageChanged)[-1].handled == 5
    assert not {"w1", "w1-producer"} & shell.run.view["nodes"].keys()
    (group,) = [each for name, each in shell.run.view["groups"].items() if name.startswith("g@")]
    assert group["state"] == "Empty"


def test_invalid_pipelines_are_refused(shell: ShellRun) -> None:
    for words, id in (
        ("start w --from in --to out", "pipeline_incomplete"),
        ("start w --from in --to out --group g --order any", "option_choice"),
        ("start w --from in --to out --group g --order write-first --transactional-id t", "pipeline_order_without"),
        ("start w --from in --to a/b --group g", "invalid_topic"),
        ("start w --from in --to out --group g --acks 7", "pipeline_producer"),
    ):
        with pytest.raises(ShellError) as caught:
            shell.at(f"pipeline {words}")
        assert caught.value.what.id.startswith(f"shell.{id}"), words
    for verb in ("stop", "kill", "restart"):
        assert shell.at(f"pipeline {verb} w") == [refused("shell.no_pipeline", name="w")]
    start(shell, "write-first")
    assert shell.at("pipeline start w1 --from in --to out --group g") == [
        refused("shell.name_taken", name="w1", command="pipeline stop")
    ]
    old = ShellRun(era="0.10")
    assert old.at("pipeline start w --from in --to out --group g --order transaction") == [
        refused("shell.old_pipeline", era="0.10")
    ]
