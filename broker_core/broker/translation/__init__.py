"""How the APIs of the wire become what a broker's handlers take, and their answers the wire's; one file a family."""

from broker_core.broker.translation import api_versions
from broker_core.broker.translation.committed_offsets import OFFSET_COMMIT, OFFSET_FETCH
from broker_core.broker.translation.common import Asked, Prepared, Translation
from broker_core.broker.translation.fetch import FETCH
from broker_core.broker.translation.find_coordinator import FIND_COORDINATOR
from broker_core.broker.translation.list_offsets import LIST_OFFSETS
from broker_core.broker.translation.membership import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from broker_core.broker.translation.metadata import METADATA
from broker_core.broker.translation.produce import PRODUCE

TRANSLATIONS: dict[str, Translation] = {
    "ApiVersions": Translation(api_versions.body),
    "Fetch": FETCH,
    "FindCoordinator": FIND_COORDINATOR,
    "Heartbeat": HEARTBEAT,
    "JoinGroup": JOIN_GROUP,
    "LeaveGroup": LEAVE_GROUP,
    "ListOffsets": LIST_OFFSETS,
    "Metadata": METADATA,
    "OffsetCommit": OFFSET_COMMIT,
    "OffsetFetch": OFFSET_FETCH,
    "Produce": PRODUCE,
    "SyncGroup": SYNC_GROUP,
}

__all__ = ["TRANSLATIONS", "Asked", "Prepared", "Translation"]
