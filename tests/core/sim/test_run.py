"""`Run`: a whole cluster driven by its inputs. Determinism, parity of view and cluster, re-execution, checkpoints."""

import copy
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from broker_core.events.control import ZnodeCreated
from broker_core.events.envelope import Envelope
from broker_core.events.log import PowerLost
from broker_core.events.replica import IsrExpanded, IsrShrunk
from broker_core.run import INPUTS_BETWEEN_CHECKS, Input, Run, RunConfig
from broker_core.shell.grammar.parser import ShellError
from broker_core.sim.disk import Disk, RealDisk, SimulatedDisk
from broker_core.view.fold import empty_view
from broker_core.view.patch import apply, inverse
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ForeignChange
from devtools.sim.parity import differences
from tests.support.main_scenario import CONFIG, SPINE, journal, new_run, play
from tests.support.paths import ROOT


class Played(NamedTuple):
    """The main scenario, played to its end: its inputs and events are taken."""

    run: Run
    inputs: list[Input]
    made: list[tuple[Envelope, Any, bytes]]


@pytest.fixture(scope="module")
def played() -> Played:
    """Do not change the run."""
    run = new_run()
    play(run)
    return Played(run, run.take_inputs(), run.take())


def test_main_scenario_ends_healthy_and_without_alarm(played: Played) -> None:
    run = played.run
    assert run.view["alarms"] == {}
    for partition in run.view["partitions"].values():
        assert sorted(partition["isr"]) == [1, 2, 3], partition
    # what the stream sent is everywhere, and committed everywhere
    ends = {run.view["replicas"][f"orders-1@b{n}"]["log_end_offset"] for n in (1, 2, 3)}
    assert len(ends) == 1
    assert ends.pop() > 200
    kinds = {type(envelope[4]) for envelope, _, _ in played.made}
    assert {IsrShrunk, IsrExpanded} <= kinds


def test_view_agrees_with_the_cluster_after_each_command() -> None:
    run = new_run()
    run.advance(1_000_000)
    for line, seconds in SPINE:
        run.submit(line, "test")
        run.advance(run.now_us + (seconds + 5) * 1_000_000)
        assert differences(run) == [], f"after {line!r}"


def test_broker_that_is_frozen_while_it_starts_is_still_starting_when_it_thaws() -> None:
    run = new_run()
    run.advance(1_000_000)
    cluster = run._cluster
    for act in (cluster.kill_broker, cluster.start_broker, cluster.freeze_broker, cluster.thaw_broker):
        act(2)
        run.advance(run.now_us + 100_000)
    assert run.view["nodes"]["b2"]["state"] == "starting"
    assert differences(run) == []
    run.advance(run.now_us + 10_000_000)
    assert run.view["nodes"]["b2"]["state"] == "up"
    assert differences(run) == []


def test_same_seed_and_inputs_give_the_same_bytes_whatever_the_hash_seed(played: Played) -> None:
    script = (
        "import hashlib\n"
        "from tests.support.main_scenario import journal, new_run, play\n"
        "run = new_run()\n"
        "play(run)\n"
        "print(hashlib.sha256(journal(run)).hexdigest(), run.seq)\n"
    )
    printed = set()
    for hash_seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120
        )
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    lines = b"\n".join(data for _, _, data in played.made)
    printed.add(f"{hashlib.sha256(lines).hexdigest()} {played.run.seq}\n")
    assert len(printed) == 1


def test_events_taken_in_steps_equal_events_taken_at_once() -> None:
    at_once, bit_by_bit = new_run(), new_run()
    at_once.advance(4_000_000)
    made = []
    while bit_by_bit.now_us < 4_000_000:
        bit_by_bit.advance(min(bit_by_bit.now_us + 777, 4_000_000))
        made += bit_by_bit.take()
        if len(made) % 3 == 0:
            assert bit_by_bit.view["rpcs"] is not None
            bit_by_bit.digest()
    assert made == at_once.take()
    assert bit_by_bit.view == at_once.view
    assert bit_by_bit.digest() == at_once.digest()


def test_another_seed_gives_other_events() -> None:
    run = Run(RunConfig(seed=12), disk=SimulatedDisk(), zk=MemoryStore())
    other = Run(RunConfig(seed=13), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(5_000_000)
    other.advance(5_000_000)
    assert journal(run) != journal(other)


def test_patches_apply_and_revert() -> None:
    run = new_run()
    play(run, SPINE[:9])
    view = empty_view()
    backs = []
    made = run.take()
    for _, patch, _ in made:
        backs.append(inverse(view, patch))
        apply(view, patch)
    assert view == run.view
    for back in reversed(backs):
        apply(view, back)
    assert view == empty_view()


@pytest.mark.parametrize("share", [0.13, 0.5, 0.97])
def test_reexecution_reproduces_the_recorded_events(played: Played, share: float) -> None:
    recorded = [data for _, _, data in played.made]
    until_seq = int(len(recorded) * share)
    again = new_run()
    again.replay(played.inputs, until_seq)
    made = [data for _, _, data in again.take()]
    assert len(made) >= until_seq
    assert made == recorded[: len(made)]


class Counted(list[Input]):
    """Inputs, and how many were read."""

    reads = 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return super().__getitem__(at)


def test_reexecution_in_parts_reads_each_input_once_and_one_more_for_each_part(played: Played) -> None:
    recorded = [data for _, _, data in played.made]
    again, made, inputs = new_run(), list[bytes](), Counted(played.inputs)
    first, parts = None, 0
    while again.seq < len(recorded):
        first = again.replay(inputs, min(again.seq + 100, len(recorded)), first=first)
        made += [data for _, _, data in again.take()]
        parts += 1
    assert made[: len(recorded)] == recorded
    assert parts > 10
    assert inputs.reads <= len(inputs) + parts


def test_reexecution_in_parts_applies_an_external_change_once() -> None:
    first_part = new_run()
    first_part.replay([], 50)
    store = first_part._cluster.zookeeper.store
    assert isinstance(store, MemoryStore)
    change = ForeignChange("created", "/marker", b"", version=0, operation=store.operations + 1)
    met = Input(0, 0, 0, "met", "zookeeper", msgspec.json.encode(change).decode())
    # No part executes the command: each ends at the first input.
    inputs = [Input(1_000_000, 1_000_000, 0, "command", "test", "broker list"), met]
    at_once, in_parts = new_run(), new_run()
    at_once.replay(inputs, 150)
    first = in_parts.replay(inputs, 50)
    in_parts.replay(inputs, 150, first=first)
    made = in_parts.take()
    assert made == at_once.take()
    assert [event.path for (*_, event), _, _ in made if isinstance(event, ZnodeCreated)].count("/marker") == 1


def test_reexecution_calls_its_check_between_inputs_that_need_no_step() -> None:
    """Otherwise inputs at one instant could not be ended."""
    run = new_run()
    run.advance(1_000_000)
    for _ in range(3 * INPUTS_BETWEEN_CHECKS):
        run.disconnect(12_345)
    at_once = run.take_inputs()
    assert len({given.step for given in at_once}) == 1
    until_seq = run.seq
    steps = run._kernel.steps
    checked: list[int] = []
    again = new_run()
    again.replay(at_once, until_seq + 1, check=lambda _: checked.append(again._kernel.steps))
    assert checked.count(steps) >= 3


def test_restored_checkpoint_continues_like_the_run() -> None:
    script = SPINE[:6]
    run = new_run()
    play(run, script)
    run.take()
    disk, store = run._cluster.disk, run._cluster.zookeeper.store
    kept = run.checkpoint()
    assert kept is not None
    twin = Run.restore(kept, disk=copy.deepcopy(disk), zk=copy.deepcopy(store))
    for each in (run, twin):
        each.submit("broker kill 2", "test")
        each.advance(each.now_us + 15_000_000)
    assert journal(run) == journal(twin)
    assert run.digest() == twin.digest()


@pytest.mark.parametrize("kind", ["simulated", "real"])
def test_power_loss_after_a_restored_checkpoint_loses_the_same_bytes(kind: str, tmp_path: Path) -> None:
    disk: Disk = SimulatedDisk() if kind == "simulated" else RealDisk(tmp_path / "one", physical_fsync=False)
    run = Run(CONFIG, disk=disk, zk=MemoryStore())
    play(run, SPINE[:6])
    kept = run.checkpoint()
    assert kept is not None
    if kind == "real":
        shutil.copytree(tmp_path / "one", tmp_path / "other")
        copied: Disk = RealDisk(tmp_path / "other", physical_fsync=False)
    else:
        copied = copy.deepcopy(disk)
    twin = Run.restore(kept, disk=copied, zk=copy.deepcopy(run._cluster.zookeeper.store))
    run.take()
    for each in (run, twin):
        each.submit("broker powerloss 2", "test")
        each.submit("broker start 2", "test")
        each.advance(each.now_us + 15_000_000)
    lost = [envelope[4].byte_count for envelope, _, _ in run.take() if isinstance(envelope[4], PowerLost)]
    assert lost[0] > 0
    assert run.digest() == twin.digest()


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/brokers/topics/orders/partitions/0/state", '{"leader":"x","leader_epoch":"y","isr":5}'),
        ("/brokers/topics/orders/partitions/0/state", '{"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":7}'),
        ("/brokers/topics/orders/partitions/0/state", "[]"),
        ("/brokers/topics/orders", '{"version":3,"partitions":{"x":["a"]},"topic_id":5}'),
        ("/brokers/topics/orders", "rubbish"),
    ],
)
def test_malformed_znode_is_shown_and_the_cluster_keeps_running(path: str, data: str) -> None:
    run = new_run()
    play(
        run,
        (
            ("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3", 1),
            (f"zk set {path} '{data}'", 2),
            ("broker kill 3", 10),
            ("kafka-topics.sh --create --topic payments --replica-assignment 1:2", 1),
        ),
    )
    assert run.view["zk"][path]["data"] == data
    assert run.view["partitions"]["payments-0"]["leader"] == 1
    assert differences(run) == []


def test_refused_line_is_not_recorded() -> None:
    run = new_run()
    run.advance(1_000_000)
    before = run.seq
    for line in ("no-such-command", 'kafka-topics.sh "unbalanced', ""):
        with pytest.raises(ShellError) as refused:
            run.submit(line, "test")
        assert refused.value.what
        assert refused.value.expected
        assert refused.value.todo
    assert run.seq == before
    assert run.take_inputs() == []
