"""A producer's metadata refreshes: one Metadata request at a time, with backoffs."""

from collections.abc import Callable

from broker_core.clients.metadata import RETRY_BACKOFF_US, ClientMetadata, backoff_us
from broker_core.partitions import topic_of
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import MetadataRequest, MetadataResponse

METADATA_TIMER = "metadata"
METADATA_AGE_TIMER = "metadata age"


class MetadataRequests:
    """`lacks_leader` returns the partitions without a leader; while there are any, metadata is requested again.
    Otherwise it is requested when it is `max_age_us` old (`metadata.max.age.ms`).
    """

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        metadata: ClientMetadata,
        timeout_us: int,
        max_age_us: int,
        lacks_leader: Callable[[], list[str]],
    ) -> None:
        self.kernel = kernel
        self.name = name
        self.metadata = metadata
        self.is_in_flight = False
        self._timeout_us = timeout_us
        self._max_age_us = max(max_age_us, RETRY_BACKOFF_US)
        self._refreshed_us = 0
        self._is_aging = False
        self._lacks_leader = lacks_leader
        self._wanted: dict[str, None] = {}
        self._attempts = 0
        self._not_before_us = 0

    def request(self, topic: str) -> None:
        """Requests a topic's metadata."""
        self._wanted[topic] = None
        self.send()

    def send(self) -> None:
        """Sends a request, unless one is in flight, a backoff has not ended, or none is needed."""
        if self.is_in_flight or self.kernel.now_us < self._not_before_us or not self._wanted:
            return
        self.is_in_flight = True
        topics = tuple(self._wanted)
        node = self.metadata.node_for_request()
        self.kernel.request(
            self.name,
            node,
            "Metadata",
            MetadataRequest(topics, allow_auto_topic_creation=True),
            label="Metadata " + ", ".join(topics),
            context=node,
            timeout_us=self._timeout_us,
        )

    def on_response(self, response: MetadataResponse) -> None:
        """Handles a response."""
        self.is_in_flight = False
        self._refreshed_us = self.kernel.now_us
        self._await_age()
        self.metadata.update(response)
        waiting = {topic_of(partition) for partition in self._lacks_leader()}
        self._wanted = {topic: None for topic in self._wanted if topic in waiting}
        if self._wanted:
            self._retry()
        else:
            self._attempts = 0

    def _await_age(self) -> None:
        if not self._is_aging:
            self._is_aging = True
            self.kernel.timer(self.name, self._refreshed_us + self._max_age_us, METADATA_AGE_TIMER)

    def aged(self) -> None:
        """Requests the metadata of all topics in use if it is too old."""
        self._is_aging = False
        if self.kernel.now_us - self._refreshed_us < self._max_age_us:
            self._await_age()
        else:
            self._wanted |= dict.fromkeys(self.metadata.topic_errors)
            self.send()

    def failed(self, node: str) -> None:
        """Called when the broker has closed the connection, or did not respond in time."""
        self.is_in_flight = False
        self.metadata.unreachable(node)
        self._retry()

    def _retry(self) -> None:
        self._attempts += 1
        self._not_before_us = self.kernel.now_us + backoff_us(self._attempts)
        self.kernel.timer(self.name, self._not_before_us, METADATA_TIMER)
