"""Version 0 of OffsetCommit and OffsetFetch: any broker handles them, with ZooKeeper instead of a coordinator
(`KafkaApis.commitOffsetsToZookeeper`, `handleOffsetFetchRequestFromZookeeper`).
"""

from typing import Protocol

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.errors import Errors
from broker_core.groups.offset_commits import is_too_long
from broker_core.groups.zookeeper_offsets import NO_OFFSET, read_offset, write_offset
from broker_core.sim.zookeeper import ZkClient
from broker_core.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from broker_core.zk.store import ZkError


class OffsetsHost(Protocol):
    """The broker that receives the request."""

    config: BrokerConfig
    metadata: MetadataCache

    @property
    def zk(self) -> ZkClient: ...


class ZookeeperOffsets:
    """Commits and fetches offsets in ZooKeeper: see the module."""

    def __init__(self, host: OffsetsHost) -> None:
        self.host = host

    def commit(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        """Writes each offset. Errors of unknown partitions come first in the response."""
        known = [row for row in request.partitions if self.host.metadata.is_known(row[0])]
        missing = [name for name, *_ in request.partitions if not self.host.metadata.is_known(name)]
        return OffsetCommitResponse(
            (
                *((name, Errors.UNKNOWN_TOPIC_OR_PARTITION) for name in missing),
                *((name, self._commit(request.group_id, name, offset, said)) for name, offset, _, said in known),
            )
        )

    def _commit(self, group: str, partition: str, offset: int, metadata: str) -> Errors:
        if is_too_long(metadata, self.host.config.groups):
            return Errors.OFFSET_METADATA_TOO_LARGE
        try:
            write_offset(self.host.zk, group, partition, offset)
        except ZkError:
            return Errors.UNKNOWN_SERVER_ERROR
        return Errors.NONE

    def fetch(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """The stored offsets; a missing one is an unknown partition."""
        offsets, errors = [], []
        for name in request.partitions or ():
            error, found = Errors.UNKNOWN_TOPIC_OR_PARTITION, None
            if self.host.metadata.is_known(name):
                try:
                    found = read_offset(self.host.zk, request.group_id, name)
                except ZkError:
                    error = Errors.UNKNOWN_SERVER_ERROR
            offsets.append((name, NO_OFFSET if found is None else found, -1, ""))
            if found is None:
                errors.append((name, error))
        return OffsetFetchResponse(partitions=tuple(offsets), errors=tuple(errors))
