"""The bytes on the wire of a message in flight, received or encoded, for inspection."""

from typing import Any, NamedTuple

from broker_core.broker.common.messages import CLIENT_PREFIX, Failed
from broker_core.broker.network.socket_server import SocketServer
from broker_core.broker.translation import TRANSLATIONS, RequestContext
from broker_core.broker.translation.outgoing import request_of
from broker_core.partitions import broker_id_of, is_broker
from broker_core.sim.kernel import Message
from broker_core.wire.errors import WireError
from broker_core.wire.framing import encode_request, encode_response
from broker_core.wire.schemas import BY_NAME, offered

FETCHERS_APIS = frozenset({"Fetch", "OffsetForLeaderEpoch", "ListOffsets"})


class WireBytes(NamedTuple):
    """A whole frame, with its length. `is_real`: these are the bytes on TCP; otherwise those that Kafka's own nodes
    would send.
    """

    api: str
    version: int
    is_request: bool
    data: bytes
    is_real: bool


def wire_bytes(server: SocketServer, message: Message, question: Any = None) -> WireBytes | None:
    """The bytes of a message; None if there are none, as for ZooKeeper's. A request by TCP is an input of the run,
    where its bytes are. `question`: the body of the request that a response between nodes of the lab answers.
    """
    api = BY_NAME.get(message.api)
    if api is None or message.kind == "watch":
        return None
    is_request = message.kind == "request"
    client, broker_name = (message.source, message.destination) if is_request else (message.destination, message.source)
    if client.startswith(CLIENT_PREFIX):
        connection = server.connections.get(int(client.removeprefix(CLIENT_PREFIX)))
        sent = None if connection is None or is_request else connection.answer_as_sent(message.body)
        return None if sent is None else WireBytes(sent[0], sent[1], is_request, sent[2], is_real=True)
    broker = server.brokers.get(broker_id_of(broker_name)) if is_broker(broker_name) else None
    versions = offered(broker.era).get(api.key) if broker is not None else None
    if broker is None or versions is None or isinstance(message.body, Failed):
        return None
    version = versions[1]
    context = RequestContext(version, _client_id(client, message.api), "127.0.0.1", broker, server)
    try:
        request = request_of(message.api, message.body if is_request else question, context)
        if request is None:
            return None
        if is_request:
            data = encode_request(
                api, version, request, correlation_id=message.correlation, client_id=context.client_id
            )
        else:
            answer = TRANSLATIONS[message.api].answer(message.body, request, context)
            data = encode_response(api, version, answer, correlation_id=message.correlation)
    except WireError:
        return None
    return WireBytes(message.api, version, is_request, data, is_real=False)


def _client_id(node: str, api: str) -> str:
    """The client id of Kafka's brokers when they send requests; the lab's clients use their names."""
    if not is_broker(node):
        return node
    broker_id = broker_id_of(node)
    return f"broker-{broker_id}-fetcher-0" if api in FETCHERS_APIS else str(broker_id)
