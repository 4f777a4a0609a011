"""Engines without a page, a server or a disk: for playing the solutions of exercises."""

from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore

BOOT_STEP_US = 50_000
BOOT_LIMIT_US = 60_000_000


def rehearsal_run(seed: int, brokers: tuple[int, ...] = (1, 2, 3)) -> Run:
    """A run in memory with the latencies of a lab, all its brokers up."""
    run = Run(RunConfig(name="rehearsal", seed=seed, brokers=brokers), disk=SimulatedDisk(), zk=MemoryStore())
    while run.now_us < BOOT_LIMIT_US and not _all_up(run):
        run.advance(run.now_us + BOOT_STEP_US)
    return run


def _all_up(run: Run) -> bool:
    return all(node["state"] == "up" for node in run.view["nodes"].values() if node["kind"] == "broker")
