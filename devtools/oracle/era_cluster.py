"""A cluster of an era without a page, driven by shell lines and inspected through its znodes and files.

The observed state is the same as that of the recorder of real brokers: the state znode, the registrations, and per
broker the log, its end, the high watermark checkpoint and the leader epoch file.
"""

import json
from collections.abc import Callable
from typing import Any

from broker_core.eras import ERAS
from broker_core.partitions import broker_node, partition_name, replica_name
from broker_core.records.record_batch import MAGIC_V2, iterate_batches, iterate_records
from broker_core.run import Run, RunConfig
from broker_core.shell.grammar.transcript import ready_line, run_command
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import NoNode

PARTITION = "t-0"
_STATE = "/brokers/topics/t/partitions/0/state"
_POLL_US = 1_000
_START = 2.5
"""How long before the step that shows it a broker is started: the duration of its startup on a real broker and a second
and a half more.
"""


class EraCluster:
    """Brokers in the order in which they start; the first is the controller. Times are in seconds; `pace` gives the
    times at which steps are observed: at least this much time passes between two steps.
    """

    def __init__(
        self,
        era: str,
        brokers: tuple[int, ...],
        config: dict[str, str],
        config_of_broker: dict[int, dict[str, str]] | None = None,
        pace: tuple[float, ...] = (),
    ) -> None:
        self.era = ERAS[era]
        self.brokers = brokers
        self.disk = SimulatedDisk()
        self.store = MemoryStore()
        self.session = self.store.open_session("recorder")
        run_config = RunConfig(
            name="era", era=era, brokers=brokers, broker_config=config, config_of_broker=config_of_broker or {}
        )
        self.run = Run(run_config, disk=self.disk, zk=self.store)
        self.steps: list[dict[str, Any]] = []
        self.pace = pace
        self._last_step_us = 0
        self._journal: list[bytes] = []
        self.sh(ready_line(brokers))

    # doing

    def sh(self, line: str, *stdin: str) -> list[str]:
        """Runs a shell line to its end; returns its output."""
        return run_command(self.run, line, stdin, keep=self._journal)[0]

    @property
    def isr_notifications(self) -> list[bytes]:
        """The events of leaders that notified the controller of changed ISRs."""
        self._journal += [data for _, _, data in self.run.take()]
        return [data for data in self._journal if b"ZnodeCreated" in data and b"/isr_change_notification/" in data]

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        self.run.advance(self.run.now_us + round(seconds * 1_000_000))

    def until(self, holds: Callable[[], object], limit: float = 60, poll_us: int = _POLL_US) -> bool:
        """Waits for a condition up to a timeout; returns whether it was met."""
        deadline_us = self.run.now_us + round(limit * 1_000_000)
        while not holds():
            if self.run.now_us >= deadline_us:
                return False
            self.run.advance(self.run.now_us + poll_us)
        return True

    def create(self, replicas: list[int], **config: str) -> None:
        """Creates the topic t with one partition."""
        configs = "".join(f" --config {name.replace('_', '.')}={value}" for name, value in config.items())
        self.sh(f"kafka-topics.sh --create --topic t --replica-assignment {':'.join(map(str, replicas))}{configs}")
        self.sh("producer open all --acks all --idempotence false")
        self.sh("producer open one --acks 1")

    def produce(self, *values: str, acks: str = "all") -> list[str]:
        """Produces records one by one; returns the response to each."""
        return self.sh(f"producer send {acks} {PARTITION} {' '.join(values)}")

    def produce_together(self, *values: str, acks: str = "all") -> None:
        """Produces all records in one batch."""
        options = f"--producer-property acks={acks} --producer-property linger.ms=500"
        self.sh(f"kafka-console-producer.sh --topic t {options}", *values)

    def read(self) -> list[str]:
        """Returns what a consumer reads from the leader, as `offset:value`."""
        lines = self.sh(
            "kafka-console-consumer.sh --topic t --partition 0 --offset earliest --timeout-ms 350 "
            "--property print.offset=true"
        )
        found = [line.split("\t") for line in lines if line.startswith("Offset:")]
        return [f"{offset.removeprefix('Offset:')}:{value}" for offset, value in found]

    def preferred(self) -> None:
        """Elects the preferred leader as the old tool did: by writing a znode."""
        self.sh(
            "zk create /admin/preferred_replica_election "
            """'{"version":1,"partitions":[{"topic":"t","partition":0}]}'"""
        )

    def move(self, order: list[int]) -> None:
        """Changes the preferred leader by a reassignment to the same replicas, and elects it."""
        self.sh(
            "zk create /admin/reassign_partitions "
            f"""'{{"version":1,"partitions":[{{"topic":"t","partition":0,"replicas":{order}}}]}}'"""
        )
        self.until(
            lambda: (
                self.znode("/admin/reassign_partitions") is None
                and self.znode("/brokers/topics/t")["partitions"]["0"] == order
            )
        )
        self.sleep(0.3)
        if self.state()["leader"] != order[0]:
            self.preferred()

    def start(self, broker_id: int) -> None:
        """Starts a broker so that it is up when the next step is due, and waits a while for it to join the ISR."""
        self.keep_pace(before=_START)
        self.sh(f"broker start {broker_id}")
        self.until(lambda: broker_id in self.state()["isr"] or self.gave_up(broker_id), 14)
        self.sleep(1.5)

    # looking

    def znode(self, path: str) -> Any:
        """A znode's JSON, or None."""
        try:
            return json.loads(self.store.get(self.session, path)[0])
        except NoNode:
            return None

    def state(self) -> dict[str, Any]:
        """The state znode of the partition."""
        data, stat = self.store.get(self.session, _STATE)
        return {**json.loads(data), "zkVersion": stat.version}

    def live(self) -> list[int]:
        """The registered brokers."""
        return sorted(int(name) for name in self.store.children(self.session, "/brokers/ids"))

    def controller(self) -> int | None:
        """The broker that holds /controller."""
        znode = self.znode("/controller")
        return None if znode is None else znode["brokerid"]

    def is_exiting(self, broker_id: int) -> bool:
        """Whether a broker has begun to exit but does not terminate."""
        return bool(self.run.view["nodes"][broker_node(broker_id)]["state"] == "exiting")

    def gave_up(self, broker_id: int) -> bool:
        """Whether a broker has terminated by itself, or has begun to."""
        return bool(self.run.view["nodes"][broker_node(broker_id)]["state"] in ("exiting", "down"))

    def high_watermark(self, broker_id: int) -> int | None:
        """The high watermark that a running broker holds in memory."""
        replica = self.run.view["replicas"].get(replica_name(PARTITION, broker_node(broker_id)))
        return None if replica is None else replica["high_watermark"]

    def checkpoint(self, broker_id: int) -> int | None:
        """The high watermark in the broker's checkpoint file."""
        path = f"broker-{broker_id}/replication-offset-checkpoint"
        if not self.disk.exists(path):
            return None
        lines = [line.split() for line in self.disk.read_file(path).decode().splitlines()[2:]]
        return next((int(offset) for topic, index, offset in lines if partition_name(topic, index) == PARTITION), None)

    def log(self, broker_id: int) -> list[str]:
        """The records in the broker's files, as `offset:value`, with `@epoch` if the format has one."""
        folder = f"broker-{broker_id}/{PARTITION}"
        found = []
        for name in self.disk.list(folder):
            if name.endswith(".log"):
                data = self.disk.read_file(f"{folder}/{name}")
                for position, header in iterate_batches(data):
                    epoch = f"@{header.partition_leader_epoch}" if header.magic >= MAGIC_V2 else ""
                    records = iterate_records(data, header, position)
                    found += [f"{record.offset}:{(record.value or b'').decode()}{epoch}" for record in records]
        return found

    def epochs(self, broker_id: int) -> list[list[int]] | None:
        """The leader epoch file, or None."""
        path = f"broker-{broker_id}/{PARTITION}/leader-epoch-checkpoint"
        if not self.disk.exists(path):
            return None
        return [[int(word) for word in line.split()] for line in self.disk.read_file(path).decode().splitlines()[2:]]

    def keep_pace(self, before: float = 0) -> None:
        """Waits until the next step is due, or until this long before it."""
        number = len(self.steps)
        if 0 < number < len(self.pace):
            due_us = self._last_step_us + round((self.pace[number] - self.pace[number - 1] - before) * 1_000_000)
            self.run.advance(max(due_us, self.run.now_us))

    def step(self, what: str, *, at_once: bool = False, **seen: object) -> None:
        """Records the state when the step is due, or `at_once`."""
        if not at_once:
            self.keep_pace()
        self._last_step_us = self.run.now_us
        replicas: dict[str, Any] = {}
        for broker_id in self.brokers:
            if not self.disk.exists(f"broker-{broker_id}/{PARTITION}"):
                continue
            log = self.log(broker_id)
            is_up = self.run.view["nodes"][broker_node(broker_id)]["state"] != "down"
            replicas[str(broker_id)] = {
                "up": is_up,
                "leo": int(log[-1].partition(":")[0]) + 1 if log else 0,
                "log": log,
                "hw": {self.checkpoint(broker_id), self.high_watermark(broker_id) if is_up else None} - {None},
                "epochs": self.epochs(broker_id),
            }
        self.steps.append(
            {
                "what": what,
                **seen,
                "state": self.state(),
                "controller": self.controller(),
                "live": self.live(),
                "replicas": replicas,
            }
        )
