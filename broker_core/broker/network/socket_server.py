"""The broker's side of TCP: connections of external clients, their requests and the responses (`kafka.network`).

Frames are inputs of the run and are handled by the broker like any request; responses are passed to the owner of the
socket. Nothing here reads or writes a socket.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.network.connection import Connection, ListeningBroker
from broker_core.events.world import ClientRefused, NodeAdded, NodeRemoved
from broker_core.partitions import broker_node
from broker_core.sim.kernel import Kernel

Output: TypeAlias = tuple[int, bytes | None]
"""A connection, and the frame to send over it: b"" for a request without a response, None = close it."""


class Listener(NamedTuple):
    """A broker that accepts connections: the number of its process, its largest request (`socket.request.max.bytes`),
    and the idle timeout of a connection (`connections.max.idle.ms`).
    """

    life: int
    request_bytes_max: int
    idle_ms_max: int


class SocketServer:
    """The connections of all brokers of a run, by number. `endpoints`: host and port at which clients reach a broker,
    if known.
    """

    def __init__(self, kernel: Kernel, brokers: Mapping[int, ListeningBroker]) -> None:
        self.kernel = kernel
        self.brokers = brokers
        self.connections: dict[int, Connection] = {}
        self.endpoints: dict[int, tuple[str, int]] = {}
        self._opened = 0
        self._outputs: list[Output] = []

    def __getstate__(self) -> dict[str, Any]:
        """Ports and outgoing frames belong to the process, not to the run."""
        return {**self.__dict__, "endpoints": {}, "_outputs": []}

    def listeners(self) -> dict[int, Listener]:
        """The brokers that accept connections, by id."""
        kernel = self.kernel
        return {
            broker_id: Listener(
                kernel.incarnations[broker.name],
                broker.config.socket_request_max_bytes,
                broker.config.connections_max_idle_ms,
            )
            for broker_id, broker in self.brokers.items()
            if broker.name in kernel.up and broker.state in (ProcessState.UP, ProcessState.STOPPING)
        }

    def endpoint(self, broker_id: int) -> tuple[str, int]:
        """Host and port at which clients reach a broker."""
        return self.endpoints.get(broker_id, ("127.0.0.1", self.brokers[broker_id].port))

    def connect(self, broker_id: int, peer: str) -> int:
        """A client at the host `peer` has opened a connection."""
        self._opened += 1
        connection = Connection(self, self.brokers[broker_id], self._opened, peer)
        self.connections[connection.number] = connection
        self.kernel.add(connection)
        settings = (("broker", broker_node(broker_id)), ("host", peer))
        self.kernel.emit(
            NodeAdded(node=connection.name, node_kind="client", broker_id=-1, settings=settings), connection.name
        )
        return connection.number

    def receive(self, number: int, data: bytes, is_whole: bool) -> None:
        """Receives bytes of a frame; `is_whole`: these complete it."""
        connection = self.connections.get(number)
        if connection is not None:
            connection.receive(data, is_whole)

    def disconnect(self, number: int) -> None:
        """A connection is closed, by either side."""
        connection = self.connections.pop(number, None)
        if connection is not None:
            self.kernel.forget(connection.name)
            self.kernel.emit(NodeRemoved(node=connection.name), connection.name)

    def close(self, number: int, why: str = "") -> None:
        """The broker closes a connection; `why` is the client's error."""
        connection = self.connections.get(number)
        if connection is not None and why:
            refused = ClientRefused(node=connection.name, broker=connection.broker.name, why=why)
            self.kernel.emit(refused, connection.name)
        self.disconnect(number)
        self._outputs.append((number, None))

    def send(self, number: int, frame: bytes) -> None:
        """Sends a response."""
        self._outputs.append((number, frame))

    def take_outputs(self) -> list[Output]:
        """Returns and clears the frames to send, in order."""
        outputs, self._outputs = self._outputs, []
        return outputs
