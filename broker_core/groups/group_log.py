"""Writes a group's record to its partition of `__consumer_offsets` (`GroupMetadataManager.storeGroup`)."""

from collections.abc import Mapping

from broker_core.errors import Errors
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.host import CoordinatorHost, Store
from broker_core.groups.offsets import encode_group_key, encode_group_value
from broker_core.records.record_batch import build_batch


class GroupLog:
    """The durable state of a coordinator's groups."""

    def __init__(self, host: CoordinatorHost) -> None:
        self._host = host

    def write(self, group: ClassicGroup, assignments: Mapping[str, bytes], store: Store) -> Errors:
        """Appends the group with an assignment; `store` waits for it unless the append fails at once."""
        value = encode_group_value(group.stored(assignments))
        records = [(self._host.wall_ms, encode_group_key(group.group_id), value, ())]
        return self._host.append_to_group_log(group.partition, build_batch(records), store)
