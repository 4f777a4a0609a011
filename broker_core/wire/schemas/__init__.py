"""The messages that a broker of Kafka 3.9 in ZooKeeper mode offers, one file an API: fields and versions as data.

The notation is told in `broker_core.wire.notation`. Names, types, versions and defaults are those of Kafka's protocol
(https://kafka.apache.org/39/protocol.html).
"""

from broker_core.wire.codec import Api
from broker_core.wire.schemas import (
    api_versions,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
    sync_group,
)

#: By API key.
SCHEMAS: dict[int, Api] = {
    module.API.key: module.API
    for module in (
        produce,
        fetch,
        list_offsets,
        metadata,
        offset_commit,
        offset_fetch,
        find_coordinator,
        join_group,
        heartbeat,
        leave_group,
        sync_group,
        api_versions,
        init_producer_id,
    )
}

#: By the name that the in-memory messages have, too.
BY_NAME: dict[str, Api] = {api.name: api for api in SCHEMAS.values()}
