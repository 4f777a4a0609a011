"""Engines driven by a program, for trials and studies. Uses neither Django nor ZooKeeper, so that Spark's Python
processes can import it.
"""

from broker_core.run import Run, RunConfig, check_line
from broker_core.sim.disk import Disk
from broker_core.zk.store import ZkStore

__all__ = ["Run", "RunConfig", "booted_run", "check_line"]

BOOT_STEP_US = 50_000
BOOT_LIMIT_US = 60_000_000


def booted_run(config: RunConfig, store: ZkStore, disk: Disk) -> Run:
    """A run with all its brokers up, as a lab boots it."""
    made = Run(config, disk=disk, zk=store)
    while made.now_us < BOOT_LIMIT_US and not _all_up(made):
        made.advance(made.now_us + BOOT_STEP_US)
    return made


def _all_up(run: Run) -> bool:
    return all(node["state"] == "up" for node in run.view["nodes"].values() if node["kind"] == "broker")
