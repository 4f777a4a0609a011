"""A broker's registration in ZooKeeper when it starts (`KafkaServer.startup`, `KafkaZkClient.registerBroker`)."""

from msgspec import UNSET

from broker_core.controller.kafka_uuid import random_uuid
from broker_core.eras import DEFAULT_ERA, ERAS, Era
from broker_core.sim.rng import RandomStream
from broker_core.sim.zookeeper import ZkClient
from broker_core.texts import Text, text
from broker_core.zk.store import BadVersion, Create, SetData, ZnodeStat
from broker_core.zk.znodes import BrokerIdZnode, ClusterIdZnode, FeatureZnode, ProducerIdBlockZnode, ZnodeDataError

PRODUCER_ID_BLOCK = 1_000


class MalformedZnode(Exception):
    """A znode that a broker requires is malformed. `what`: Kafka's message."""

    def __init__(self, what: Text) -> None:
        super().__init__(what)
        self.what = what


def bootstrap_paths(zk: ZkClient, era: Era = ERAS[DEFAULT_ERA]) -> None:
    """Creates the missing parent znodes that Kafka requires (`ZkData.PersistentZkPaths`)."""
    for path in era.zookeeper.paths:
        if zk.exists(path) is None:
            zk.create(path, b"", makepath=True)


def cluster_id(zk: ZkClient, stream: RandomStream) -> str:
    """The cluster's id; the first broker generates and writes it. Raises MalformedZnode."""
    if zk.exists(ClusterIdZnode.PATH) is None:
        zk.create(ClusterIdZnode.PATH, ClusterIdZnode(id=random_uuid(stream)).encode(), makepath=True)
    data, _ = zk.get(ClusterIdZnode.PATH)
    try:
        return ClusterIdZnode.decode(data).id
    except ZnodeDataError:
        raise MalformedZnode(text("fatal.cluster_id", json=_text(data))) from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def take_producer_ids(zk: ZkClient, broker_id: int) -> int:
    """Takes the next block of producer ids for a broker and returns its first (`ProducerIdManager`). Raises
    MalformedZnode.
    """
    while True:
        data, stat = zk.get(ProducerIdBlockZnode.PATH)
        try:
            start = int(ProducerIdBlockZnode.decode(data).block_end) + 1 if data else 0
        except ValueError:
            raise MalformedZnode(text("fatal.producer_ids", json=_text(data))) from None
        block = ProducerIdBlockZnode(
            broker=broker_id, block_start=str(start), block_end=str(start + PRODUCER_ID_BLOCK - 1)
        )
        try:
            zk.set(ProducerIdBlockZnode.PATH, block.encode(), stat.version)
        except BadVersion:
            continue
        return start


def register_broker(
    zk: ZkClient,
    broker_id: int,
    *,
    host: str,
    port: int,
    timestamp_ms: int,
    rack: str | None = None,
    era: Era = ERAS[DEFAULT_ERA],
) -> int:
    """Registers a broker for its session's lifetime, and returns its broker epoch: the czxid of the znode.

    Kafka creates the znode empty and sets its data in the same transaction, to get the stat from the response: so the
    data of a new registration has version 1 (`KafkaZkClient.CheckedEphemeral`). Before broker epochs the stat was not
    needed.

    Raises NodeExists while an earlier registration of this id is alive in another session.
    """
    path = BrokerIdZnode.path(broker_id)
    znode = BrokerIdZnode(
        endpoints=(f"PLAINTEXT://{host}:{port}",),
        port=port,
        host=host,
        timestamp=str(timestamp_ms),
        rack=UNSET if rack is None else rack,
        version=era.zookeeper.broker_version,
    )
    if not era.controller.broker_epochs:
        zk.create(path, znode.encode(), ephemeral=True)
        registered = zk.exists(path)
        assert registered is not None
        return registered.czxid
    stat = zk.multi([Create(path, b"", ephemeral=True), SetData(path, znode.encode(), 0)])[1]
    assert isinstance(stat, ZnodeStat)
    return stat.czxid


def enable_feature_versioning(zk: ZkClient) -> None:
    """Writes /feature if it is missing, not enabled or malformed; the first controller does it (KIP-584)."""
    if zk.exists(FeatureZnode.PATH) is None:
        zk.create(FeatureZnode.PATH, FeatureZnode().encode())
        return
    data, _ = zk.get(FeatureZnode.PATH)
    try:
        enabled = FeatureZnode.decode(data).status == 1
    except ZnodeDataError:
        enabled = False
    if not enabled:
        zk.set(FeatureZnode.PATH, FeatureZnode().encode())
