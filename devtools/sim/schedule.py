"""A schedule: the cluster, and the lines that are typed into its console, with pauses between them."""

from collections.abc import Iterable

import msgspec

from broker_core.cluster import RunConfig
from broker_core.eras import DEFAULT_ERA
from broker_core.shell.grammar.transcript import parse_transcript


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule of a seed. `lines`: commands, which end with `&` and are not waited for, and pauses between them."""

    seed: int
    era: str
    brokers: tuple[int, ...]
    broker_config: dict[str, str]
    lines: tuple[str, ...]

    @property
    def config(self) -> RunConfig:
        """The run that it is played on."""
        return RunConfig(
            name=f"seed {self.seed}",
            seed=self.seed,
            brokers=self.brokers,
            era=self.era,
            broker_config=self.broker_config,
        )

    def with_lines(self, lines: Iterable[str]) -> "Schedule":
        """The same cluster, with other lines."""
        return msgspec.structs.replace(self, lines=tuple(lines))

    @classmethod
    def of_script(cls, text: str) -> "Schedule":
        """What `script` has written. Raises TranscriptError."""
        read = parse_transcript(text, is_script=True)
        return cls(
            seed=read.seed or 0,
            era=read.era or DEFAULT_ERA,
            brokers=tuple(read.brokers),
            broker_config=read.config,
            lines=tuple(step.line for step in read.steps),
        )

    def script(self, typed: Iterable[str], *remarks: str) -> str:
        """A `.lab` file of the lines that were typed."""
        head = [
            *(f"# {remark}" for remark in remarks),
            f"#! brokers {','.join(map(str, self.brokers))}",
            f"#! era {self.era}",
            f"#! seed {self.seed}",
            *(f"#! config {name}={value}" for name, value in self.broker_config.items()),
        ]
        return "\n".join([*head, *typed]) + "\n"
