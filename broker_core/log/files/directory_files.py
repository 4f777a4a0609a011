"""A log directory's files other than its checkpoints: `meta.properties` and the clean shutdown marker.

Source: `MetaPropertiesEnsemble`, `CleanShutdownFileHandler`.
"""

from collections.abc import Sequence

from broker_core.log.files.storage_fault import MAX_FILE_NAME_LENGTH, StorageFault
from broker_core.partitions import TopicPartition
from broker_core.sim.disk import Disk
from broker_core.texts import text

META_PROPERTIES = "meta.properties"
META_PROPERTIES_VERSION = "0"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
LOCK_FILE = ".lock"

DELETED_FOLDER_SUFFIX = "-delete"


def deleted_folder_name(partition: str, unique: str) -> str:
    """The name of the folder of `topic-partition` until it is deleted; long topic names are shortened."""
    topic, index = TopicPartition.parse(partition)
    suffix = f"-{index}.{unique}{DELETED_FOLDER_SUFFIX}"
    return topic[: MAX_FILE_NAME_LENGTH - len(suffix)] + suffix


ALL_PROPERTIES = ("broker.id", "version", "cluster.id")


def write_meta_properties(
    disk: Disk, directory: str, broker_id: int, cluster_id: str, names: Sequence[str] = ALL_PROPERTIES
) -> None:
    """Writes the owner of the directory, in the format of a cluster with ZooKeeper."""
    properties = {"broker.id": str(broker_id), "version": META_PROPERTIES_VERSION, "cluster.id": cluster_id}
    lines = ["#", *(f"{name}={properties[name]}" for name in names)]
    disk.replace_file(f"{directory}/{META_PROPERTIES}", ("\n".join(lines) + "\n").encode())


def ensure_meta_properties(
    disk: Disk, directory: str, broker_id: int, cluster_id: str, names: Sequence[str] = ALL_PROPERTIES
) -> None:
    """Checks that the directory belongs to this broker of this cluster; claims one without an owner.

    Raises StorageFault if it belongs to another, or its format has another version.
    """
    path = f"{directory}/{META_PROPERTIES}"
    properties = parse_properties(disk.read_file(path)) if disk.exists(path) else {}
    version = properties.get("version", META_PROPERTIES_VERSION)
    if version != META_PROPERTIES_VERSION:
        raise StorageFault(
            path,
            text("fault.meta_properties_version", version=version, expected=META_PROPERTIES_VERSION),
            is_io_error=False,
        )
    owner, cluster = properties.get("broker.id"), properties.get("cluster.id")
    if cluster not in (None, cluster_id):
        rule = text("fault.other_cluster", other=str(cluster), cluster=cluster_id)
        raise StorageFault(path, rule, is_io_error=False)
    if owner not in (None, str(broker_id)):
        raise StorageFault(path, text("fault.other_broker", other=str(owner), broker=broker_id), is_io_error=False)
    if any(name not in properties for name in names):
        write_meta_properties(disk, directory, broker_id, cluster_id, names)


def parse_properties(content: bytes) -> dict[str, str]:
    """The keys and values of a Java properties file, without comments."""
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith(("#", "!"))]
    return {key.strip(): value.strip() for key, _, value in pairs}


def mark_clean_shutdown(disk: Disk, directory: str, content: bytes) -> None:
    """Writes the clean shutdown marker, after all logs are closed and all checkpoints written."""
    disk.replace_file(f"{directory}/{CLEAN_SHUTDOWN_FILE}", content)


def take_clean_shutdown(disk: Disk, directory: str) -> bool:
    """Whether the last shutdown was clean. Removes the marker: it is valid for one start only."""
    path = f"{directory}/{CLEAN_SHUTDOWN_FILE}"
    if not disk.exists(path):
        return False
    disk.delete(path)
    return True
