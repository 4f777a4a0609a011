"""The interface of a transaction coordinator and its broker: settings, pending requests, pending writes."""

from typing import Literal, Protocol

import msgspec

from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.transactions.loading import LoadingHost
from broker_core.transactions.metadata import TransactionMetadata, Transit
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.wire.messages import PartitionErrors


class TransactionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The broker's settings that apply here; Kafka's names with `_` for `.`."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    transaction_partition_verification_enable: bool = True
    transaction_state_log_num_partitions: int = 50
    transaction_state_log_replication_factor: int = 3
    transaction_state_log_min_isr: int = 2
    transaction_state_log_segment_bytes: int = 104_857_600


class AddRequest(msgspec.Struct):
    """An AddPartitionsToTxn whose transactions are handled one by one; `left` of them are pending."""

    message: Message
    left: int
    results: list[tuple[str, PartitionErrors]] = []
    alike: frozenset[int] = frozenset()


Then = Literal["init", "fence", "add", "offsets", "end", "end without markers", "complete", "timeout"]
"""The action after a write. fence: the producer gets a retriable error; timeout: there is no request; end without
markers: the decision of a producer epoch above the current one is stored and then refused (before 2.5).
"""


class TransactionStore(msgspec.Struct, frozen=True):
    """A pending write. `waiting`: the request to answer after it."""

    transactional_id: str
    log_partition: str
    coordinator_epoch: int
    transit: Transit
    why: str
    then: Then
    waiting: Message | AddRequest | None = None


class TransactionHost(LoadingHost, Protocol):
    """The broker interface that the coordinator needs."""

    producer_ids: ProducerIds
    era: Era

    @property
    def wall_ms(self) -> int: ...

    @property
    def transaction_settings(self) -> TransactionSettings: ...

    def append_to_transaction_log(
        self, partition: str, data: bytes, store: TransactionStore | None, timeout_ms: int
    ) -> Errors:
        """Appends a batch as leader; `stored(store, error)` is called when it is committed or cannot be any more.

        If the append fails at once, this returns the error instead.
        """

    @property
    def transaction_partition_count(self) -> int:
        """The number of partitions that `__transaction_state` has, or would have."""

    def send_markers(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Sends the markers of a decision; `markers_written` is called when all partitions have theirs."""

    def forget_markers(self, log_partition: str) -> None:
        """Drops the markers of a partition that another broker coordinates now."""
