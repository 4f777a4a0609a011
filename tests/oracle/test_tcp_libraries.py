"""Each client library for Python does all that it can: create, produce, transact, share a topic, reset, delete."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from lab.testing import Highwater
from tests.support.client_libraries import LIBRARIES, PATIENCE_S
from tests.support.paths import ROOT

PARTITIONS = 6
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 40


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Highwater]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
    }
    running = Highwater(tmp_path_factory.mktemp("runs"), config=settings)
    yield running
    running.close()


class Member:
    """A member of a group, in a process of its own: neither the cluster nor other members take its time."""

    def __init__(self, library: str, bootstrap: str, group: str, topic: str) -> None:
        command = [sys.executable, "-m", "tests.support.client_libraries", library, bootstrap, group, topic]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self.partitions: list[int] = []
        self.values: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            progress = json.loads(line)
            self.values += progress["values"]
            self.partitions = progress["partitions"]

    def leave(self) -> None:
        """It closes its consumer and ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE_S) == 0
        self._listener.join(PATIENCE_S)

    def kill(self) -> None:
        """It does not leave the group."""
        self._process.kill()
        self._process.wait()
        self._listener.join(PATIENCE_S)


def until(what: str, condition: Callable[[], bool], found: Callable[[], object] = str) -> None:
    """Waits for a condition; a failure shows what was found instead."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"{what} was expected within {PATIENCE_S:g} s; found: {found()}"
        time.sleep(0.05)


def shared(members: Sequence[Member]) -> bool:
    """All partitions are owned, each by one member, and evenly."""
    owned = sorted(number for member in members for number in member.partitions)
    return owned == list(range(PARTITIONS)) and len({len(member.partitions) for member in members}) == 1


@pytest.mark.parametrize("name", LIBRARIES)
def test_client_library_features(cluster: Highwater, name: str) -> None:
    library = LIBRARIES[name](cluster.bootstrap)
    library.create(name, PARTITIONS)
    until("the topic", lambda: name in library.topics())
    expected = []
    for compression in COMPRESSIONS:
        values = [f"{compression}-{number}-" + "x" * 100 for number in range(COUNT)]
        library.produce(name, values, compression)
        expected += values
    library.transact(name, f"till-{name}", [f"aborted-{number}" for number in range(COUNT)], ["good"])
    expected.append("good")

    group = f"group-{name}"
    describe = f"kafka-consumer-groups.sh --describe --group {group} --members --verbose"
    members = [Member(name, cluster.bootstrap, group, name) for _ in range(3)]
    victim, *survivors = members

    def found() -> object:
        """What the members and the coordinator say of the group."""
        return [each.partitions for each in members], cluster.run(describe)

    try:
        until("three members with two partitions each", lambda: shared(members), found)
        until("all records", lambda: {value for each in members for value in each.values} == set(expected))
        victim.kill()
        library.produce(name, ["after"], "none")
        until("the other two to take over", lambda: shared(survivors), found)
        until("the next record", lambda: any("after" in each.values for each in survivors))
        for member in survivors:
            member.leave()
    finally:
        for member in members:
            member.kill()
    assert {value for each in members for value in each.values} == {*expected, "after"}

    ends = dict.fromkeys(range(PARTITIONS), 0)
    for line in cluster.run(f"kafka-get-offsets.sh --topic {name}"):
        _, partition, end = line.split(":")
        ends[int(partition)] = int(end)
    assert sum(library.committed(group, name, PARTITIONS)) > len(expected)
    assert all(offset <= ends[at] for at, offset in enumerate(library.committed(group, name, PARTITIONS)))
    library.reset(group, name, PARTITIONS)
    assert library.committed(group, name, PARTITIONS) == [0] * PARTITIONS
    library.delete(name)
    until("the topic to go", lambda: name not in library.topics())
