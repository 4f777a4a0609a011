"""Base of group members, with a coordinator or without."""

from abc import ABC, abstractmethod
from typing import Any

from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings, Work
from broker_core.clients.consumer.group_fetcher import GroupFetcher
from broker_core.clients.consumer.read_replicas import ReadReplicas
from broker_core.clients.metadata import ClientMetadata
from broker_core.events.group import ConsumerAssigned, ConsumerStateChanged
from broker_core.events.rpc import Fields
from broker_core.records.record_batch import Record
from broker_core.sim.kernel import Kernel, PassiveNode, Subjects, applies


class GroupMember(PassiveNode, ABC):
    """A node. `state`, the owned partitions and the records read are changed only by events.

    Positions and fetched records belong to its fetcher. `generation_id` is -1 where there are no generations.
    """

    def __init__(self, kernel: Kernel, name: str, settings: GroupConsumerSettings, bootstrap: tuple[str, ...]) -> None:
        self.kernel = kernel
        self.name = name
        self.settings = settings
        self.metadata = ClientMetadata(bootstrap)
        self.read_replicas = ReadReplicas(kernel, name, self.metadata, settings.metadata_max_age_ms)
        self.state = ""
        self.why = ""
        self.member_id = ""
        self.generation_id = -1
        self.owned: tuple[str, ...] = ()
        self.partition = ""
        self.last_position = -1
        self.high_watermark = -1
        self.last_reset = ""
        self.records: list[tuple[int, int, str | None, str | None]] = []
        self.work = Work()
        #: the result of the last commit that its application requested: success, this error, or None while it is in
        #: flight
        self.commit_answer: str | None = ""
        self._fetcher = GroupFetcher(self)
        self._attempts = 0

    @property
    def positions(self) -> dict[str, tuple[int, int]]:
        """Its positions, as in `GroupFetcher`."""
        return self._fetcher.positions

    @property
    @abstractmethod
    def may_fetch(self) -> bool:
        """Whether its application waits for records."""

    @property
    def is_over(self) -> bool:
        """Whether it has closed or failed."""
        return self.state in ("closed", "failed")

    @property
    def output(self) -> list[tuple[str, Record]]:
        """(partition, record) of the fetched records that the application has not taken."""
        return self._fetcher.output

    def take_output(self) -> list[tuple[str, Record]]:
        """Returns and clears the records read since the last call (`KafkaConsumer.poll`)."""
        taken, self._fetcher.output = self._fetcher.output, []
        return taken

    def seek(self, partition: str, offset: int) -> None:
        """Sets the position of an owned partition."""
        self._fetcher.seek(partition, offset)

    @abstractmethod
    def commit(self) -> bool:
        """Commits the positions (`KafkaConsumer.commitSync`); `commit_answer` has the result. False when no coordinator
        is known: to be retried.
        """

    def description(self) -> dict[str, object]:
        """This consumer as shown in the view; equals the result of folding its events."""
        return {
            "position": self.last_position,
            "high_watermark": self.high_watermark,
            "last_reset": self.last_reset,
            "records": [list(record) for record in self.records],
            "assignment": list(self.owned),
            "read_replicas": self.read_replicas.description(),
        }

    # Start and close.

    @abstractmethod
    def begin(self) -> None:
        """Starts."""

    @abstractmethod
    def close(self) -> None:
        """Closes cleanly."""

    def give_up(self, why: str) -> None:
        """Fails: the next call of the application throws this exception."""
        self._change("failed", why)

    def _change(self, state: str, why: str) -> None:
        self.kernel.emit(
            ConsumerStateChanged(
                client=self.name, state=state, member_id=self.member_id, generation_id=self.generation_id, why=why
            ),
            self.name,
        )

    # Requests.

    def send_request(
        self,
        node: str,
        api: str,
        body: Any,
        what: str,
        label: str,
        timeout_ms: int | None = None,
        data: Any = None,
        fields: Fields = (),
    ) -> None:
        """Sends a request; the response is handled as `what` with `data`."""
        self.kernel.request(
            self.name,
            node,
            api,
            body,
            label=label,
            fields=fields,
            context=(what, node, data),
            timeout_us=(self.settings.request_timeout_ms if timeout_ms is None else timeout_ms) * 1_000,
        )

    @abstractmethod
    def request_metadata_later(self) -> None:
        """Requests metadata after a pause, unless a request is pending."""

    def poll_returned(self) -> None:
        """Called when a poll has returned, perhaps with records: the next one starts when they are processed."""
        self._attempts = 0
        work = self.work
        if work.records:
            work.begin()
            self._timer(work.records * self.settings.processing_ms, "processed")

    def _timer(self, delay_ms: int, name: str, data: Any = None) -> None:
        self.kernel.timer(self.name, self.kernel.now_us + delay_ms * 1_000, name, data)

    # The node interface.

    @abstractmethod
    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""

    @abstractmethod
    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """Called when the broker has closed the connection, or did not respond in time."""

    @abstractmethod
    def on_timer(self, name: str, data: Any) -> None:
        """Pauses, intervals and deadlines."""


@applies(ConsumerStateChanged)
def _state_changed(subjects: Subjects, event: ConsumerStateChanged, at_us: int) -> None:
    member: GroupMember = subjects[event.client]
    member.state = event.state
    member.why = event.why


@applies(ConsumerAssigned)
def _assigned(subjects: Subjects, event: ConsumerAssigned, at_us: int) -> None:
    member: GroupMember = subjects[event.client]
    member.owned = event.partitions
    for name in [name for name in member.positions if name not in event.partitions]:
        del member.positions[name]
    for name in [name for name in member.read_replicas.preferred if name not in event.partitions]:
        del member.read_replicas.preferred[name]
