"""The purgatories: requests that wait for something."""

from broker_core.events.envelope import Event, kind


@kind("waiting")
class RequestParked(Event):
    """`request` is the rpc id of the request; `partitions` are what it waits on: for JoinGroup and SyncGroup the
    group's partition of `__consumer_offsets`. A request that waits already has another deadline from now on.
    """

    broker: str
    request: str
    api: str
    client: str
    partitions: tuple[str, ...]
    needs: str
    deadline_us: int


@kind("waiting")
class RequestCompleted(Event):
    """`why`: satisfied, expired, superseded (by another request of its member, and without a response), or the name of
    an error.
    """

    broker: str
    request: str
    why: str
