"""Where completion takes names from."""

from broker_core.log.dump import DUMPED_SUFFIXES
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import up_brokers


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


def log_files(cluster: ClusterApi, typed: str) -> list[str]:
    """What a list of files of logs, with commas between, may become: folders, and files that a dump can show."""
    before, comma, path = typed.rpartition(",")
    folder, slash, _ = path.rpartition("/")
    if slash:
        found = [f"{folder}/{name}" for name in cluster.disk.list(folder)]
    else:
        found = [cluster.log_directory(broker_id) for broker_id in cluster.broker_ids]
    shown = [f"{each}/" if cluster.disk.list(each) else each for each in found]
    return [before + comma + each for each in shown if each.endswith(("/", *DUMPED_SUFFIXES))]
