"""A log directory's own files beside its checkpoints: `meta.properties` and the marker of a clean stop.

Source: `MetaPropertiesEnsemble`, `CleanShutdownFileHandler`.
"""

from collections.abc import Mapping

from broker_core.errors import KafkaError, KafkaException
from broker_core.sim.disk import Disk

META_PROPERTIES = "meta.properties"
META_PROPERTIES_VERSION = "0"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
_CLEAN_SHUTDOWN = b'{"version":0,"brokerEpoch":-1}'


def write_meta_properties(disk: Disk, directory: str, broker_id: int, cluster_id: str) -> None:
    """Writes whose directory this is, in the form of a cluster with ZooKeeper."""
    properties = {"broker.id": str(broker_id), "version": META_PROPERTIES_VERSION, "cluster.id": cluster_id}
    lines = ["#", *(f"{key}={value}" for key, value in properties.items())]
    disk.replace_file(f"{directory}/{META_PROPERTIES}", ("\n".join(lines) + "\n").encode())


def read_meta_properties(disk: Disk, directory: str) -> Mapping[str, str] | None:
    """The properties by key; None when the directory is new. Raises KAFKA_STORAGE_ERROR without version 0."""
    path = f"{directory}/{META_PROPERTIES}"
    if not disk.exists(path):
        return None
    properties = parse_properties(disk.read_file(path))
    if properties.get("version") != META_PROPERTIES_VERSION:
        raise KafkaException(
            KafkaError.KAFKA_STORAGE_ERROR,
            f"{path} has version {properties.get('version')}, expected {META_PROPERTIES_VERSION}",
        )
    return properties


def parse_properties(content: bytes) -> dict[str, str]:
    """The keys and values of a Java properties file, comments left out."""
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith(("#", "!"))]
    return {key.strip(): value.strip() for key, _, value in pairs}


def mark_clean_shutdown(disk: Disk, directory: str) -> None:
    """The last act of an orderly stop, after all logs are closed and all checkpoints written."""
    disk.replace_file(f"{directory}/{CLEAN_SHUTDOWN_FILE}", _CLEAN_SHUTDOWN)


def take_clean_shutdown(disk: Disk, directory: str) -> bool:
    """Whether the last stop was orderly. The marker goes: it does not outlive the start."""
    path = f"{directory}/{CLEAN_SHUTDOWN_FILE}"
    if not disk.exists(path):
        return False
    disk.delete(path)
    return True
