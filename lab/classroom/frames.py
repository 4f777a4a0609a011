"""The frames between the server and a page of a class: JSON text, defined only here. `k` is the kind of a frame.

A page gets all sections that its person may see (`snap`), then changes: events that it may see, as `[seq, at_us, who,
act, [kind, field, ...]]`, and the new values of sections (`e`). In both a section is `[pointer, value]`, where a
pointer without a value removes. `/mine` is this person's own section.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from lab.classroom.acts.ops import (
    Anchor,
    AnyAct,
    AnyLab,
    CastVote,
    DoorAct,
    Draw,
    Lab,
    Person,
    Position,
    Short,
    Thousandth,
)
from lab.classroom.events import CLASS
from lab.protocol.frames import InvalidFrame, read_frame

VERSION = 1
MAX_FRAME_BYTES = 16 * 1024


Place = Literal["lab", "board", "stage", "projector", "replay"]
Offsets: TypeAlias = tuple[Position, Position]
Microseconds: TypeAlias = Annotated[int, Meta(ge=-(10**15), le=10**15)]


class ClassHello(msgspec.Struct, tag_field="k", tag="hello"):
    """The first frame. `have`: the last seq that the page holds of the server start `boot`; 0 = nothing."""

    v: int
    schema: str
    have: int = 0
    boot: str = ""
    place: Place = "lab"


class ClassAck(msgspec.Struct, tag_field="k", tag="ack"):
    """Everything up to `upto` is in the page."""

    upto: int


class ActFrame(msgspec.Struct, tag_field="k", tag="act"):
    """A durable act, answered by `done` or `no`. An id that was sent in the last ten minutes is not executed again."""

    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,40}\Z")]
    do: AnyAct | DoorAct


class DiskView(msgspec.Struct):
    broker: Short
    path: Annotated[str, Meta(max_length=300)]
    mode: Short
    at: Position
    find: Short


class LookedAt(msgspec.Struct):
    """What a page shows: see static/lab/core/player/page_view.js. `window` begins before the run where the page shows
    its beginning.
    """

    branch: Lab
    seq: Position | None
    at_us: Position | None
    mode: Literal["pause", "play", "event_paced"]
    rate: Annotated[float, Meta(ge=0.001, le=100)]
    screen: Short
    partition: Annotated[str, Meta(max_length=300)]
    selection: Annotated[str, Meta(max_length=300)]
    ranges: Annotated[dict[Annotated[str, Meta(max_length=300)], Offsets], Meta(max_length=40)]
    window: tuple[Microseconds, Microseconds] | None = None
    disk: DiskView | None = None
    group: Annotated[str, Meta(max_length=300)] = ""
    tab: Short = ""
    console: bool = False
    overlay: Short = ""


class ViewFrame(msgspec.Struct, tag_field="k", tag="view"):
    """The view of a page whose person leads (in `term`), is on stage or is being looked at; volatile."""

    view: LookedAt
    term: int = 0


class PointFrame(msgspec.Struct, tag_field="k", tag="point"):
    """The presenter's pointer, in thousandths of the box of an element; volatile. `down`: false when it is released."""

    anchor: Anchor
    u: Thousandth
    v: Thousandth
    down: bool = True


class Here(msgspec.Struct, tag_field="k", tag="here"):
    """`hidden`: whether the page is hidden. `sight`: participants whose tiles are visible. `lab`: that of the page.
    `at_us`: the instant of class time that a page of the place `replay` shows.
    """

    hidden: bool = False
    lab: AnyLab = ""
    sight: Annotated[tuple[Person, ...], Meta(max_length=500)] = ()
    at_us: Position | None = None


class ClassTime(msgspec.Struct, tag_field="k", tag="time"):
    """The page's monotonic milliseconds; answered at once."""

    ms: Annotated[float, Meta(ge=0, le=1e12)]


ClassFrame = ClassHello | ClassAck | ActFrame | ViewFrame | PointFrame | Here | ClassTime


class You(msgspec.Struct):
    p: str
    role: str
    name: str


class ClassWelcome(msgspec.Struct, tag_field="k", tag="welcome"):
    """Sent first, and again when the role changes. `class_us`: class time now. `limits`: acts per second and at
    once.
    """

    slug: str
    title: str
    boot: str
    schema: str
    you: You
    class_us: int
    limits: dict[str, int]


class ClassDone(msgspec.Struct, tag_field="k", tag="done"):
    """An act is done: its last event is `seq`."""

    id: str
    seq: int


class Kept(msgspec.Struct, tag_field="k", tag="kept"):
    """A vote waits for others before it is written, so that it cannot be attributed. Until its `done` the page keeps
    it, and sends it again if the socket ends.
    """

    id: str


class ClassNo(msgspec.Struct, tag_field="k", tag="no"):
    """An act was refused. `id` is that of the frame, null when it had none."""

    id: str | None
    status: int
    what: str
    expected: str
    todo: str
    again_ms: int = 0


class Count(msgspec.Struct, tag_field="k", tag="count"):
    """For the projector: the number of participants present; volatile."""

    class_us: int
    learners: int
    observers: int


class CatchingUp(msgspec.Struct, tag_field="k", tag="catching_up"):
    """For staff; volatile. All learners and observers who replay the live class, each with the
    instant of class time that their page shows.
    """

    class_us: int
    people: dict[str, int]


class Caption(msgspec.Struct, tag_field="k", tag="caption"):
    """Speech as text in one language; volatile, but kept in the recording's captions. Instants are in class time."""

    class_us: int
    lang: str
    from_us: int
    to_us: int
    text: str


class Alarm(msgspec.Struct, tag_field="k", tag="alarm"):
    """For staff; volatile. `why`: wrong_codes (many in a minute: offer another code), new_code (the pages that show the
    code ask for it, the projector's too).
    """

    class_us: int
    why: str


class Shed(msgspec.Struct, tag_field="k", tag="shed"):
    """For staff; volatile. An overloaded server applies the first `step` of lab.runtime.sharing.load.STEPS."""

    class_us: int
    step: int


class ClassBye(msgspec.Struct, tag_field="k", tag="bye"):
    """The socket closes. `why`: kicked, ended, elsewhere, closed; `again`: whether to connect again."""

    why: str
    again: bool


class TimeAnswer(msgspec.Struct, tag_field="k", tag="time"):
    ms: float
    class_us: int


_decoder: msgspec.json.Decoder[ClassFrame] = msgspec.json.Decoder(ClassFrame)
_encoder = msgspec.json.Encoder()


def parse(text: str | None) -> ClassFrame:
    """A frame of a page. Raises InvalidFrame."""
    return read_frame(text, _decoder, ClassFrame.__args__, MAX_FRAME_BYTES)


def limited_as(frame: ClassFrame) -> str:
    """The bucket from which a frame takes; see `buckets.ActLimits.take`."""
    if not isinstance(frame, ActFrame):
        return "frame"
    return "vote" if isinstance(frame.do, CastVote) else "draw" if isinstance(frame.do, Draw) else "act"


def check_hello(hello: ClassHello) -> None:
    """Raises InvalidFrame if page and server use different versions."""
    if hello.v != VERSION or hello.schema not in ("", CLASS.hash):
        raise InvalidFrame(
            "refusal.lab_updated",
            version=VERSION,
            schema=CLASS.hash,
            given_version=hello.v,
            given_schema=hello.schema,
        )


def encode_events(after: int, upto: int, events: list[bytes], patch: list[bytes]) -> bytes:
    """The `e` frame: `after` is the seq that the page must have; events that it may not see are left out. Events are
    encoded as by `event_bytes`, patches as by `patch_bytes`.
    """
    return b'{"k":"e","after":%d,"upto":%d,"ev":[%b],"patch":[%b]}' % (
        after,
        upto,
        b",".join(events),
        b",".join(patch),
    )


def encode_tiles(class_us: int, rows: Mapping[str, bytes]) -> bytes:
    """The `tiles` frame: encoded `LabTile`s (lab/runtime/classes/tiles.py) by participant; `null` for a removed one."""
    return b'{"k":"tiles","class_us":%d,"tiles":{%b}}' % (
        class_us,
        b",".join(b'"%b":%b' % (p.encode(), row) for p, row in rows.items()),
    )


def encode_snap(upto: int, patch: list[bytes]) -> bytes:
    """The `snap` frame: the page discards its state and applies these sections."""
    return b'{"k":"snap","upto":%d,"patch":[%b]}' % (upto, b",".join(patch))


def event_bytes(seq: int, record: bytes) -> bytes:
    """An event as pages receive it, from its record: `[seq, at_us, who, act, [kind, ...]]`."""
    return b"[%d,%b]" % (seq, record[1:-1])


def patch_bytes(path: str, value: Any) -> bytes:
    """One change of a section: `["/people/p7", value]`, or `["/people/p7"]` if it was removed."""
    pointer = f"/{path}"
    return _encoder.encode([pointer] if value is None else [pointer, value])
