"""Transcripts: shell sessions with their output, and scripts, which are sessions without output.

A `.scenario` file holds lines `$ command`, `< input` and output, `#! setting` and `# comment`. A `.lab` file holds a
command a line, and `< input`; one that ends with `&` is not waited for. What cannot be the same twice (ids, times,
ports) is replaced by names such as `<uuid>` before two outputs are compared.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from broker_core.events.console import CommandCompleted, CommandPrinted, shown
from broker_core.shell.grammar.parser import is_background, split

COMMAND_LIMIT_US = 600_000_000

CLUSTER_DEFAULTS = {
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "zookeeper.session.timeout.ms": "6000",
    "replica.lag.time.max.ms": "10000",
    "replica.fetch.backoff.ms": "200",
    "controlled.shutdown.retry.backoff.ms": "500",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "log.initial.task.delay.ms": "1000",
}
"""The default configuration of the clusters of transcripts."""


class TranscriptCommand(NamedTuple):
    """A command with its input and expected output; `number` is its line in the file."""

    line: str
    stdin: tuple[str, ...]
    expected: tuple[str, ...]
    number: int


class Transcript(NamedTuple):
    """A file: the brokers, of which the first one starts first and becomes the controller, their configuration on top
    of `CLUSTER_DEFAULTS`, that of single brokers on top of that, the commands, and what the run is made from: the era
    and the seed, None if the file does not name one.
    """

    title: str
    brokers: tuple[int, ...]
    config: dict[str, str]
    steps: tuple[TranscriptCommand, ...]
    era: str | None = None
    seed: int | None = None
    config_of_broker: Mapping[int, Mapping[str, str]] = MappingProxyType({})

    @property
    def broker_config(self) -> dict[str, str]:
        """The complete configuration of the brokers."""
        return {**CLUSTER_DEFAULTS, **self.config}


class TranscriptError(ValueError):
    """The file is not a transcript; the message names the line."""


def parse_transcript(text: str, *, is_script: bool = False) -> Transcript:
    """Reads a `.scenario` file, or a `.lab` file if `is_script`. Raises TranscriptError."""
    title = ""
    brokers: tuple[int, ...] = (1, 2, 3)
    config: dict[str, str] = {}
    config_of_broker: dict[int, dict[str, str]] = {}
    era: str | None = None
    seed: int | None = None
    steps: list[tuple[str, list[str], list[str], int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#! "):
            key, _, value = line[3:].strip().partition(" ")
            if key == "brokers":
                brokers = _brokers(value, f"line {number}: {line!r}")
            elif key == "config":
                name, _, setting = value.partition("=")
                broker_id, _, own_name = name.strip().partition(" ")
                if own_name and broker_id.isdigit():
                    config_of_broker.setdefault(int(broker_id), {})[own_name.strip()] = setting.strip()
                else:
                    config[name.strip()] = setting.strip()
            elif key == "era":
                era = value.strip()
            elif key == "seed" and value.isdigit():
                seed = int(value)
            elif key not in ("fresh", "dirty"):
                raise TranscriptError(
                    f"line {number}: {line!r}; expected #! brokers N or 1,2,9, config K=V, config 1 K=V, era E, "
                    "seed N, fresh or dirty."
                )
        elif line.startswith("#"):
            title = title or line[1:].strip()
        elif line.startswith("$ "):
            steps.append((line[2:], [], [], number))
        elif (line.startswith("< ") or line == "<") and steps and not steps[-1][2]:
            steps[-1][1].append(line[2:])
        elif is_script:
            if line.strip():
                steps.append((line.strip(), [], [], number))
        elif steps:
            steps[-1][2].append(line)
        elif line.strip():
            raise TranscriptError(f"line {number}: {line!r} is before the first command; expected $ and a command.")
    return Transcript(
        title,
        brokers,
        config,
        tuple(
            TranscriptCommand(line, tuple(stdin), tuple(_trimmed(expected)), number)
            for line, stdin, expected, number in steps
        ),
        era,
        seed,
        config_of_broker,
    )


def _brokers(text: str, where: str) -> tuple[int, ...]:
    """The ids in `1,2,9`, or 1 to N for `N`."""
    words = [word.strip() for word in text.split(",")]
    ids = tuple(int(word) for word in words if word.isdigit())
    if len(ids) < len(words) or len(set(ids)) < len(ids) or ids == (0,):
        raise TranscriptError(f"{where}; expected #! brokers and their number, or their ids with commas between.")
    return ids if len(ids) > 1 else tuple(range(1, ids[0] + 1))


def _trimmed(lines: list[str]) -> list[str]:
    """Removes white space at the ends of lines, and blank lines at the end."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


# What differs between runs.

_NAMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"127\.0\.0\.1:\d{4,5}\b"), "127.0.0.1:<port>"),
    (re.compile(r"--bootstrap-server 127\.0\.0\.1:<port>(,127\.0\.0\.1:<port>)*"), "--bootstrap-server <bootstrap>"),
    (re.compile(r'\bbroker-(\d+)(?=[/"])|(?<=log\.dirs=)broker-(\d+)|(?<=log dir )broker-(\d+)'), r"<dir-\1\2\3>"),
    (re.compile(r'("port":)\d+'), r"\1<port>"),
    (re.compile(r'(TopicId: |"topic_id":"|topicId=|topic_id: )[A-Za-z0-9_-]{22}'), r"\1<uuid>"),
    (re.compile(r'("id":"|Cluster ID: )[A-Za-z0-9_-]{22}'), r"\1<cluster>"),
    (re.compile(r'("timestamp":")\d{13}'), r"\1<ms>"),
    (re.compile(r"((?:CreateTime|LogAppendTime|timestamp|startTimestamp): ?)\d{13}"), r"\1<ms>"),
    (re.compile(r'("(?:commitTimestamp|expireTimestamp|currentStateTimestamp)":)1\d{12}'), r"\1<ms>"),
    (re.compile(r"((?:commit|txnStart|txnLastUpdate)Timestamp=)1\d{12}"), r"\1<ms>"),
    (re.compile(r'("transaction(?:Start|LastUpdate)TimestampMs":)1\d{12}'), r"\1<ms>"),
    (re.compile(r'(TransactionMetadata\(transactionalId=\S+, producerId=|"data":{"producerId":)\d+'), r"\1<pid>"),
    (re.compile(r"(crc: )\d+"), r"\1<crc>"),
    (re.compile(r"(producerId: )\d+"), r"\1<pid>"),
    (re.compile(r"(deadlineMs=|nextAllowedTryMs=|tries=|timed out at |after )\d+"), r"\1<n>"),
    (re.compile(r"(adminclient-|console-consumer-)\d+"), r"\1<n>"),
    (re.compile(r"correlation id \d+"), "correlation id <n>"),
    (re.compile(r"\b2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?\b"), "<time>"),
)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_COORDINATOR = re.compile(r"127\.0\.0\.1:(\d+)  \(\d+\)( +)")
_RECORDED_PORT_LENGTH = 5
_TABLE_HEADER = re.compile(r"[A-Z][A-Za-z-]+ +[A-Z]|GROUP|TOPIC")
_MILLISECONDS = re.compile(r"\d+ ms")
_PARTITION = re.compile(r"Partition:(\d+)")
_USAGE = re.compile(r"! Option +Description")
_WARNING = re.compile(r"! WARN (?!.*Got error produce response.*NOT_ENOUGH_REPLICAS)")


def normalise(line: str, printed: list[str], exit_code: int, members: dict[str, str] | None = None) -> list[str]:
    """The output of a command in the format of a transcript: standard output, standard error, the exit code.

    `members` keeps the names of the random parts of member ids, for all commands of a transcript.
    """
    words = split(line.split("\n")[0])
    tool = words[0] if words else ""
    stdout = [text for text in printed if not text.startswith("! ")]
    stderr = [text for text in printed if text.startswith("! ") and not _WARNING.match(text)]
    for number, text in enumerate(stderr):
        if _USAGE.match(text):
            stderr[number:] = ["! <usage>"]
            break
    if tool == "producer":
        stderr = []  # Kafka's client logs what it throws; a transcript has the exception only.
    if tool == "kafka-consumer-groups.sh":
        stdout = _sorted_tables([_COORDINATOR.sub(_coordinator, text) for text in stdout])
    stdout = _trimmed([_named(text, tool) for text in stdout])
    stderr = [_named(text, tool).rstrip() for text in stderr]
    if (tool == "kafka-topics.sh" and "--list" in words) or tool == "kafka-get-offsets.sh":
        stdout.sort()
    if tool == "kafka-log-dirs.sh":
        stdout = [_sorted_json(text) if text.startswith("{") else text for text in stdout]
    if tool == "kafka-transactions.sh" and stdout and "\t" in stdout[0]:
        stdout = _without_ids(stdout)
    if tool == "kafka-console-consumer.sh":
        stdout.sort(key=lambda text: int(match[1]) if (match := _PARTITION.search(text)) else 0)
    lines = [*stdout, *stderr]
    known = {} if members is None else members
    lines = [_UUID.sub(lambda match: known.setdefault(match[0], f"<member-{len(known) + 1}>"), text) for text in lines]
    return [*lines, *([f"[exit {exit_code}]"] if exit_code else [])]


_HIDDEN_COLUMNS = {
    "Coordinator": "<broker>",
    "CoordinatorId": "<broker>",
    "ProducerId": "<pid>",
    "LastTimestamp": "<ms>",
    "CurrentTransactionStartTimeMs": "<ms>",
    "TransactionDurationMs": "<ms>",
}


def _without_ids(table: list[str]) -> list[str]:
    """The table of kafka-transactions.sh without what differs between runs; its rows are sorted."""
    columns = [name.strip() for name in table[0].split("\t")]
    rows = [
        [
            cell if cell.strip() in ("None", "") else _HIDDEN_COLUMNS.get(name, cell)
            for name, cell in zip(columns, row.split("\t"), strict=False)
        ]
        for row in table[1:]
    ]
    return [table[0], *sorted("\t".join(row).rstrip() for row in rows)]


def _coordinator(match: re.Match[str]) -> str:
    """A coordinator in a table, whose padding depends on the length of its port."""
    padding = len(match[2]) - (_RECORDED_PORT_LENGTH - len(match[1]))
    return "127.0.0.1:<port>  (<broker>)" + " " * padding


def _sorted_tables(lines: list[str]) -> list[str]:
    """Blocks of lines separated by a blank line; the lines after each header are sorted."""
    tables: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            tables[-1].append(line.rstrip())
        elif tables[-1]:
            tables.append([])
    out: list[str] = []
    for table in tables:
        header = 1 if table and _TABLE_HEADER.match(table[0]) else 0
        rows = sorted(table[header:], key=lambda text: _UUID.sub("#", text))
        out += [*([""] if out and table else []), *table[:header], *rows]
    return out


def _sorted_json(text: str) -> str:
    """A JSON text whose keys, and lists of objects, are sorted."""
    return json.dumps(_sorted_value(json.loads(text)), separators=(",", ":"))


def _sorted_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted_value(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        values = [_sorted_value(each) for each in value]
        return sorted(values, key=json.dumps) if values and isinstance(values[0], dict) else values
    return value


def _named(text: str, tool: str) -> str:
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return _MILLISECONDS.sub("<n> ms", text) if tool == "producer" else text


# Playing.


class Playable(Protocol):
    """The part of a run that playing needs (`broker_core.run.Run`)."""

    @property
    def now_us(self) -> int: ...

    @property
    def running_commands(self) -> tuple[int, ...]: ...

    def submit(self, line: str, source: str = "") -> int: ...

    def interrupt(self, command: int) -> None: ...

    def step_event(self) -> bool: ...

    def take(self) -> list[Any]:
        """Returns and clears the events since the last call: envelope, patch and bytes of each."""
        ...


class PlayedCommand(NamedTuple):
    """A command that ran, with its output; lines of standard error begin with `! `."""

    step: TranscriptCommand
    printed: list[str]
    exit_code: int
    #: Names of the member ids in the transcript.
    members: dict[str, str]

    @property
    def output(self) -> list[str]:
        """Its output in the format of a transcript."""
        return normalise(self.step.line, self.printed, self.exit_code, self.members)


def ready_line(brokers: Iterable[int]) -> str:
    """The first command of a session: waits until the cluster is up."""
    return f'wait "brokers == [{",".join(map(str, sorted(brokers)))}]" 60s'


def run_command(
    run: Playable, line: str, stdin: tuple[str, ...] = (), source: str = "play", keep: list[bytes] | None = None
) -> tuple[list[str], int]:
    """Runs a command to its end; returns its output and exit code. The bytes of all events in the meantime are added to
    `keep`. A command that ends with `&` is not waited for.

    Raises ShellError for a line that cannot be run. A command that would never end is interrupted after ten minutes
    of simulated time.
    """
    text = "\n".join([line, *(f"< {each}".rstrip(" ") for each in stdin)])
    number = run.submit(text, source)
    printed: list[str] = []
    exit_code = 0
    deadline_us = run.now_us + COMMAND_LIMIT_US
    while True:
        for envelope, _, data in run.take():
            event = envelope[4]
            if keep is not None:
                keep.append(data)
            if isinstance(event, CommandPrinted) and event.command == number:
                printed += event.lines
            elif isinstance(event, CommandCompleted) and event.command == number:
                exit_code = event.exit_code
        if is_background(line) or number not in run.running_commands:
            return printed, exit_code
        if run.now_us >= deadline_us or not run.step_event():
            run.interrupt(number)


def play(transcript: Transcript, run: Playable, source: str = "play") -> Iterator[PlayedCommand]:
    """Runs the commands one after the other, when the cluster is up. Raises ShellError at one that cannot be run."""
    run_command(run, ready_line(transcript.brokers), source=source)
    members: dict[str, str] = {}
    for step in transcript.steps:
        printed, exit_code = run_command(run, step.line, step.stdin, source)
        yield PlayedCommand(step, printed, exit_code, members)


def shown_raw(step: TranscriptCommand, printed: list[str], exit_code: int) -> list[str]:
    """The command and its complete output, in the format of a transcript but without replacements."""
    lines = [f"$ {step.line}", *(f"< {line}".rstrip(" ") for line in step.stdin)]
    return [*lines, *(shown(line).rstrip() for line in printed), *([f"[exit {exit_code}]"] if exit_code else [])]


def difference(played: PlayedCommand) -> list[str]:
    """A unified diff of the output and the expected one; empty if they are equal."""
    expected = list(played.step.expected)
    return list(unified_diff(expected, played.output, lineterm="", n=1))[2:]
