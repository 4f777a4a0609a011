"""A run with forks in which much happens before and after they begin."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from broker_core.run import RunConfig
from lab.management.commands import dump_log
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Pacer
from tests.support.recorded_runs import Wall, begin, run_for, run_lines

CONFIG = RunConfig(
    name="forked", seed=17, start_wall_ms=1_700_000_000_000,
    broker_config={
        "offsets.topic.num.partitions": "1", "zookeeper.session.timeout.ms": "1000", "replica.lag.time.max.ms": "1500",
        "transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "3",
    },
)  # fmt: skip
#: (console line, milliseconds of simulated time that follow)
Script = Sequence[tuple[str, int]]

_MAIN: Script = (
    ("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3", 300),
    ("producer open p --acks all", 0),
    ("producer open q --acks 1", 0),
    ("producer stream p orders-0 8", 0),
    ("producer stream q orders-1 6", 300),
    ("consumer start g1 --group g --topic orders", 4_000),
    ("producer open t --transactional-id pay", 800),
    ("producer begin t", 0),
    ("producer send t orders-0 a:1", 300),
    # The forks of `main` begin in a transaction, a rebalance, and a failover.
    ("consumer start g2 --group g --topic orders", 1_500),
    ("broker kill 2", 700),
    ("producer commit t", 2_500),
    ("broker start 2", 1_500),
)
_BRANCHES: Sequence[tuple[str, str, float, Script]] = (
    (
        # The topic is deleted and created again: its offsets mean other records than those of the parent.
        "again", "main", 0.55,
        (
            ("consumer kill g1", 1_000),
            ("kafka-topics.sh --delete --topic orders", 1_500),
            ("kafka-topics.sh --create --topic orders --replica-assignment 3:1", 500),
            ("producer open r --acks all", 0),
            ("producer stream r orders-0 8", 1_500),
        ),
    ),
    (
        # What the parent left open ends here in another way.
        "waits", "main", 0.7, (("link cut 1 3", 2_500), ("link restore 1 3", 1_000), ("producer abort t", 1_000)),
    ),
    (
        "deeper", "again", 0.9,
        (("broker kill 3", 2_500), ("broker start 3", 1_500), ("consumer start g3 --group g --topic orders", 4_000)),
    ),
)  # fmt: skip


@contextmanager
def forked_run(root: Path) -> Iterator[dict[str, Recording]]:
    """The recordings of all branches by name, written to their ends."""
    recordings: dict[str, Recording] = {}
    lives: list[LiveRun] = []
    recording, live = begin(root, CONFIG)
    try:
        lives.append(live)
        _play(live, _MAIN)
        recordings["main"] = recording
        for name, parent, share, script in _BRANCHES:
            seq = int(recordings[parent].last_seq * share)
            fork = fork_recording(recordings[parent], seq, branch_folder(recording.folder.run, name, runs=root))
            live = engine.wake(fork, Pacer(Wall()), "")
            lives.append(live)
            _play(live, script)
            recordings[name] = fork
        # The parent goes on after it was forked.
        _play(lives[0], (("broker kill 1", 1_500),))
        yield recordings
    finally:
        for live in lives:
            live.close()
        for recording in recordings.values():
            recording.close()


def _play(live: LiveRun, script: Script) -> None:
    for line, then_ms in script:
        run_lines(live, [line])
        run_for(live, 100_000 + then_ms * 1_000)
    live.flush()


def dump_of(folder: BranchFolder) -> str:
    """What `kafka-dump-log.sh` prints of a recording."""
    out, err = io.StringIO(), io.StringIO()
    files = ",".join(map(str, sorted((folder.recording / "events-0").glob("*.log"))))
    assert dump_log.run(["--deep-iteration", "--print-data-log", "--files", files], out, err) == 0, err.getvalue()
    return out.getvalue()
