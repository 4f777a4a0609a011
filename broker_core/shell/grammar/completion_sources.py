"""Sources of names for completion."""

from broker_core.log.dump import DUMPED_SUFFIXES
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import up_brokers


def topics(cluster: ClusterApi) -> list[str]:
    """The topics in the metadata of the first live broker."""
    for broker_id in up_brokers(cluster):
        return [name for name, _, _ in cluster.metadata_of(broker_id).topics]
    return []


def partitions(cluster: ClusterApi) -> list[str]:
    """The partitions in the metadata of the first live broker."""
    for broker_id in up_brokers(cluster):
        return [row[0] for row in cluster.metadata_of(broker_id).partitions]
    return []


def log_files(cluster: ClusterApi, typed: str) -> list[str]:
    """The completions of a comma-separated list of log files: folders, and files that can be dumped."""
    before, comma, path = typed.rpartition(",")
    folder, slash, _ = path.rpartition("/")
    if slash:
        found = [f"{folder}/{name}" for name in cluster.disk.list(folder)]
    else:
        found = [cluster.log_directory(broker_id) for broker_id in cluster.broker_ids]
    shown = [f"{each}/" if cluster.disk.list(each) else each for each in found]
    return [before + comma + each for each in shown if each.endswith(("/", *DUMPED_SUFFIXES))]
