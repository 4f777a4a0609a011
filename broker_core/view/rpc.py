"""Messages in flight, and requests that wait. Most events are of these kinds."""

from broker_core.events import rpc, waiting
from broker_core.view.folding import RPCS, folds
from broker_core.view.patch import Patch, escape
from broker_core.view.tree import ParkedRequest, Rpc, View


@folds
def _sent(view: View, event: rpc.RpcSent, at_us: int, seq: int) -> Patch:
    message: Rpc = {
        "api": event.api,
        "kind": event.kind,
        "source": event.source,
        "destination": event.destination,
        "sent_us": at_us,
        "due_us": event.due_us,
        "correlation": event.correlation,
        "label": event.label,
        "fields": event.fields,
        "held": "",
    }
    name = event.rpc
    view["rpcs"][name] = message
    return [[f"/rpcs/{escape(name) if '/' in name or '~' in name else name}", message.copy()]]


@folds
def _delivered(view: View, event: rpc.RpcDelivered, at_us: int, seq: int) -> Patch:
    name = event.rpc
    view["rpcs"].pop(name, None)
    return [[f"/rpcs/{escape(name) if '/' in name or '~' in name else name}"]]


@folds
def _dropped(view: View, event: rpc.RpcDropped, at_us: int, seq: int) -> Patch:
    return RPCS.remove(view, event.rpc)


@folds
def _held(view: View, event: rpc.RpcHeld, at_us: int, seq: int) -> Patch:
    return RPCS.set(view, event.rpc, {"held": event.why})


@folds
def _rescheduled(view: View, event: rpc.RpcRescheduled, at_us: int, seq: int) -> Patch:
    return RPCS.set(view, event.rpc, {"held": "", "due_us": event.due_us, "sent_us": at_us})


@folds
def _parked(view: View, event: waiting.RequestParked, at_us: int, seq: int) -> Patch:
    name = event.request
    waiting_already = view["parked"].get(name)
    request: ParkedRequest = {
        "broker": event.broker,
        "api": event.api,
        "client": event.client,
        "partitions": event.partitions,
        "needs": event.needs,
        "since_us": at_us if waiting_already is None else waiting_already["since_us"],
        "deadline_us": event.deadline_us,
    }
    view["parked"][name] = request
    return [[f"/parked/{escape(name) if '/' in name or '~' in name else name}", request]]


@folds
def _completed(view: View, event: waiting.RequestCompleted, at_us: int, seq: int) -> Patch:
    name = event.request
    view["parked"].pop(name, None)
    return [[f"/parked/{escape(name) if '/' in name or '~' in name else name}"]]
