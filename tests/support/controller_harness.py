"""Brokers that only take part in ZooKeeper and host a controller, on the real kernel and a store in memory."""

from dataclasses import dataclass, field
from typing import Any

from broker_core.controller.controller import Controller
from broker_core.controller.registration import bootstrap_paths, cluster_id, register_broker
from broker_core.eras import ERAS, Era
from broker_core.errors import Errors
from broker_core.events import Envelope, Event
from broker_core.partitions import TopicPartition, broker_node
from broker_core.sim.kernel import Kernel, Latency, Message
from broker_core.sim.rng import RandomStream
from broker_core.sim.zookeeper import ZK_NODE, ZkClient, ZooKeeper
from broker_core.wire.messages import (
    CreateTopicSpec,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ForeignChange, ForeignKind
from broker_core.zk.znodes import PartitionStateZnode

SESSION_TIMEOUT_US = 6_000_000
START_WALL_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Config:
    num_partitions: int = 1
    default_replication_factor: int = 1
    auto_leader_rebalance_enable: bool = False
    leader_imbalance_check_interval_seconds: int = 300
    leader_imbalance_per_broker_percentage: int = 10
    delete_topic_enable: bool = True
    settings: dict[str, str] = field(default_factory=dict)


class FakeBroker:
    """Answers control requests with success, unless `storage_errors` has the partition; keeps them in `requests`."""

    def __init__(self, kernel: Kernel, zookeeper: ZooKeeper, broker_id: int, config: Config, era: Era) -> None:
        self.kernel = kernel
        self.zookeeper = zookeeper
        self.broker_id = broker_id
        self.name = broker_node(broker_id)
        self.config = config
        self.era = era
        self.requests: list[Any] = []
        self.known_controllers: list[int] = []
        self.storage_errors: set[str] = set()
        self.broker_epoch = -1
        self.zk: ZkClient
        self.controller = Controller(self)

    @property
    def now_us(self) -> int:
        return self.kernel.now_us

    @property
    def wall_ms(self) -> int:
        return START_WALL_MS + self.kernel.now_us // 1000

    @property
    def stream(self) -> RandomStream:
        return self.kernel.streams["controller"]

    def emit(self, event: Event) -> int:
        return self.kernel.emit(event, self.name)

    def knows_topic(self, topic: str) -> bool:
        return False

    def send_to_broker(self, broker_id: int, channel: int, api: str, body: object) -> None:
        self.kernel.request(self.name, broker_node(broker_id), api, body, label=api, context=(broker_id, channel))

    def timer(self, delay_us: int, name: str, data: object = None) -> int:
        return self.kernel.timer(self.name, self.kernel.now_us + delay_us, name, data)

    def controller_changed(self, broker_id: int, controller_epoch: int) -> None:
        self.known_controllers.append(broker_id)

    def connect_and_register(self) -> None:
        self.zk = self.zookeeper.connect(self.name, SESSION_TIMEOUT_US)
        bootstrap_paths(self.zk)
        cluster_id(self.zk, self.stream)
        self.broker_epoch = register_broker(
            self.zk, self.broker_id, host="127.0.0.1", port=9090 + self.broker_id, timestamp_ms=self.wall_ms
        )
        self.controller.start()

    def on_request(self, message: Message) -> None:
        self.requests.append(message.body)
        self.kernel.respond(message, self.answer(message.body), label=message.api)

    def answer(self, body: object) -> object:
        match body:
            case LeaderAndIsrRequest():
                return LeaderAndIsrResponse(
                    partitions=tuple((state.partition, self.error_of(state.partition)) for state in body.partitions)
                )
            case StopReplicaRequest():
                return StopReplicaResponse(
                    partitions=tuple((state.partition, self.error_of(state.partition)) for state in body.partitions)
                )
            case UpdateMetadataRequest():
                return UpdateMetadataResponse()
        raise AssertionError(f"unexpected request {body!r}")

    def error_of(self, partition: str) -> Errors:
        return Errors.KAFKA_STORAGE_ERROR if partition in self.storage_errors else Errors.NONE

    def on_response(self, api: str, body: Any, context: tuple[int, int]) -> None:
        self.controller.on_response(*context, body)

    def on_disconnect(self, api: str, context: tuple[int, int], why: str) -> None:
        self.controller.on_disconnect(*context)

    def on_timer(self, name: str, data: Any) -> None:
        self.controller.timers[name](data)

    def on_watch(self, kind: str, path: str) -> None:
        self.controller.on_watch(kind, path)


class FakeCluster:
    """Brokers 1..N, started one after the other: the first becomes the controller."""

    def __init__(self, brokers: int = 3, config: Config | None = None, era: str = "3.9", latency_us: int = 500) -> None:
        self.kernel = Kernel(7, Latency(latency_us))
        self.events: list[Envelope] = []
        self.kernel.on_event = self.events.append
        self.store = MemoryStore()
        self.zookeeper = ZooKeeper(self.kernel, self.store)
        self.kernel.add(self.zookeeper)
        self.config = config or Config()
        self.era = ERAS[era]
        self.brokers: dict[int, FakeBroker] = {}
        for broker_id in range(1, brokers + 1):
            self.start(broker_id)

    def start(self, broker_id: int) -> FakeBroker:
        broker = FakeBroker(self.kernel, self.zookeeper, broker_id, self.config, self.era)
        self.brokers[broker_id] = broker
        self.kernel.subjects[f"controller@{broker.name}"] = broker.controller
        self.kernel.add(broker)
        broker.connect_and_register()
        self.settle()
        return broker

    def kill(self, broker_id: int) -> None:
        """The process dies; its session outlives it by the session timeout, which passes here."""
        self.kill_without_waiting(broker_id)
        self.settle(SESSION_TIMEOUT_US + 1_000_000)

    def kill_without_waiting(self, broker_id: int) -> None:
        name = self.brokers[broker_id].name
        self.zookeeper.lost_contact(name)
        self.kernel.remove(name)

    def settle(self, for_us: int = 1_000_000) -> None:
        """Lets `for_us` pass."""
        end_us = self.kernel.now_us + for_us
        while (due_us := self.kernel.scheduler.next_due_us()) is not None and due_us <= end_us:
            self.kernel.step()
        self.kernel.scheduler.advance_to(end_us)

    @property
    def controller(self) -> Controller:
        active = [
            broker.controller
            for broker in self.brokers.values()
            if broker.controller.is_active and broker.name in self.kernel.up
        ]
        assert len(active) == 1, f"{len(active)} active controllers"
        return active[0]

    def create(self, name: str, *assignment: tuple[int, ...], **configs: str) -> None:
        spec = CreateTopicSpec(name=name, assignment=dict(enumerate(assignment)), configs=tuple(configs.items()))
        response = self.controller.create_topics(CreateTopicsRequest((spec,)))
        assert response.topics[0].error is Errors.NONE, response
        self.settle()

    def try_create(self, *specs: CreateTopicSpec, validate_only: bool = False) -> CreateTopicsResponse:
        return self.controller.create_topics(CreateTopicsRequest(specs, validate_only=validate_only))

    def delete(self, *names: str) -> DeleteTopicsResponse:
        response = self.controller.delete_topics(DeleteTopicsRequest(names))
        self.settle()
        return response

    def state(self, partition: str) -> tuple[int, int, list[int], int, int]:
        """Leader, leader epoch, ISR, controller epoch and version of the state znode."""
        topic, number = TopicPartition.parse(partition)
        found = self.store.peek(PartitionStateZnode.path(topic, number))
        assert found is not None, f"{partition} has no state"
        znode = PartitionStateZnode.decode(topic, number, found[0])
        return znode.leader, znode.leader_epoch, list(znode.isr), znode.controller_epoch, found[1].version

    def data(self, path: str) -> str | None:
        """What a znode holds."""
        found = self.store.peek(path)
        return None if found is None else found[0].decode()

    def foreign(self, kind: ForeignKind, path: str, data: bytes | None = None) -> None:
        """An external change from a ZooKeeper shell."""
        self.zookeeper.foreign_change(ForeignChange(kind, path, data))
        self.settle()

    def cut_from_zookeeper(self, broker_id: int) -> None:
        """No word passes between a broker and ZooKeeper until its session has expired."""
        name = self.brokers[broker_id].name
        self.kernel.cut(name, ZK_NODE)
        self.zookeeper.lost_contact(name)
        self.settle(SESSION_TIMEOUT_US + 1_000_000)
