"""The purgatories: requests that wait for something."""

from broker_core.events.envelope import Event, kind


@kind("waiting")
class RequestParked(Event):
    """`request` is the rpc id of the request; `partitions` are what it waits on."""

    broker: str
    request: str
    api: str
    client: str
    partitions: tuple[str, ...]
    needs: str
    deadline_us: int


@kind("waiting")
class RequestCompleted(Event):
    """`why`: satisfied, expired, or the name of an error."""

    broker: str
    request: str
    why: str
