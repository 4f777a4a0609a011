"""CreateTopics: topics are written to ZooKeeper (`ZkAdminManager.createTopics`).

A request for many topics is handled in slices, with other requests and the controller's work between them: a topic is
five znodes. Kafka's broker has other threads for these. The answer waits until the metadata shows all topics; its
timeout begins when the last one is written, as in Kafka.
"""

from typing import Protocol

import msgspec

from broker_core.broker.admin.admin_purgatory import AdminPurgatory, DelayedTopics
from broker_core.broker.common.guard import close_after_failure
from broker_core.controller.controller import Controller
from broker_core.errors import Errors
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.sim.zookeeper import ZkClient
from broker_core.wire.messages import CreateTopicsRequest, CreateTopicsResponse, TopicResult
from broker_core.zk.znodes import TopicZnode

SLICE_TIMER = "topic_creations_slice"
TOPICS_PER_SLICE = 10
SLICE_PAUSE_US = 10_000
BLOCKED_PAUSE_US = 100_000
"""The interval at which ZooKeeper's reachability is checked."""


class CreationsHost(Protocol):
    """What the creation of topics needs of its broker."""

    name: str
    kernel: Kernel
    controller: Controller
    waiting_admin: AdminPurgatory

    @property
    def zk(self) -> ZkClient: ...

    @property
    def can_use_zookeeper(self) -> bool: ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class Progress(msgspec.Struct):
    """A request that is being handled. `results`: of the topics handled so far; `expected`: partitions of those
    created.
    """

    message: Message
    results: list[TopicResult]
    expected: dict[str, tuple[int, ...]]


class TopicCreations:
    """The CreateTopics requests of one broker process."""

    def __init__(self, broker: CreationsHost) -> None:
        self._broker = broker

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {SLICE_TIMER: self._on_slice}

    def handle(self, message: Message) -> None:
        """Handles a request, or its first slice."""
        self._handle_slice(Progress(message, [], {}))

    def _on_slice(self, progress: Progress) -> None:
        broker = self._broker
        if not broker.can_use_zookeeper:
            broker.timer(BLOCKED_PAUSE_US, SLICE_TIMER, progress)
            return
        try:
            self._handle_slice(progress)
        except Exception as failure:
            close_after_failure(broker, failure, progress.message)

    def _handle_slice(self, progress: Progress) -> None:
        broker = self._broker
        body: CreateTopicsRequest = progress.message.body
        done = len(progress.results)
        for result in broker.controller.create_topics(body, slice(done, done + TOPICS_PER_SLICE)).topics:
            progress.results.append(result)
            if result.error is Errors.NONE and not body.validate_only:
                data, _ = broker.zk.get(TopicZnode.path(result.name))
                progress.expected[result.name] = tuple(TopicZnode.decode(result.name, data).partitions)
        if len(progress.results) < len(body.topics):
            broker.timer(SLICE_PAUSE_US, SLICE_TIMER, progress)
            return
        delayed = DelayedTopics(progress.message, progress.expected, tuple(progress.results), CreateTopicsResponse)
        broker.waiting_admin.park(delayed, body.timeout_ms)
