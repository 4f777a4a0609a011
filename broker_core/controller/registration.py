"""What a broker does in ZooKeeper when it starts (`KafkaServer.startup`, `KafkaZkClient.registerBroker`)."""

from msgspec import UNSET

from broker_core.controller.kafka_uuid import random_uuid
from broker_core.sim.rng import Stream
from broker_core.sim.zookeeper import ZkClient
from broker_core.zk.store import Create, SetData, ZnodeStat
from broker_core.zk.znodes import PERSISTENT_PATHS, BrokerIdZnode, ClusterIdZnode, FeatureZnode, ZnodeDataError


def bootstrap_paths(zk: ZkClient) -> None:
    """Creates the empty parents that Kafka wants to find; the first broker of a cluster finds none."""
    for path in PERSISTENT_PATHS:
        if zk.exists(path) is None:
            zk.create(path, b"", makepath=True)


def cluster_id(zk: ZkClient, stream: Stream) -> str:
    """The cluster's id; the first broker makes it up and writes it. Raises ZnodeDataError for an unreadable one."""
    if zk.exists(ClusterIdZnode.PATH) is None:
        zk.create(ClusterIdZnode.PATH, ClusterIdZnode(id=random_uuid(stream)).encode(), makepath=True)
    data, _ = zk.get(ClusterIdZnode.PATH)
    return ClusterIdZnode.decode(data).id


def register_broker(
    zk: ZkClient, broker_id: int, *, host: str, port: int, timestamp_ms: int, rack: str | None = None
) -> int:
    """Registers a broker for as long as its session lives, and returns its broker epoch: the czxid of the znode.

    Kafka creates the znode empty and sets its data in the same transaction, to learn the stat from the answer: that is
    why the data of a fresh registration has version 1 (`KafkaZkClient.CheckedEphemeral`).

    Raises NodeExists while an earlier registration of this id is alive in another session.
    """
    path = BrokerIdZnode.path(broker_id)
    znode = BrokerIdZnode(
        endpoints=(f"PLAINTEXT://{host}:{port}",),
        port=port,
        host=host,
        timestamp=str(timestamp_ms),
        rack=UNSET if rack is None else rack,
    )
    stat = zk.multi([Create(path, b"", ephemeral=True), SetData(path, znode.encode(), 0)])[1]
    assert isinstance(stat, ZnodeStat)
    return stat.czxid


def enable_feature_versioning(zk: ZkClient) -> None:
    """Writes /feature if it is not there, not enabled or unreadable; the first controller does it (KIP-584)."""
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
