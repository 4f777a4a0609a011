"""A run that goes through every part of a cluster."""

from broker_core.run import Run, RunConfig
from broker_core.sim.simulated_disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore

CONFIG = RunConfig(
    seed=11,
    broker_config={
        "zookeeper.session.timeout.ms": "6000",
        "replica.lag.time.max.ms": "10000",
        "replica.fetch.backoff.ms": "200",
    },
)

#: (line, seconds of simulated time that follow)
SPINE = (
    ("kafka-topics.sh --create --topic orders --replica-assignment 2:3:1,1:2:3,3:1:2", 1),
    ("producer open p --acks all", 0),
    ("producer send p orders-0 a:1 b:2", 1),
    ("producer stream p orders-1 50", 2),
    ("link cut 1 3", 17),
    ("link restore 1 3", 4),
    ("broker freeze 2", 9),
    ("broker thaw 2", 4),
    ("broker kill 1", 10),
    ("broker start 1", 5),
    ("zk delete /controller", 2),
    ("producer stream p orders-1 0", 1),
    ("broker stop 3", 8),
    ("broker start 3", 5),
)


def new_run() -> Run:
    return Run(CONFIG, disk=SimulatedDisk(), zk=MemoryStore())


def play(run: Run, script: tuple[tuple[str, int], ...] = SPINE) -> None:
    run.advance(1_000_000)
    for line, seconds in script:
        command = run.submit(line, "test")
        deadline_us = run.now_us + 120_000_000
        while command in run.running_commands:
            assert run.now_us < deadline_us, f"{line!r} did not end within 120 s"
            run.advance(run.now_us + 50_000)
        run.advance(run.now_us + seconds * 1_000_000)


def journal(run: Run) -> bytes:
    return b"\n".join(data for _, _, data in run.take())
