"""Draws a schedule from a seed: a cluster, its topics and clients, actions of administrators, and faults.

The generator knows the lines that it has drawn, not how the cluster reacted. Lines may come too early or be refused, as
those of people are.
"""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from broker_core.partitions import TopicPartition, partition_name
from broker_core.sim.rng import RandomStream
from devtools.sim.draw_members import draw_members
from devtools.sim.draw_transactions import draw_transactions
from devtools.sim.schedule import Schedule
from lab.trials.pauses import pause

T = TypeVar("T")

MIN_ACTS, MAX_ACTS = 12, 26
MAX_GAP_MS = 900
MAX_FAULT_MS = 7_000
CREATED_MS = 900

_TOPIC_CONFIGS = (
    ("min.insync.replicas", ("1", "2", "2")),
    ("unclean.leader.election.enable", ("false", "false", "false", "false", "true")),
    ("segment.bytes", ("1000", "1000", "4000")),
    ("retention.bytes", ("600", "2000", "-1")),
    ("retention.ms", ("1500", "6000", "600000")),
    ("flush.messages", ("1", "1", "5")),
    ("index.interval.bytes", ("0", "200")),
    ("file.delete.delay.ms", ("0", "1000")),
    ("max.message.bytes", ("400", "1048588")),
    ("message.timestamp.type", ("CreateTime", "LogAppendTime")),
    ("segment.ms", ("2000",)),
)
_COMPACTED = "cleanup.policy=compact,segment.bytes=1000,min.cleanable.dirty.ratio=0.01,delete.retention.ms=1000"


class _Topic(msgspec.Struct):
    name: str
    partitions: int
    factor: int


def draw(seed: int, era: str) -> Schedule:
    """The schedule of a seed. The era decides nothing about it but in what it is played."""
    return _Drawing(seed, era).schedule()


class _Drawing:
    """A schedule being drawn. `typed` holds (instant in ms, order, line); `now_ms` is the current position."""

    def __init__(self, seed: int, era: str) -> None:
        self.seed = seed
        self.era = era
        self.stream = RandomStream(seed, "schedule")
        self.brokers = self.pick((3, 3, 3, 3, 4, 4, 5, 6, 7))
        self.typed: list[tuple[int, int, str]] = []
        self.now_ms = 0
        self.config: dict[str, str] = {}
        self.topics: list[_Topic] = []
        self.producers: list[str] = []
        self.consumers: list[str] = []
        self.numbers = 0

    def schedule(self) -> Schedule:
        """All of it."""
        self.configure_brokers(self.broker_config())
        for _ in range(self.between(1, 4)):
            self.create_topic()
        self.now_ms += CREATED_MS
        for _ in range(self.between(1, 3)):
            self.open_producer()
        for _ in range(self.between(2, 4)):
            self.stream_records()
        acts = [act for act, weight in _ACTS for _ in range(weight)]
        for _ in range(self.between(MIN_ACTS, MAX_ACTS)):
            self.now_ms += self.between(1, MAX_GAP_MS)
            self.pick(acts)(self)
        draw_members(self)
        draw_transactions(self)
        return Schedule(
            seed=self.seed,
            era=self.era,
            brokers=tuple(range(1, self.brokers + 1)),
            broker_config=self.config,
            lines=self.lines(),
        )

    def lines(self) -> tuple[str, ...]:
        """What was typed, in order of time, with the pauses between."""
        lines = []
        at_ms = 0
        for instant_ms, _, line in sorted(self.typed):
            if instant_ms > at_ms:
                lines.append(pause((instant_ms - at_ms) * 1000))
                at_ms = instant_ms
            lines.append(f"{line} &")
        return tuple(lines)

    # by chance

    def between(self, low: int, high: int) -> int:
        return self.stream.between(low, high)

    def pick(self, options: Sequence[T]) -> T:
        return options[self.stream.below(len(options))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different options, in any order."""
        left = list(options)
        return [left.pop(self.stream.below(len(left))) for _ in range(min(count, len(left)))]

    def is_likely(self, percent: int) -> bool:
        return self.stream.below(100) < percent

    def new_name(self, letter: str) -> str:
        self.numbers += 1
        return f"{letter}{self.numbers}"

    def a_topic(self) -> _Topic:
        return self.pick(self.topics)

    def a_partition(self) -> str:
        topic = self.a_topic()
        return partition_name(topic.name, self.stream.below(topic.partitions))

    def a_broker(self) -> int:
        return self.between(1, self.brokers)

    def type(self, line: str, after_ms: int = 0) -> None:
        """Types a line now, or later."""
        self.type_at(self.now_ms + after_ms, line)

    def type_at(self, at_ms: int, line: str) -> None:
        """Types a line at an instant."""
        self.typed.append((at_ms, len(self.typed), line))

    def type_with_file(self, line: str, contents: object) -> None:
        """Adds a command that reads a JSON file; `FILE` in it is replaced by the file's name."""
        name = self.new_name("f")
        self.type(f"file {name} <<< '{json.dumps(contents, separators=(',', ':'))}'")
        self.type(line.replace("FILE", name))

    # the cluster

    @property
    def topic_names(self) -> list[str]:
        """The topics that were not deleted."""
        return [topic.name for topic in self.topics]

    def configure_brokers(self, config: dict[str, str]) -> None:
        """Settings that all brokers have from the start."""
        self.config |= config

    def broker_config(self) -> dict[str, str]:
        """Short times, so that much happens in few events."""
        config = {
            "zookeeper.session.timeout.ms": self.pick(("1000", "2000", "4000")),
            "replica.lag.time.max.ms": self.pick(("1500", "3000", "6000")),
            "replica.fetch.backoff.ms": self.pick(("100", "300", "1000")),
            "replica.fetch.max.bytes": self.pick(("200", "1000", "1000", "1048576")),
            "replica.fetch.wait.max.ms": self.pick(("300", "500", "1000")),
            "replica.high.watermark.checkpoint.interval.ms": self.pick(("200", "1000", "5000")),
            "controlled.shutdown.retry.backoff.ms": "500",
            "request.timeout.ms": self.pick(("2000", "5000")),
            "replica.socket.timeout.ms": self.pick(("2000", "5000")),
            "log.initial.task.delay.ms": "500",
            "log.retention.check.interval.ms": self.pick(("1000", "5000")),
            "log.flush.offset.checkpoint.interval.ms": self.pick(("1000", "60000")),
            "log.cleaner.backoff.ms": "1000",
            "auto.leader.rebalance.enable": self.pick(("false", "true")),
            "leader.imbalance.check.interval.seconds": self.pick(("2", "5")),
        }
        if self.is_likely(10):
            config["unclean.leader.election.enable"] = "true"
        if self.is_likely(20):
            config["controlled.shutdown.enable"] = "false"
        return config

    # topics

    def create_topic(self) -> None:
        topic = _Topic(self.new_name("t"), self.pick((1, 1, 2, 3)), min(self.brokers, self.pick((1, 2, 3, 3, 3, 4))))
        line = f"kafka-topics.sh --create --topic {topic.name} --partitions {topic.partitions}"
        line += f" --replication-factor {topic.factor}"
        if self.is_likely(12):
            line += "".join(f" --config {each}" for each in _COMPACTED.split(","))
        else:
            for name, values in self.some(_TOPIC_CONFIGS, self.pick((0, 1, 1, 2, 3))):
                line += f" --config {name}={self.pick(values)}"
        self.topics.append(topic)
        self.type(line)

    def delete_topic(self) -> None:
        if len(self.topics) > 1:
            topic = self.topics.pop(self.stream.below(len(self.topics)))
            self.type(f"kafka-topics.sh --delete --topic {topic.name}")

    def add_partitions(self) -> None:
        topic = self.a_topic()
        topic.partitions += 1
        self.type(f"kafka-topics.sh --alter --topic {topic.name} --partitions {topic.partitions}")

    def configure(self) -> None:
        name, values = self.pick(_TOPIC_CONFIGS)
        entity = f"kafka-configs.sh --alter --entity-type topics --entity-name {self.a_topic().name}"
        if self.is_likely(25):
            self.type(f"{entity} --delete-config {name}")
        else:
            self.type(f"{entity} --add-config {name}={self.pick(values)}")

    def delete_records(self) -> None:
        topic, number = TopicPartition.parse(self.a_partition())
        offset = self.pick((-1, 1, 5, self.between(0, 60)))
        rows = [{"topic": topic, "partition": number, "offset": offset}]
        self.type_with_file("kafka-delete-records.sh --offset-json-file FILE", {"partitions": rows, "version": 1})

    def reassign(self) -> None:
        topic = self.a_topic()
        plan = [
            {
                "topic": topic.name,
                "partition": number,
                "replicas": self.some(range(1, self.brokers + 1), self.pick((topic.factor, topic.factor, 1, 2, 3))),
            }
            for number in self.some(range(topic.partitions), self.between(1, 2))
        ]
        self.type_with_file(
            "kafka-reassign-partitions.sh --reassignment-json-file FILE --execute --additional",
            {"version": 1, "partitions": plan},
        )
        if self.is_likely(25):
            name = self.typed[-1][2].split()[2]
            self.type(f"kafka-reassign-partitions.sh --reassignment-json-file {name} --cancel", self.between(20, 1500))

    def elect(self) -> None:
        kind = self.pick(("preferred", "preferred", "preferred", "unclean"))
        self.type(f"kafka-leader-election.sh --election-type {kind} --all-topic-partitions")

    def background_task(self) -> None:
        self.type(f"task {self.pick(('retention', 'flush', 'recovery-points', 'log-starts', 'cleaner'))}")

    def depose_controller(self) -> None:
        self.type("zk delete /controller")

    # clients

    def open_producer(self) -> None:
        name = self.new_name("p")
        self.producers.append(name)
        acks = self.pick(("all", "all", "all", "1", "0"))
        # every second one would number its batches by default
        numbers = " --idempotence false" if acks == "all" and int(name[1:]) % 2 else ""
        self.type(f"producer open {name} --acks {acks}{numbers} --timeout 6000")

    def stream_records(self) -> None:
        self.type(f"producer stream {self.pick(self.producers)} {self.a_partition()} {self.between(1, 8)}")

    def burst(self) -> None:
        self.type(f"producer burst {self.pick(self.producers)} {self.a_partition()} {self.between(1, 30)}")

    def drop_producer(self) -> None:
        if len(self.producers) > 1:
            name = self.producers.pop(self.stream.below(len(self.producers)))
            self.type(f"producer {self.pick(('close', 'drop'))} {name}")

    def follow(self) -> None:
        name = self.new_name("c")
        self.consumers.append(name)
        self.type(f"consumer follow {name} {self.a_partition()} --from {self.pick(('earliest', 'latest', '3'))}")

    def unfollow(self) -> None:
        if self.consumers:
            self.type(f"consumer unfollow {self.consumers.pop(self.stream.below(len(self.consumers)))}")

    # faults

    def fault_ms(self) -> int:
        """How long a fault lasts: mostly short, sometimes past all timeouts."""
        return self.between(1, self.pick((300, 1500, MAX_FAULT_MS)))

    def broker_dies(self) -> None:
        broker = self.a_broker()
        self.type(f"broker {self.pick(('kill', 'kill', 'stop', 'powerloss'))} {broker}")
        if self.is_likely(85):
            self.type(f"broker start {broker}", self.fault_ms())

    def brokers_die(self) -> None:
        """Several at once, and back in another order."""
        verb = self.pick(("kill", "powerloss", "stop"))
        brokers = self.some(range(1, self.brokers + 1), self.between(2, self.brokers))
        for broker in brokers:
            self.type(f"broker {verb} {broker}", self.between(0, 40))
        for broker in self.some(brokers, len(brokers)):
            self.type(f"broker start {broker}", 50 + self.fault_ms())

    def broker_freezes(self) -> None:
        broker = self.a_broker()
        self.type(f"broker freeze {broker}")
        if self.is_likely(90):
            self.type(f"broker thaw {broker}", self.fault_ms())

    def link_is_cut(self) -> None:
        ends = [*map(str, range(1, self.brokers + 1)), "zk"]
        a, b = self.some(ends, 2)
        self.type(f"link cut {a} {b}")
        if self.is_likely(90):
            self.type(f"link restore {a} {b}", self.fault_ms())

    def broker_is_cut_off(self) -> None:
        """From all others; with or without ZooKeeper."""
        broker = self.a_broker()
        others = [str(other) for other in range(1, self.brokers + 1) if other != broker]
        lasts_ms = self.fault_ms()
        for other in [*others, "zk"] if self.is_likely(40) else others:
            self.type(f"link cut {broker} {other}")
            self.type(f"link restore {broker} {other}", lasts_ms)

    def link_is_cut_one_way(self) -> None:
        a, b = map(str, self.some(range(1, self.brokers + 1), 2))
        self.type(f"link cut {a} {b} --one-way")
        if self.is_likely(90):
            self.type(f"link restore {a} {b}", self.fault_ms())

    def link_is_slow(self) -> None:
        a, b = self.some([*map(str, range(1, self.brokers + 1)), "zk"], 2)
        line = f"link latency {a} {b}"
        self.type(f"{line} {self.pick((5, 50, 400))}ms")
        self.type(f"{line} 0", self.fault_ms())

    def link_loses(self) -> None:
        a, b = map(str, self.some(range(1, self.brokers + 1), 2))
        self.type(f"link loss {a} {b} {self.pick((5, 30, 100))}")
        self.type(f"link loss {a} {b} 0", self.fault_ms())

    def disk_is_slow(self) -> None:
        broker = self.a_broker()
        self.type(f"disk slow {broker} {self.pick((20, 200, 2000))}ms")
        self.type(f"disk slow {broker} 0", self.fault_ms())

    def session_expires(self) -> None:
        self.type(f"session expire {self.a_broker()}")

    def fetches_are_held(self) -> None:
        a, b = self.some(range(1, self.brokers + 1), 2)
        self.type(f"hold fetch {a} {b}")
        self.type(f"release fetch {a} {b}", self.fault_ms())


_ACTS: tuple[tuple[Callable[[_Drawing], None], int], ...] = (
    (_Drawing.stream_records, 8),
    (_Drawing.burst, 10),
    (_Drawing.open_producer, 2),
    (_Drawing.drop_producer, 1),
    (_Drawing.follow, 3),
    (_Drawing.unfollow, 1),
    (_Drawing.create_topic, 2),
    (_Drawing.delete_topic, 2),
    (_Drawing.add_partitions, 2),
    (_Drawing.configure, 5),
    (_Drawing.delete_records, 3),
    (_Drawing.reassign, 6),
    (_Drawing.elect, 4),
    (_Drawing.background_task, 2),
    (_Drawing.depose_controller, 2),
    (_Drawing.broker_dies, 14),
    (_Drawing.brokers_die, 3),
    (_Drawing.broker_freezes, 9),
    (_Drawing.link_is_cut, 10),
    (_Drawing.broker_is_cut_off, 3),
    (_Drawing.link_is_cut_one_way, 4),
    (_Drawing.link_is_slow, 4),
    (_Drawing.link_loses, 3),
    (_Drawing.disk_is_slow, 3),
    (_Drawing.session_expires, 4),
    (_Drawing.fetches_are_held, 6),
)
"""What may come next, and how often it does."""
