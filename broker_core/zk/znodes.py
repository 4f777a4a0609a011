"""The znodes of Kafka: the path, the encoder and the decoder of each.

A class with fields is the JSON of its znode: names, versions and the order of the keys are what Kafka 3.9 writes
(`ZkData`: `ControllerZNode`, `BrokerIdZNode`, `TopicZNode`, ...; where Scala's maps leave the order to hashing, the
order seen on a running cluster). Decoders accept older versions, too, and ignore unknown keys. Data that cannot be
parsed raises `ZnodeDataError`.
"""

from typing import Any, ClassVar, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

NO_LEADER = -1


class ZnodeDataError(ValueError):
    """A znode's data is malformed. The message says which znode, what was expected and what was found."""

    def __init__(self, path: str, expected: str, data: bytes, detail: str = ""):
        text = data.decode("utf-8", "replace")
        found = repr(text if len(text) <= 120 else text[:120] + "...") if data else "nothing"
        super().__init__(f"{path} should hold {expected}, but holds {found}{detail and f' ({detail})'}.")
        self.path = path


def _decode_int(path: str, data: bytes) -> int:
    try:
        return int(data.decode("ascii"))
    except ValueError as error:
        raise ZnodeDataError(path, "a whole number", data) from error


class _JsonZnode(msgspec.Struct, frozen=True, kw_only=True):
    EXAMPLE: ClassVar[str]

    def encode(self) -> bytes:
        """Kafka's compact JSON."""
        return msgspec.json.encode(self)

    def _encode(self, *fields: str) -> bytes:
        """Encodes only these fields, in this order, as in an older version of the znode; unset fields are omitted."""
        names = dict(zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True))
        values = {names[field]: getattr(self, field) for field in fields}
        return msgspec.json.encode({name: value for name, value in values.items() if value is not UNSET})

    @classmethod
    def _decode(cls, path: str, data: bytes) -> Self:
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ZnodeDataError(path, f"JSON such as {cls.EXAMPLE}", data, str(error)) from error


class PartitionEntry(msgspec.Struct, frozen=True):
    """A partition in the list of a znode."""

    topic: str
    partition: int


# The cluster


class ControllerZnode(_JsonZnode, frozen=True, kw_only=True):
    """Ephemeral; the broker that created it is the controller. Every broker watches it."""

    PATH: ClassVar[str] = "/controller"
    EXAMPLE: ClassVar[str] = '{"version":2,"brokerid":1,"timestamp":"1531477349286","kraftControllerEpoch":-1}'

    version: int = 2
    broker_id: int = msgspec.field(name="brokerid")
    timestamp: str
    kraft_controller_epoch: int = msgspec.field(default=-1, name="kraftControllerEpoch")

    def encode(self) -> bytes:
        """Version 1 had no KRaft field."""
        return super().encode() if self.version >= 2 else self._encode("version", "broker_id", "timestamp")

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls._decode(cls.PATH, data)


class ControllerEpochZnode:
    """The controller epoch as plain text. The znode's version fences the writes of old controllers."""

    PATH = "/controller_epoch"
    INITIAL_EPOCH = 0

    @staticmethod
    def encode(epoch: int) -> bytes:
        return str(epoch).encode()

    @classmethod
    def decode(cls, data: bytes) -> int:
        return _decode_int(cls.PATH, data)


class ClusterIdZnode(_JsonZnode, frozen=True, kw_only=True):
    """Written once, by the first broker. The version is a string, unlike everywhere else."""

    PATH: ClassVar[str] = "/cluster/id"
    EXAMPLE: ClassVar[str] = '{"version":"1","id":"gDiADd36SjGdyrrQul5LrQ"}'

    version: str = "1"
    id: str

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls._decode(cls.PATH, data)


class FeatureZnode(_JsonZnode, frozen=True, kw_only=True):
    """Finalized features. Status 1 is enabled."""

    PATH: ClassVar[str] = "/feature"
    EXAMPLE: ClassVar[str] = '{"features":{},"version":2,"status":1}'

    features: dict[str, Any] = {}
    version: int = 2
    status: int = 1

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls._decode(cls.PATH, data)


class ProducerIdBlockZnode(_JsonZnode, frozen=True, kw_only=True):
    """The last block of producer ids allocated to a broker."""

    PATH: ClassVar[str] = "/latest_producer_id_block"
    EXAMPLE: ClassVar[str] = '{"version":1,"broker":1,"block_start":"4000","block_end":"4999"}'

    version: int = 1
    broker: int
    block_start: str
    block_end: str

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls._decode(cls.PATH, data)


# Brokers


class BrokerIdZnode(_JsonZnode, frozen=True, kw_only=True):
    """Ephemeral; a broker is in the cluster as long as it exists. Its czxid is the broker epoch."""

    PARENT: ClassVar[str] = "/brokers/ids"
    EXAMPLE: ClassVar[str] = (
        '{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://h1:9092"],'
        '"jmx_port":-1,"port":9092,"host":"h1","version":5,"timestamp":"1531477349286"}'
    )

    features: dict[str, Any] = {}
    listener_security_protocol_map: dict[str, str] = msgspec.field(default_factory=lambda: {"PLAINTEXT": "PLAINTEXT"})
    rack: str | UnsetType = UNSET
    endpoints: tuple[str, ...] = ()
    jmx_port: int = -1
    port: int
    host: str
    version: int = 5
    timestamp: str

    def encode(self) -> bytes:
        """Version 1 (0.8) has one endpoint, 4 (0.10.2 to 2.6) several and no features."""
        if self.version >= 5:
            return super().encode()
        if self.version == 1:
            return self._encode("jmx_port", "timestamp", "host", "version", "port")
        return self._encode(
            "listener_security_protocol_map", "rack", "endpoints", "jmx_port", "host", "timestamp", "port", "version"
        )

    @classmethod
    def path(cls, broker_id: int) -> str:
        return f"{cls.PARENT}/{broker_id}"

    @classmethod
    def decode(cls, broker_id: int, data: bytes) -> Self:
        return cls._decode(cls.path(broker_id), data)


class LogDirEventNotificationZnode(_JsonZnode, frozen=True, kw_only=True):
    """A broker's notification to the controller that a log directory failed. Sequential below PARENT."""

    PARENT: ClassVar[str] = "/log_dir_event_notification"
    SEQUENCE_PATH: ClassVar[str] = f"{PARENT}/log_dir_event_"
    EXAMPLE: ClassVar[str] = '{"version":1,"broker":1,"event":1}'

    version: int = 1
    broker: int
    event: int = 1

    @classmethod
    def decode(cls, path: str, data: bytes) -> Self:
        return cls._decode(path, data)


# Topics and partitions


class TopicZnode(_JsonZnode, frozen=True, kw_only=True):
    """The assignment: partition -> replicas, the preferred one first.

    Version 1 has partitions only; version 2 (2.4) adds the adding and removing replicas.
    """

    PARENT: ClassVar[str] = "/brokers/topics"
    EXAMPLE: ClassVar[str] = (
        '{"partitions":{"0":[1,2,3]},"topic_id":"FEqjX_4kRzOjCespF85mfg","adding_replicas":{},"removing_replicas":{},'
        '"version":3}'
    )

    partitions: dict[int, tuple[int, ...]]
    topic_id: str | UnsetType = UNSET
    adding_replicas: dict[int, tuple[int, ...]] = {}
    removing_replicas: dict[int, tuple[int, ...]] = {}
    version: int = 3

    def encode(self) -> bytes:
        """The JSON of this version of the znode."""
        if self.version >= 3:
            return super().encode()
        if self.version == 2:
            return self._encode("version", "partitions", "adding_replicas", "removing_replicas")
        return self._encode("version", "partitions")

    @classmethod
    def path(cls, topic: str) -> str:
        return f"{cls.PARENT}/{topic}"

    @classmethod
    def partitions_path(cls, topic: str) -> str:
        """The empty parent of the partitions."""
        return f"{cls.PARENT}/{topic}/partitions"

    @classmethod
    def decode(cls, topic: str, data: bytes) -> Self:
        return cls._decode(cls.path(topic), data)


class PartitionStateZnode(_JsonZnode, frozen=True, kw_only=True):
    """Leader, epochs and ISR. Its version is the partition epoch; leader -1 means none."""

    EXAMPLE: ClassVar[str] = '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}'

    controller_epoch: int
    leader: int
    version: int = 1
    leader_recovery_state: int | UnsetType = UNSET
    leader_epoch: int
    isr: tuple[int, ...]

    @property
    def recovering(self) -> bool:
        """Whether the leader is recovering: after an unclean election, until a follower joins the ISR (KIP-704)."""
        return self.leader_recovery_state == 1

    @classmethod
    def path(cls, topic: str, partition: int) -> str:
        return f"{cls.partition_path(topic, partition)}/state"

    @classmethod
    def partition_path(cls, topic: str, partition: int) -> str:
        """The empty parent of the state."""
        return f"{TopicZnode.partitions_path(topic)}/{partition}"

    @classmethod
    def decode(cls, topic: str, partition: int, data: bytes) -> Self:
        return cls._decode(cls.path(topic, partition), data)


class IsrChangeNotificationZnode(_JsonZnode, frozen=True, kw_only=True):
    """A leader's notification to the controller of an ISR change (before AlterPartition). Sequential below PARENT."""

    PARENT: ClassVar[str] = "/isr_change_notification"
    SEQUENCE_PATH: ClassVar[str] = f"{PARENT}/isr_change_"
    EXAMPLE: ClassVar[str] = '{"version":1,"partitions":[{"topic":"demo","partition":0}]}'

    version: int = 1
    partitions: tuple[PartitionEntry, ...]

    @classmethod
    def decode(cls, path: str, data: bytes) -> Self:
        return cls._decode(path, data)


# Administration


class DeleteTopicZnode:
    """Empty; requests the controller to delete the topic in its name."""

    PARENT = "/admin/delete_topics"

    @classmethod
    def path(cls, topic: str) -> str:
        return f"{cls.PARENT}/{topic}"


class PreferredReplicaElectionZnode(_JsonZnode, frozen=True, kw_only=True):
    """A preferred-leader election request, written by older tools."""

    PATH: ClassVar[str] = "/admin/preferred_replica_election"
    EXAMPLE: ClassVar[str] = '{"version":1,"partitions":[{"topic":"demo","partition":0}]}'

    version: int = 1
    partitions: tuple[PartitionEntry, ...]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls._decode(cls.PATH, data)


class PartitionReassignment(msgspec.Struct, frozen=True):
    """The target replicas of a partition."""

    topic: str
    partition: int
    replicas: tuple[int, ...]


class ReassignPartitionsZnode(_JsonZnode, frozen=True, kw_only=True):
    """A partition reassignment request, written by older tools."""

    PATH: ClassVar[str] = "/admin/reassign_partitions"
    EXAMPLE: ClassVar[str] = '{"version":1,"partitions":[{"topic":"demo","partition":0,"replicas":[4,5,6]}]}'

    version: int = 1
    partitions: tuple[PartitionReassignment, ...]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return cls._decode(cls.PATH, data)


# Configuration

EntityType = Literal["topics", "brokers", "clients", "users", "ips"]


class ConfigZnode(_JsonZnode, frozen=True, kw_only=True):
    """The dynamic configuration of a topic, a broker, ...; values are strings."""

    PARENT: ClassVar[str] = "/config"
    DEFAULT_ENTITY: ClassVar[str] = "<default>"
    EXAMPLE: ClassVar[str] = '{"version":1,"config":{"retention.ms":"1000"}}'

    version: int = 1
    config: dict[str, str]

    @classmethod
    def path(cls, entity_type: EntityType, name: str) -> str:
        return f"{cls.PARENT}/{entity_type}/{name}"

    @classmethod
    def decode(cls, entity_type: EntityType, name: str, data: bytes) -> Self:
        return cls._decode(cls.path(entity_type, name), data)


class ConfigChangeZnode(_JsonZnode, frozen=True, kw_only=True):
    """The notification to all brokers of a changed configuration. Sequential below PARENT; purged after 15 minutes."""

    PARENT: ClassVar[str] = "/config/changes"
    SEQUENCE_PATH: ClassVar[str] = f"{PARENT}/config_change_"
    EXAMPLE: ClassVar[str] = '{"version":2,"entity_path":"topics/demo"}'

    version: int = 2
    entity_path: str

    @classmethod
    def decode(cls, path: str, data: bytes) -> Self:
        return cls._decode(path, data)

    @staticmethod
    def encode_topic(topic: str) -> bytes:
        """The format of 0.8: only the topic's name, because only topics had configurations."""
        return b'"' + topic.encode() + b'"'

    @classmethod
    def decode_topic(cls, data: bytes) -> Self:
        """Decodes as 0.8 did: the name is everything between the first and the last byte."""
        return cls(entity_path=f"topics/{data[1:-1].decode(errors='replace')}")


class ConsumerIdZnode(_JsonZnode, frozen=True, kw_only=True):
    """Ephemeral registration of a consumer before 0.9. `subscription`: topic -> streams."""

    EXAMPLE: ClassVar[str] = (
        '{"version":1,"subscription":{"demo":1},"pattern":"white_list","timestamp":"1531477349286"}'
    )

    version: int = 1
    subscription: dict[str, int]
    pattern: str
    timestamp: str

    @classmethod
    def decode(cls, path: str, data: bytes) -> Self:
        return cls._decode(path, data)
