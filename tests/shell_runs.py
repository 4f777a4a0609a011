"""A cluster at a shell, for tests: commands in, lines out."""

from broker_core.run import Run, RunConfig
from broker_core.shell.transcript import CLUSTER_DEFAULTS, ready_line, run_command
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore


class ShellRun:
    """Three brokers that are up. `at(line)` runs a command to its end and gives what it printed."""

    def __init__(self, seed: int = 5, **config: str) -> None:
        broker_config = {**CLUSTER_DEFAULTS, **{name.replace("_", "."): value for name, value in config.items()}}
        self.run = Run(RunConfig(seed=seed, broker_config=broker_config), disk=SimulatedDisk(), zk=MemoryStore())
        self.exit_code = 0
        self.at(ready_line(3))

    def at(self, line: str, *stdin: str) -> list[str]:
        printed, self.exit_code = run_command(self.run, line, stdin, "test")
        return printed

    def after(self, seconds: float) -> None:
        self.run.advance(self.run.now_us + int(seconds * 1_000_000))

    def node(self, name: str) -> dict[str, object]:
        """What the page shows of a node."""
        return dict(self.run.view["nodes"][name])
