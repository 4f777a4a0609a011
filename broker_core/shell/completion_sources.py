"""Where completion takes names from."""

from broker_core.shell.cluster_api import ClusterApi
from broker_core.shell.process import up_brokers


def topics(cluster: ClusterApi) -> list[str]:
    """Topics as the first live broker knows them."""
    for broker_id in up_brokers(cluster):
        return [name for name, _, _ in cluster.metadata_of(broker_id).topics]
    return []


def partitions(cluster: ClusterApi) -> list[str]:
    """Partitions as the first live broker knows them."""
    for broker_id in up_brokers(cluster):
        return [row[0] for row in cluster.metadata_of(broker_id).partitions]
    return []
