"""Creation, extension and deletion of topics, at the controller's broker (`ZkAdminManager`).

Requests are validated here, in Kafka's order and with Kafka's messages, and written as znodes; watches notify the
controller, as for any other client. The broker responds when its metadata is updated.
"""

from contextlib import suppress

from msgspec import UNSET, structs

from broker_core.config_defs import ConfigException, InvalidConfigurationException, validate_topic_configs
from broker_core.controller.assignment import assign_replicas
from broker_core.controller.context import ControllerContext
from broker_core.controller.host import ControllerHost
from broker_core.controller.kafka_uuid import random_uuid
from broker_core.controller.kafka_zk_client import KafkaZkClient
from broker_core.controller.topic_names import LEGAL_NAME, validate_topic_name
from broker_core.era_requests import CreationBehaviour
from broker_core.errors import Errors, KafkaException
from broker_core.wire.messages import CreatePartitionsSpec, CreateTopicSpec, TopicResult
from broker_core.zk.store import Check, Create, NodeExists, SetData, parent_of, path_fault
from broker_core.zk.znodes import ConfigZnode, ControllerZnode, DeleteTopicZnode, TopicZnode

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
MAX_PARTITIONS = 10_000
"""The limit for one request. A broker in ZooKeeper mode accepts any number until its memory is full; this is the limit
of Kafka's newer controllers (`ReplicationControlManager`).
"""


def can_be_znode(name: str) -> bool:
    """Whether a topic's name is valid in a ZooKeeper path."""
    return path_fault(TopicZnode.path(name)) is None


def collides(name: str, other: str) -> bool:
    """Whether two topics' metric names collide: '.' and '_' are equal there."""
    return name.replace(".", "_") == other.replace(".", "_")


def _configs(spec: CreateTopicSpec) -> dict[str, str]:
    return {name: value for name, value in spec.configs if value is not None}


def _refuse_excess(partitions: int) -> None:
    if partitions > MAX_PARTITIONS:
        raise KafkaException(Errors.POLICY_VIOLATION, "Excessively large number of partitions per request.")


class ZkAdminManager:
    """Admin operations of the controller: see the module."""

    def __init__(self, host: ControllerHost, context: ControllerContext, zk: KafkaZkClient) -> None:
        self.host = host
        self.context = context
        self.kafka_zk = zk

    def create_topic(self, spec: CreateTopicSpec, *, validate_only: bool) -> TopicResult:
        """Checks a topic and writes its configuration and its assignment. The result carries its id."""
        try:
            assignment = self._assignment(spec)
            if assignment is None:
                return TopicResult(spec.name, Errors.UNKNOWN_SERVER_ERROR)
            self._validate(spec, assignment)
            if any(number < 0 for number in assignment):
                why = "key not found: 0" if self.host.era.requests.explains_failures and 0 not in assignment else None
                return TopicResult(spec.name, Errors.UNKNOWN_SERVER_ERROR, why)
            topic_id = "" if validate_only else self._write(spec, assignment)
        except ConfigException as error:
            is_foreseen = self._era.refuses_settings or isinstance(error, InvalidConfigurationException)
            refused = Errors.INVALID_CONFIG if is_foreseen else Errors.UNKNOWN_SERVER_ERROR
            return TopicResult(spec.name, refused, str(error))
        except KafkaException as error:
            return TopicResult(spec.name, error.error, error.message)
        return TopicResult(spec.name, topic_id=topic_id)

    def create_partitions(self, spec: CreatePartitionsSpec, *, validate_only: bool) -> TopicResult:
        """Adds partitions to a topic, with a given assignment or by the formula of the first ones."""
        try:
            znode = self._growing(spec.name)
            added = self._added_partitions(spec, znode.partitions)
        except KafkaException as error:
            return TopicResult(spec.name, error.error, error.message)
        if not validate_only:
            grown = structs.replace(znode, partitions={**znode.partitions, **added})
            self.host.zk.set(TopicZnode.path(spec.name), grown.encode())
        return TopicResult(spec.name)

    def _growing(self, name: str) -> TopicZnode:
        """The assignment of a topic, if partitions may be added to it."""
        path = TopicZnode.path(name)
        if "/" in name or self.host.zk.exists(path) is None:
            raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        data, _ = self.host.zk.get(path)
        znode = TopicZnode.decode(name, data)
        if znode.adding_replicas or znode.removing_replicas:
            raise KafkaException(
                Errors.REASSIGNMENT_IN_PROGRESS, f"A partition reassignment is in progress for the topic '{name}'."
            )
        return znode

    def _added_partitions(
        self, spec: CreatePartitionsSpec, known: dict[int, tuple[int, ...]]
    ) -> dict[int, tuple[int, ...]]:
        count, increment = len(known), spec.count - len(known)
        if increment < 0:
            raise KafkaException(
                Errors.INVALID_PARTITIONS,
                f"Topic currently has {count} partitions, which is higher than the requested {spec.count}.",
            )
        if increment == 0:
            raise KafkaException(Errors.INVALID_PARTITIONS, f"Topic already has {count} partitions.")
        _refuse_excess(increment)
        live = sorted(self.context.live_brokers)
        if spec.assignment is None:
            start = next((index for index, broker_id in enumerate(live) if broker_id >= known[0][0]), 0)
            return assign_replicas(
                self._racks(),
                increment,
                len(known[0]),
                fixed_start=start,
                first_partition=count,
            )
        added = {count + index: replicas for index, replicas in enumerate(spec.assignment)}
        self._validate_added(spec.assignment, increment, added, live, len(known[0]))
        return added

    def _validate_added(
        self,
        assignment: tuple[tuple[int, ...], ...],
        increment: int,
        added: dict[int, tuple[int, ...]],
        live: list[int],
        replication_factor: int,
    ) -> None:
        def invalid(why: str) -> KafkaException:
            return KafkaException(Errors.INVALID_REPLICA_ASSIGNMENT, why)

        unknown = [str(each) for each in dict.fromkeys(each for row in assignment for each in row) if each not in live]
        if unknown:
            raise invalid(f"Unknown broker(s) in replica assignment: {', '.join(unknown)}.")
        if len(assignment) != increment:
            raise invalid(
                f"Increasing the number of partitions by {increment} but {len(assignment)} assignments provided."
            )
        for number, replicas in added.items():
            if not replicas:
                raise invalid(f"Cannot have replication factor of 0 for partition id {number}.")
            if len(set(replicas)) < len(replicas):
                shown = f"{', '.join(map(str, replicas))} for partition id {number}."
                raise invalid(f"Duplicate brokers not allowed in replica assignment: {shown}")
        bad = {number: len(replicas) for number, replicas in added.items() if len(replicas) != replication_factor}
        if bad:
            raise invalid(
                f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} while "
                f"partitions [{', '.join(map(str, bad))}] have replication factors "
                f"[{', '.join(map(str, bad.values()))}], respectively."
            )

    def delete_topic(self, name: str) -> TopicResult:
        """Requests the deletion of a topic; repeating it is harmless."""
        zk = self.host.zk
        could_exist = LEGAL_NAME.fullmatch(name) is not None and name not in (".", "..")
        if not could_exist or zk.exists(TopicZnode.path(name)) is None:
            return TopicResult(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)
        with suppress(NodeExists):
            zk.create(DeleteTopicZnode.path(name), b"", makepath=True)
        return TopicResult(name)

    @property
    def _era(self) -> CreationBehaviour:
        return self.host.era.creations

    def _assignment(self, spec: CreateTopicSpec) -> dict[int, tuple[int, ...]] | None:
        """The replicas by partition. None: Kafka fails on a setting without a value."""
        if self._era.looks_for_topic_first and self.host.knows_topic(spec.name):
            raise KafkaException(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{spec.name}' already exists.")
        nulls = [name for name, value in spec.configs if value is None]
        if nulls and not self._era.refuses_null:
            return None
        if nulls:
            raise KafkaException(
                Errors.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}"
            )
        if self._era.checks_settings_first:
            self._validate_configs(spec)
        if spec.assignment:
            if spec.partitions != -1 or spec.replication_factor != -1:
                raise KafkaException(
                    Errors.INVALID_REQUEST,
                    "Both numPartitions or replicationFactor and replicasAssignments were set. "
                    "Both cannot be used at the same time.",
                )
            return spec.assignment
        config = self.host.config
        partitions = config.num_partitions if spec.partitions == -1 else spec.partitions
        factor = config.default_replication_factor if spec.replication_factor == -1 else spec.replication_factor
        _refuse_excess(partitions)
        return assign_replicas(
            self._racks(), partitions, factor, stream=self.host.stream, says_more=self._era.counts != "0.8"
        )

    def _racks(self) -> dict[int, str | None]:
        """The registered brokers with their racks. Read from ZooKeeper, because any broker may create a topic for a
        client.
        """
        return {broker_id: broker.rack for broker_id, broker in self.kafka_zk.brokers(watch=False).items()}

    def _validate(self, spec: CreateTopicSpec, assignment: dict[int, tuple[int, ...]]) -> None:
        name, zk = spec.name, self.host.zk
        validate_topic_name(name, self._era.names)
        if zk.exists(DeleteTopicZnode.path(name)) is not None:
            raise KafkaException(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{name}' is marked for deletion.")
        if zk.exists(TopicZnode.path(name)) is not None:
            raise KafkaException(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        # Kafka lists all topics only for a name that may collide (`Topic.hasCollisionChars`).
        others = self.kafka_zk.topics(watch=False) if "." in name or "_" in name else ()
        colliding = [other for other in others if collides(name, other)]
        if colliding:
            raise KafkaException(
                Errors.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topics: {', '.join(colliding)}"
            )
        if len({len(replicas) for replicas in assignment.values()}) != 1:
            raise KafkaException(
                Errors.INVALID_REPLICA_ASSIGNMENT, "All partitions should have the same number of replicas"
            )
        if any(len(set(replicas)) < len(replicas) for replicas in assignment.values()):
            shown = ", ".join(f"{number} -> ArrayBuffer({', '.join(map(str, r))})" for number, r in assignment.items())
            raise KafkaException(
                Errors.INVALID_REPLICA_ASSIGNMENT, f"Duplicate replica assignment found: {self._era.map}({shown})"
            )
        # Kafka compares the sum of the numbers; a list with a negative one that passes fails later
        found = sum(number for number in assignment if number >= 0)
        expected = len(assignment) * (len(assignment) - 1) // 2
        if self._era.checks_sequence and found != expected:
            raise KafkaException(
                Errors.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
            )
        self._validate_configs(spec)

    def _validate_configs(self, spec: CreateTopicSpec) -> None:
        tables, unknown = self.host.era.configs.tables, self._era.unknown_setting
        validate_topic_configs(_configs(spec), self.host.config.settings, tables.topics, unknown)

    def _write(self, spec: CreateTopicSpec, assignment: dict[int, tuple[int, ...]]) -> str:
        zk = self.host.zk
        config_path = ConfigZnode.path("topics", spec.name)
        config = ConfigZnode(config=_configs(spec)).encode()
        # the configuration first, so that it exists when the topic appears; needs an active controller
        controller = zk.exists(ControllerZnode.PATH)
        if controller is None:
            raise KafkaException(
                Errors.STALE_CONTROLLER_EPOCH,
                f"Cannot set entity configs for topics {spec.name} when there is no controller.",
            )
        parent = parent_of(config_path)
        if zk.exists(parent) is None:
            zk.create(parent, b"", makepath=True)
        exists = zk.exists(config_path) is not None
        zk.multi(
            [
                Check(ControllerZnode.PATH, controller.version),
                SetData(config_path, config) if exists else Create(config_path, config),
            ]
        )
        era = self.host.era
        topic_id = random_uuid(self.host.stream) if era.zookeeper.topic_ids else ""
        znode = TopicZnode(partitions=assignment, topic_id=topic_id or UNSET, version=era.zookeeper.topic_version)
        zk.create(TopicZnode.path(spec.name), znode.encode(), makepath=True)
        return topic_id
