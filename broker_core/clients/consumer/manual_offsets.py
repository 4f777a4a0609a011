"""The offsets of a consumer with a group id that is assigned its partition manually (`KafkaConsumer.assign`,
`ConsumerCoordinator` without a subscription): looked up and committed at the coordinator, without joining the group.
"""

from typing import Any, Protocol

from broker_core.clients.exceptions import COORDINATOR_MOVED, LOST_MEMBERSHIP, exception_class, exception_message
from broker_core.clients.metadata import ClientMetadata, backoff_us
from broker_core.errors import Errors
from broker_core.partitions import broker_node
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

OFFSET_APIS = ("FindCoordinator", "OffsetFetch", "OffsetCommit")
AUTO_COMMIT_TIMER, RETRY_TIMER = "auto commit", "offsets"
OFFSET_TIMERS = (AUTO_COMMIT_TIMER, RETRY_TIMER)
NOT_PART = (
    "CommitFailedException: Offset commit cannot be completed since the consumer is not part of an active group for "
    "auto partition assignment; it is likely that the consumer was kicked out of the group."
)


class OffsetSettings(Protocol):
    """The settings in use."""

    @property
    def group_id(self) -> str: ...

    @property
    def enable_auto_commit(self) -> bool: ...

    @property
    def auto_commit_interval_ms(self) -> int: ...

    @property
    def request_timeout_ms(self) -> int: ...


class OffsetOwner(Protocol):
    """The consumer as this class sees it."""

    kernel: Kernel
    name: str
    partition: str
    metadata: ClientMetadata

    @property
    def settings(self) -> OffsetSettings: ...

    @property
    def position(self) -> int: ...

    def on_committed_offset(self, offset: int) -> None: ...


class ManualOffsets:
    """See the module. `committed`: the offset of the group, -1 = none, None while it is not known. `commit_answer`: the
    result of the application's last commit: empty after a success, the exception, None while it is in flight.
    """

    def __init__(self, consumer: OffsetOwner) -> None:
        self.committed: int | None = None
        self.commit_answer: str | None = ""
        self._consumer = consumer
        self._coordinator: str | None = None
        self._attempts = 0
        self._looks_up = False
        self._is_looking = False
        self._is_finding = False
        self._is_waiting = False

    def begin(self) -> None:
        """Starts committing at intervals."""
        if self._consumer.settings.enable_auto_commit:
            self._await_interval()

    def _await_interval(self) -> None:
        kernel = self._consumer.kernel
        due_us = kernel.now_us + self._consumer.settings.auto_commit_interval_ms * 1_000
        kernel.timer(self._consumer.name, due_us, AUTO_COMMIT_TIMER)

    def look_up(self) -> None:
        """Looks up the committed offset and calls the consumer with it."""
        self._looks_up = True
        self._continue()

    def commit(self) -> None:
        """`commitSync`: retried until the coordinator responds; `commit_answer` has the result."""
        self.commit_answer = None if self._consumer.position >= 0 else ""
        self._continue()

    def _continue(self) -> None:
        if self._is_finding or self._is_waiting:
            return
        if self._coordinator is None:
            if self._looks_up or self.commit_answer is None:
                self._find()
            return
        if self._looks_up and not self._is_looking:
            self._is_looking = True
            request = OffsetFetchRequest(self._group, (self._consumer.partition,), require_stable=True)
            self._ask(self._coordinator, "OffsetFetch", request, f"OffsetFetch {self._group}")
        if self.commit_answer is None:
            self._send_commit(asked=True)

    @property
    def _group(self) -> str:
        return self._consumer.settings.group_id

    def _find(self) -> None:
        self._is_finding = True
        node = self._consumer.metadata.node_for_request()
        self._ask(node, "FindCoordinator", FindCoordinatorRequest(self._group), f"FindCoordinator {self._group}")

    def _send_commit(self, *, asked: bool) -> None:
        consumer = self._consumer
        if self._coordinator is None:
            return
        rows = ((consumer.partition, consumer.position, -1, ""),)
        request = OffsetCommitRequest(self._group, rows, -1, "", None)
        label = f"OffsetCommit {consumer.partition}@{consumer.position}"
        self._ask(self._coordinator, "OffsetCommit", request, label, data=asked)

    def _ask(self, node: str, api: str, body: Any, label: str, data: Any = None) -> None:
        timeout_us = self._consumer.settings.request_timeout_ms * 1_000
        context = (node, data)
        self._consumer.kernel.request(
            self._consumer.name, node, api, body, label=label, context=context, timeout_us=timeout_us
        )

    def _later(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._attempts += 1
            kernel = self._consumer.kernel
            kernel.timer(self._consumer.name, kernel.now_us + backoff_us(self._attempts), RETRY_TIMER)

    # Responses.

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """Handles a response of the coordinator, or the lookup of it."""
        if api == "FindCoordinator":
            self._found(body)
        elif api == "OffsetFetch":
            self._looked_up(body)
        else:
            self._committed(body, asked=context[1])

    def _found(self, response: FindCoordinatorResponse) -> None:
        self._is_finding = False
        if response.error is Errors.NONE:
            self._coordinator = broker_node(response.node_id)
            self._attempts = 0
            self._continue()
        else:
            self._later()

    def _looked_up(self, response: OffsetFetchResponse) -> None:
        self._is_looking = False
        if response.error is not Errors.NONE or response.unstable:
            self._forget_moved(response.error)
            self._later()
            return
        self._looks_up = False
        self._attempts = 0
        ((_, offset, *_),) = response.partitions
        self.committed = offset
        self._consumer.on_committed_offset(offset)

    def _committed(self, response: OffsetCommitResponse, *, asked: bool) -> None:
        ((_, error),) = response.partitions
        self._forget_moved(error)
        if error is Errors.NONE:
            self._attempts = 0
        if not asked or self.commit_answer is not None:
            return
        if error is Errors.NONE:
            self.commit_answer = ""
        elif error in LOST_MEMBERSHIP:
            self.commit_answer = NOT_PART
        elif error.retriable:
            self._later()
        else:
            self.commit_answer = f"{exception_class(error)}: {exception_message(error)}"

    def _forget_moved(self, error: Errors) -> None:
        if error in COORDINATOR_MOVED:
            self._coordinator = None

    def on_disconnect(self, api: str, context: Any) -> None:
        """Called when the coordinator has closed the connection, or did not respond in time."""
        self._consumer.metadata.unreachable(context[0])
        if api == "FindCoordinator":
            self._is_finding = False
        else:
            self._coordinator = None
            self._is_looking = self._is_looking and api != "OffsetFetch"
        self._later()

    def on_timer(self, name: str) -> None:
        """Called when a retry backoff or a commit interval has ended."""
        if name == RETRY_TIMER:
            self._is_waiting = False
            self._continue()
            return
        self._await_interval()
        if self._consumer.position >= 0:
            if self._coordinator is None and not (self._is_finding or self._is_waiting):
                self._find()
            else:
                self._send_commit(asked=False)
