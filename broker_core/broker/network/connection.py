"""One client's connection to one broker: a node that converts between bytes and the bodies that brokers exchange."""

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from broker_core.broker.common.guard import report_failure
from broker_core.broker.common.messages import CLIENT_PREFIX, Failed, Prepared
from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.translation import TRANSLATIONS, RequestContext
from broker_core.broker.translation.common import ClusterAddresses, Immediate, TargetBroker, Unanswered
from broker_core.era_apis import Apis, is_offered
from broker_core.errors import Errors
from broker_core.events.rpc import Fields
from broker_core.events.world import ClientIdentified
from broker_core.groups.answers import describe_sync
from broker_core.sim.kernel import Kernel, PassiveNode
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.framing import API_VERSIONS, Tags, decode_request, encode_response
from broker_core.wire.messages import SyncGroupRequest
from broker_core.wire.schemas import offered

NO_ANSWER = b""


class Request:
    """A request to a broker that offers `apis` and reads these tagged fields. Only its frame is pickled."""

    def __init__(self, frame: bytes, apis: Apis, tags: Tags = "any order") -> None:
        """Raises WireError for bytes that are not a request of a supported API and version."""
        self.frame = frame
        self.apis = apis
        self.tags = tags
        self.header, self.body = decode_request(frame, tags)
        self.api = self.header.api
        self.translation = TRANSLATIONS.get(self.api.name)
        if self.translation is None:
            raise WireError(text("wire.not_for_clients", api=self.api.name))
        if not self.is_offered:
            if self.api.key != API_VERSIONS or API_VERSIONS not in apis:
                raise WireError(text("wire.not_in_era", api=self.api.name, version=self.header.api_version))
            self.body = self.api.request.type()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.frame, self.apis, self.tags)

    @property
    def is_offered(self) -> bool:
        """False: the client sent ApiVersions in an unsupported version, and will fall back (KIP-35)."""
        return is_offered(self.apis, self.api.key, self.header.api_version)

    @property
    def version(self) -> int:
        """The version of the response: that of the request, if it is offered."""
        return self.header.api_version if self.is_offered else 0


def error_response(request: Request, error: Errors) -> Any:
    """The response that reports an error for the whole request. Raises WireError if the API has none."""
    response = request.api.response
    for field in response.structs[response.name].fields:
        if field.name == "error_code" and field.is_in(request.version):
            return response.type(error_code=error.code)
    raise WireError(text("wire.no_error_response", error=error.name, api=request.api.name, version=request.version))


class ListeningBroker(TargetBroker, Protocol):
    """A broker that accepts connections."""

    name: str
    state: ProcessState
    port: int


class ConnectionHost(ClusterAddresses, Protocol):
    """What a connection needs of its server."""

    kernel: Kernel

    @property
    def connections(self) -> Mapping[int, object]: ...

    def close(self, number: int, why: str = "") -> None: ...

    def send(self, number: int, frame: bytes) -> None: ...


class Connection(PassiveNode):
    """Requests are handled one at a time and in order, as in Kafka, which mutes the channel."""

    def __init__(self, server: ConnectionHost, broker: ListeningBroker, number: int, peer: str) -> None:
        self.name = f"{CLIENT_PREFIX}{number}"
        self.number = number
        self.broker = broker
        self.peer = peer
        self._server = server
        self._pieces: list[bytes] = []
        self._waiting: deque[bytes] = deque()
        self._current: Request | None = None
        #: The frame of the response to the current request, if that needed no handler.
        self._prepared = b""
        self._client_id: str | None = None
        self._software = ("", "")

    def receive(self, data: bytes, is_whole: bool) -> None:
        """Receives bytes of a frame; the request is handled when it is complete."""
        if self._pieces or not is_whole:
            self._pieces.append(data)
            if not is_whole:
                return
            data = b"".join(self._pieces)
            self._pieces = []
        self._waiting.append(data)
        self._continue()

    def _continue(self) -> None:
        """Handles the next queued request, unless one is being handled."""
        while self._waiting and self._current is None and self.number in self._server.connections:
            try:
                era = self.broker.era
                request = Request(self._waiting.popleft(), offered(era), era.requests.tags)
            except WireError as error:
                # A broker logs a request that it could not parse, and closes the connection.
                self._server.close(self.number, error.rule.code)
                return
            try:
                self._ask(request)
            except WireError as error:
                # What could be parsed, but not as a request of this API.
                self._server.close(self.number, error.rule.code)
                return
            except Exception as failure:
                self._fail(failure, request)

    def _ask(self, request: Request) -> None:
        """Sends a request to the broker."""
        header, api, translation = request.header, request.api, request.translation
        assert translation is not None
        self._identify(request)
        body = translation.body(request.body, self._context(request))
        is_unanswered = isinstance(body, Unanswered)
        if isinstance(body, Unanswered):
            body = body.body
        elif isinstance(body, Immediate):
            self._prepared = encode_response(api, request.version, body.response, correlation_id=header.correlation_id)
            body = Prepared()
        fields: Fields = (
            ("api_version", header.api_version),
            ("correlation_id", header.correlation_id),
            ("client_id", header.client_id or ""),
            ("bytes", len(request.frame)),
        )
        label, is_one_way = api.name, False
        if isinstance(body, SyncGroupRequest):
            label, of_group = describe_sync(body)
            fields = (*of_group, *fields)
        if api.name == "Produce":
            # The invariant that checks acknowledged records looks for this event first.
            fields = (("acks", request.body.acks), *fields)
            is_one_way = request.body.acks == 0
        self._server.kernel.request(
            self.name,
            self.broker.name,
            api.name,
            body,
            label=label,
            fields=fields,
            one_way=is_one_way or is_unanswered,
        )
        if is_one_way and not is_unanswered:
            self._server.send(self.number, NO_ANSWER)
        else:
            self._current = request

    def _context(self, request: Request) -> RequestContext:
        header = request.header
        has_client_id = header.client_id is not None
        return RequestContext(
            header.api_version, header.client_id or "", self.peer, self.broker, self._server, has_client_id
        )

    def _identify(self, request: Request) -> None:
        """Reports the client's identity, at first and whenever it changes."""
        software, client_id = self._software, request.header.client_id or ""
        if request.api.key == API_VERSIONS:
            software = (request.body.client_software_name, request.body.client_software_version)
        if (client_id, software) != (self._client_id, self._software):
            self._client_id, self._software = client_id, software
            self._server.kernel.emit(
                ClientIdentified(
                    node=self.name, client_id=client_id, software_name=software[0], software_version=software[1]
                ),
                self.name,
            )

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """Sends the broker's response, and handles the next request."""
        request, self._current = self._current, None
        assert request is not None
        try:
            frame = self._answer(body, request)
        except WireError as error:
            # The version cannot express it, for example null where it is not nullable.
            self._server.close(self.number, error.rule.code)
        except Exception as failure:
            self._fail(failure, request)
        else:
            self._server.send(self.number, frame)
            self._continue()

    def _answer(self, body: Any, request: Request) -> bytes:
        """The response as a frame. Raises WireError if the version of the request cannot express it."""
        if isinstance(body, Prepared):
            return self._prepared
        if isinstance(body, Failed):
            answer = error_response(request, body.error)
        else:
            assert request.translation is not None
            answer = request.translation.answer(body, request.body, self._context(request))
        return encode_response(request.api, request.version, answer, correlation_id=request.header.correlation_id)

    def answer_as_sent(self, body: Any) -> tuple[str, int, bytes] | None:
        """API, version and frame of a response body, for inspection; None when there is no such request."""
        request = self._current
        return None if request is None else (request.api.name, request.version, self._answer(body, request))

    def _fail(self, failure: Exception, request: Request) -> None:
        """A request failed in the lab itself; if the run survives that, the connection is closed."""
        report_failure(self._server.kernel, failure, self.broker.name, request.api.name)
        self._server.close(self.number, Errors.UNKNOWN_SERVER_ERROR.name)

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """Called when the broker has closed the connection, or is down."""
        self._server.close(self.number)

    def on_timer(self, name: str, data: Any) -> None:
        """A connection sets no timers."""
        raise ValueError(f"{self.name} knows no timer {name!r}")
