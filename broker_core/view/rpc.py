"""Messages under way, and requests that wait."""

from broker_core.events import rpc, waiting
from broker_core.view.rules import REMOVE, rule

rule(
    rpc.RpcSent,
    (
        "/rpcs/{rpc}",
        "{'api': event.api, 'kind': event.kind, 'source': event.source, 'destination': event.destination, "
        "'sent_us': at_us, 'due_us': event.due_us, 'correlation': event.correlation, 'label': event.label, "
        "'fields': event.fields, 'held': ''}",
    ),
)
rule(rpc.RpcDelivered, ("/rpcs/{rpc}", REMOVE))
rule(rpc.RpcDropped, ("/rpcs/{rpc}", REMOVE))
rule(rpc.RpcHeld, ("/rpcs/{rpc}/held", "event.why"))
rule(
    rpc.RpcRescheduled,
    ("/rpcs/{rpc}/held", "''"),
    ("/rpcs/{rpc}/due_us", "event.due_us"),
    ("/rpcs/{rpc}/sent_us", "at_us"),
)
rule(
    waiting.RequestParked,
    (
        "/parked/{request}",
        "{'broker': event.broker, 'api': event.api, 'client': event.client, 'partitions': event.partitions, "
        "'needs': event.needs, 'since_us': at_us, 'deadline_us': event.deadline_us}",
    ),
)
rule(waiting.RequestCompleted, ("/parked/{request}", REMOVE))
