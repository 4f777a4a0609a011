"""A cluster at a shell, for tests: commands in, lines out."""

from typing import Any

from broker_core.events import Event
from broker_core.events.codec import decode
from broker_core.run import Run, RunConfig
from broker_core.shell.grammar.transcript import CLUSTER_DEFAULTS, ready_line, run_command
from broker_core.sim.disk import SimulatedDisk
from broker_core.texts import Value, text
from broker_core.zk.memory_store import MemoryStore


def refused(id: str, **values: Value) -> str:
    """The line in which a command prints a message of the lab."""
    return f"! {text(id, **values).code}"


class ShellRun:
    """Three brokers that are up. `at(line)` runs a command to its end and gives what it printed."""

    def __init__(
        self, seed: int = 5, era: str = "3.9", of_broker: dict[int, dict[str, str]] | None = None, **config: Any
    ) -> None:
        broker_config = {**CLUSTER_DEFAULTS, **{name.replace("_", "."): value for name, value in config.items()}}
        self.disk = SimulatedDisk()
        run_config = RunConfig(seed=seed, era=era, broker_config=broker_config, config_of_broker=of_broker or {})
        self.run = Run(run_config, disk=self.disk, zk=MemoryStore())
        self.exit_code = 0
        self._kept: list[bytes] = []
        self.at(ready_line((1, 2, 3)))

    def at(self, line: str, *stdin: str) -> list[str]:
        printed, self.exit_code = run_command(self.run, line, stdin, "test", self._kept)
        return printed

    def after(self, seconds: float) -> None:
        self.run.advance(self.run.now_us + int(seconds * 1_000_000))

    def journal(self) -> list[bytes]:
        """The bytes of the events since the last call of this or of `events`."""
        kept = [*self._kept, *(data for _, _, data in self.run.take())]
        self._kept.clear()
        return kept

    def events(self, *kinds: type[Event]) -> list[Any]:
        """The events of these kinds since the last call of this or of `journal`."""
        decoded = (decode(0, data)[4] for data in self.journal())
        return [event for event in decoded if isinstance(event, kinds)]

    def node(self, name: str) -> dict[str, Any]:
        """What the page shows of a node."""
        return dict(self.run.view["nodes"][name])
