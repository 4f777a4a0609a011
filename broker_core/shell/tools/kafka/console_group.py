"""kafka-console-consumer.sh --group: the tool as a member of a group that commits the printed records."""

import re

from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.clients.consumer.group_member import GroupMember
from broker_core.clients.exceptions import exception_class
from broker_core.errors import Errors
from broker_core.records.record_batch import Record
from broker_core.shell.admin.requests import RETRY_BACKOFF_US, Asking
from broker_core.shell.grammar.process import Process, Sleep, Until
from broker_core.shell.java.errors import ERRORS_PACKAGE, JavaException, error_class, log_error

CLIENT_ID = "console-consumer"
NAME = re.compile(r"(?!b\d+$|zk$|shell$|lab$)[A-Za-z][A-Za-z0-9._-]{0,39}")
METADATA_LOGGER = "org.apache.kafka.clients.Metadata"
CONSUMER_PACKAGE = "org.apache.kafka.clients.consumer."
OF_CONSUMER = ("NoOffsetForPartitionException", "OffsetOutOfRangeException")
_FATAL_AT_JOIN = frozenset(
    map(
        exception_class,
        (
            Errors.INCONSISTENT_GROUP_PROTOCOL,
            Errors.INVALID_GROUP_ID,
            Errors.INVALID_SESSION_TIMEOUT,
            Errors.GROUP_MAX_SIZE_REACHED,
        ),
    )
)
CLOSE_US = 20_000_000
LONG_US = 1 << 60


class GroupReader:
    """A consumer that lives as long as the tool runs."""

    def __init__(
        self, process: Process, settings: GroupConsumerSettings, client_id: str, timeout_us: int | None
    ) -> None:
        self._process = process
        self._settings = settings
        self._client_id = client_id if NAME.fullmatch(client_id) else CLIENT_ID
        self._timeout_us = timeout_us
        self._consumer: GroupMember | None = None

    def poll(self) -> Asking[list[tuple[str, Record]]]:
        """The next records. Raises JavaException if none arrives in time, or the consumer has failed."""
        process = self._process
        consumer = self._consumer
        if consumer is None:
            clients = process.cluster.clients
            wanted = self._client_id
            names = [wanted, *(f"{wanted}-{number}" for number in range(1, 1_000))]
            name = next(name for name in names if clients.is_free(name))
            consumer = self._consumer = clients.open_group_consumer(name, self._settings)
        member = consumer
        deadline_us = LONG_US if self._timeout_us is None else process.now_us + self._timeout_us
        yield Until(lambda cluster: bool(member.output) or member.is_over, deadline_us)
        if member.is_over:
            raise self._failure(member)
        if not member.output:
            raise JavaException(ERRORS_PACKAGE + "TimeoutException", "")
        return member.take_output()

    def _failure(self, member: GroupMember) -> JavaException:
        java_class, _, message = member.why.partition(": ")
        invalid = message.removeprefix("Invalid topics: ")
        if invalid != message:
            client = f"[Consumer clientId={member.name}, groupId={self._settings.group_id}]"
            log_error(self._process, [f"{client} Metadata response reported invalid topics {invalid}"], METADATA_LOGGER)
        if java_class in _FATAL_AT_JOIN:
            client = f"[Consumer clientId={member.name}, groupId={self._settings.group_id}]"
            text = f"{client} JoinGroup failed due to fatal error: {message}"
            log_error(self._process, [text], f"{CONSUMER_PACKAGE}internals.ConsumerCoordinator")
        if java_class == exception_class(Errors.GROUP_MAX_SIZE_REACHED):
            message = f"Consumer group {self._settings.group_id} already has the configured maximum number of members."
        name = CONSUMER_PACKAGE + java_class if java_class in OF_CONSUMER else error_class(java_class)
        return JavaException(name, message)

    def close(self, unread: list[tuple[str, Record]]) -> Asking[None]:
        """Seeks back to the records that were not printed, commits, and leaves the group."""
        consumer = self._consumer
        if consumer is None:
            return
        for partition, record in reversed([*unread, *consumer.output]):
            if partition in consumer.owned:
                consumer.seek(partition, record.offset)
        consumer.close()
        yield Until(lambda cluster: consumer.is_over, self._process.now_us + CLOSE_US)
        self.drop()

    def drop(self) -> None:
        """Called when the process has ended."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            self._process.cluster.clients.close(consumer.name)


class NewProtocolReader:
    """A member with the protocol of KIP-848, which a cluster with ZooKeeper does not support."""

    def __init__(self, process: Process, client_id: str, group: str) -> None:
        self._process = process
        self._client = f"[Consumer clientId={client_id}, groupId={group}]"

    def poll(self) -> Asking[list[tuple[str, Record]]]:
        """Raises JavaException: its first heartbeat is rejected."""
        yield Sleep(RETRY_BACKOFF_US)
        for text, logger in (
            ("GroupHeartbeatRequest failed due to UNSUPPORTED_VERSION: null", "HeartbeatRequestManager"),
            ("Member  with epoch 0 transitioned to FATAL state", "MembershipManagerImpl"),
        ):
            log_error(
                self._process, [f"{self._client} {text}"], f"org.apache.kafka.clients.consumer.internals.{logger}"
            )
        raise JavaException(ERRORS_PACKAGE + "UnsupportedVersionException", "The version of API is not supported.")

    def close(self, unread: list[tuple[str, Record]]) -> Asking[None]:
        """Does nothing: the consumer never joined a group."""
        yield from ()

    def drop(self) -> None:
        """Does nothing: the consumer never joined a group."""
