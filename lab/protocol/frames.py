"""The frames between server and page: JSON text, typed here and nowhere else.

A frame's `k` is its kind. Events travel as `[seq, at_us, node, cause_seq, [kind, field, ...], patch]`.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Literal, TypeVar

import msgspec

from broker_core.texts import Value
from lab.protocol.event_schema import schema_hash
from lab.texts.refusal import Refusal

VERSION = 1
MAX_FRAME_BYTES = 64 * 1024
MAX_ID_LENGTH = 40
"""Maximum length of the id, in the answer to a frame that cannot be read."""
MAX_INVALID_FRAMES = 10
"""Invalid frames of a socket that are answered; the next one closes it."""

CLOSE_FAILED = 1011
CLOSE_INVALID_FRAME = 4400
CLOSE_NOT_SIGNED_IN = 4401
CLOSE_RIGHT_ENDED = 4403
CLOSE_NOT_FOUND = 4404
CLOSE_TOO_MUCH = 4429

MIN_RATE = 0.001
MAX_RATE = 100.0

TimeOp = Literal["pause", "play", "event_paced", "step_event", "step_rpc", "rate", "now", "pause_when"]
ExerciseOp = Literal["start", "predict", "answer", "transfer", "hint", "skip", "reset", "leave"]
Core = Literal["live", "recorded"]


class Hello(msgspec.Struct, tag_field="k", tag="hello"):
    """The first frame. `have`: the last seq that the page holds of the server start `boot`; 0 = nothing."""

    v: int
    schema: str
    have: int = 0
    boot: str = ""


class Ack(msgspec.Struct, tag_field="k", tag="ack"):
    """Everything up to `seq` is drawn on the page. A page sends one at most every 50 ms."""

    seq: int


class Do(msgspec.Struct, tag_field="k", tag="do"):
    """A line of the shell grammar."""

    id: str
    line: str


class Time(msgspec.Struct, tag_field="k", tag="time"):
    """What to do with simulated time. `value`: simulated seconds a second, for `rate` and, if wanted, `play`.
    `condition`: for `pause_when`, see lab/exercises/pause_conditions.py; "" for none.
    """

    id: str
    op: TimeOp
    value: float | None = None
    condition: str = ""


class ExerciseFrame(msgspec.Struct, tag_field="k", tag="exercise"):
    id: str
    op: ExerciseOp
    exercise: str = ""
    step: int | str | None = None
    choice: str | None = None
    confidence: float | None = None


class Complete(msgspec.Struct, tag_field="k", tag="complete"):
    """Requests completions for the console `line` at the character `cursor`."""

    id: str
    line: str
    cursor: int


ClientFrame = Hello | Ack | Do | Time | ExerciseFrame | Complete


class Welcome(msgspec.Struct, tag_field="k", tag="welcome"):
    """The answer to a hello; sent again when the rights change.

    Attributes:
        run: the slug of the run; `branch` the name of its branch, `name` that of the run.
        boot: drawn when the server opened the lab.
        schema: the digest of the event vocabulary.
        core: "recorded" while only the recording is open; the first act wakes the engine.
        zookeeper: the address of the run's ZooKeeper; empty if it has none.
        bootstrap: where clients connect over TCP; empty while they cannot.
        user: the name of the user.
        rights: what the user may do with the run (lab/rights.py).
        names: source of commands -> its name, as far as the user may know it; sources of older recordings are names.
    """

    run: str
    branch: str
    boot: str
    schema: str
    core: Core
    name: str
    zookeeper: str
    bootstrap: str
    user: str
    rights: list[str]
    names: dict[str, str]


class Snap(msgspec.Struct, tag_field="k", tag="snap"):
    """The whole view after `seq`. `skipped`: events that this page will not see one by one."""

    seq: int
    at_us: int
    state: msgspec.Raw
    skipped: int = 0


class Clock(msgspec.Struct, tag_field="k", tag="clock"):
    """Simulated time.

    Attributes:
        at_us: the instant now.
        mode: whether it runs, and how.
        rate: simulated seconds a second.
        horizon_us: how far the page may advance by itself.
        next_us: when the next timer or message is due; None for nothing.
        core: as in `Welcome`.
        rests: it is paused because no page was connected.
        reached: the recent rate while playing, if known; lower than `rate` where the machine is too slow for it.
        pause_when: the condition at which the run pauses by itself; "" for none.
    """

    at_us: int
    mode: Literal["pause", "play", "event_paced"]
    rate: float
    horizon_us: int
    next_us: int | None
    core: Core
    rests: bool = False
    reached: float | None = None
    pause_when: str = ""


class DeltaFrame(msgspec.Struct, tag_field="k", tag="d", omit_defaults=True):
    """The events since the last frame. `encode_deltas` writes it, as the events are encoded once for all pages.

    Attributes:
        ev: events, each `[seq, at_us, node, cause_seq, [kind, field, ...], patch]`, with dense seqs.
        sent_ms: wall clock.
        clock: simulated time after the last of them, if the frame ends with the newest event.
    """

    ev: list[msgspec.Raw]
    sent_ms: int
    clock: Clock | None = None


class Watchers(msgspec.Struct, tag_field="k", tag="watchers"):
    """How many pages watch the branch: for those who may act on it, at most once a second."""

    count: int


class Waking(msgspec.Struct, tag_field="k", tag="waking"):
    """The engine of a lab of a class is to be built after those of `before` other labs; 0: it is being built; null: it
    is there, or could not be built.
    """

    before: int | None


class Done(msgspec.Struct, tag_field="k", tag="done"):
    id: str
    seq: int
    command: int | None = None


class No(msgspec.Struct, tag_field="k", tag="no"):
    """A frame was refused. `id` is that of the frame, null when it had none."""

    id: str | None
    what: str
    expected: str
    todo: str


class Completions(msgspec.Struct, tag_field="k", tag="completions", rename={"from_": "from"}):
    """What the characters of the line from `from` to the cursor may be replaced with."""

    id: str
    from_: int
    items: list[str]


F = TypeVar("F")

_decoder: msgspec.json.Decoder[ClientFrame] = msgspec.json.Decoder(ClientFrame)
_encoder = msgspec.json.Encoder()


class InvalidFrame(Refusal):
    """A frame that cannot be read. `frame`: its id, as far as that can be read."""

    def __init__(self, id: str, /, frame: str | None = None, **values: Value) -> None:
        super().__init__(id, HTTPStatus.BAD_REQUEST, field="", **values)
        self.frame = frame


def parse(text: str | None) -> ClientFrame:
    """A frame of the page. Raises InvalidFrame."""
    return read_frame(text, _decoder, ClientFrame.__args__, MAX_FRAME_BYTES)


def read_frame(text: str | None, decoder: msgspec.json.Decoder[F], kinds: Iterable[Any], most_bytes: int) -> F:
    """A frame of a page, one of `kinds`. Raises InvalidFrame."""
    if text is None:
        raise InvalidFrame("refusal.binary_frame")
    data = text.encode(errors="replace")
    if len(data) > most_bytes:
        raise InvalidFrame("refusal.frame_too_large", size=len(data), max=most_bytes)
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        tags = ", ".join(str(kind.__struct_config__.tag) for kind in kinds)
        raise InvalidFrame("refusal.invalid_frame", _id_of(data), problem=str(error), kinds=tags) from None


def _id_of(data: bytes) -> str | None:
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
    id = found.get("id") if isinstance(found, dict) else None
    return id[:MAX_ID_LENGTH] if isinstance(id, str) else None


def check_hello(hello: Hello) -> None:
    """Raises InvalidFrame when page and server do not speak the same version."""
    if hello.v != VERSION or hello.schema not in ("", schema_hash()):
        raise InvalidFrame(
            "refusal.lab_updated",
            version=VERSION,
            schema=schema_hash(),
            given_version=hello.v,
            given_schema=hello.schema,
        )


def encode(frame: msgspec.Struct | dict[str, Any]) -> bytes:
    """A frame of the server."""
    return _encoder.encode(frame)


def encode_deltas(events: list[bytes], sent_ms: int, clock: bytes | None = None) -> bytes:
    """A `DeltaFrame` of encoded events and the encoded clock that belongs to the last of them. msgspec's encoder takes
    three times as long for raw parts.
    """
    rest = b'"sent_ms":%d' % sent_ms if clock is None else b'"sent_ms":%d,"clock":%b' % (sent_ms, clock)
    return b'{"k":"d","ev":[%b],%b}' % (b",".join(events), rest)
