"""The bytes of any message of a recording: bytes sent by clients are among the inputs; other messages are reproduced by
executing the run up to the instant at which they were sent, with separate files and a separate ZooKeeper.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from broker_core.events.rpc import RpcSent
from broker_core.run import CLIENT_PREFIX, Diverged, Input, Run, RunConfig, WireBytes
from broker_core.sim.disk import RealDisk
from broker_core.wire.annotate import FrameField, annotate_request, annotate_response
from broker_core.wire.framing import encode_frame
from broker_core.wire.schemas import BY_NAME, SCHEMAS
from broker_core.zk.memory_store import MemoryStore
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.history import history_not_kept
from lab.recordings.recording import Recording
from lab.texts.refusal import Refusal

SEARCHED_EVENTS = 20_000
"""How many events back a message is looked for: nothing that is still shown is older."""
_CHUNK = 1_000
SHOWN_BYTES = 64 * 1024


class Exchanged(msgspec.Struct, omit_defaults=True):
    """A message as bytes. `data`: hexadecimal, at most SHOWN_BYTES of `size`. `is_real`: a client sent or got just
    these bytes; otherwise they are what Kafka's own nodes would send.
    """

    api: str
    version: int
    is_request: bool
    is_real: bool
    size: int
    data: str
    fields: list[FrameField]


class _Wanted(NamedTuple):
    """A message and the event of its sending; for a response also those of its request, otherwise 0."""

    rpc: str
    seq: int
    question: str
    question_seq: int


def exchanged(recording: Recording, rpc: str, seq: int, endpoints: Mapping[int, tuple[str, int]]) -> Exchanged:
    """The bytes of a message that was sent at or before event `seq`. Blocks for about a second.

    Raises Refusal if the message does not exist or has no bytes, or the recording cannot be executed again.
    """
    sent = _find(recording, rpc, seq)
    if sent is None:
        raise Refusal("refusal.no_message", 404, rpc=rpc)
    sent_seq, event = sent
    if event.kind == "request" and event.source.startswith(CLIENT_PREFIX):
        frame = _received(recording, event, sent_seq)
        if frame is not None:
            return _shown(frame)
    requested_by = f"r{event.correlation}"
    question = _find(recording, requested_by, sent_seq) if event.kind == "response" else None
    wanted = _Wanted(rpc, sent_seq, requested_by, question[0] if question else 0)
    found = _executed(recording, wanted, endpoints)
    if found is None:
        raise Refusal("refusal.no_message_bytes", 404)
    return _shown(found)


def _always(failure: Exception) -> bool:
    """Errors that the run survived are ignored again."""
    return True


def _find(recording: Recording, rpc: str, seq: int) -> tuple[int, RpcSent] | None:
    """The event of a message's sending, and its number."""
    last, least = min(seq, recording.last_seq), max(0, seq - SEARCHED_EVENTS)
    name = f'"{rpc}"'.encode()
    while last > least:
        first = max(least + 1, last - _CHUNK + 1)
        if any(name in record for record in recording.records(first, last)):
            for number, *_, event in reversed(recording.events(first, last)):
                if isinstance(event, RpcSent) and event.rpc == rpc:
                    return number, event
        last = first - 1
    return None


def _received(recording: Recording, event: RpcSent, seq: int) -> WireBytes | None:
    """The last whole frame that came over the connection before the request was handed to the broker."""
    connection = event.source.removeprefix(CLIENT_PREFIX)
    correlation_id = int(dict(event.fields)["correlation_id"])
    pieces: list[bytes] = []
    found: bytes | None = None
    for given in map(Input.decode, recording.inputs()):
        if given.seq > seq:
            break
        if given.source != connection or given.kind not in ("piece", "frame"):
            continue
        pieces.append(given.data)
        if given.kind == "frame":
            frame, pieces = b"".join(pieces), []
            if int.from_bytes(frame[4:8], "big", signed=True) == correlation_id:
                found = frame
    if found is None:
        return None
    api = SCHEMAS[int.from_bytes(found[:2], "big")]
    return WireBytes(api.name, int.from_bytes(found[2:4], "big"), True, encode_frame([found]), is_real=True)


def _executed(recording: Recording, wanted: _Wanted, endpoints: Mapping[int, tuple[str, int]]) -> WireBytes | None:
    """Executes the recording again: up to the request, which a response depends on, and on to the message."""
    folder = Path(tempfile.mkdtemp(prefix="exchange-", dir=recording.folder.path))
    try:
        disk = RealDisk(folder, physical_fsync=False)
        checkpoint = Checkpoints(recording.folder).before((wanted.question_seq or wanted.seq) - 1)
        if checkpoint is None and recording.first_seq > 1:
            raise history_not_kept(recording)
        first = checkpoint.inputs if checkpoint else 0
        inputs = [given for data in recording.inputs(first) if (given := Input.decode(data)).seq <= wanted.seq]
        if checkpoint is None:
            run = Run(RunConfig.of(recording.config), disk=disk, zk=MemoryStore(), survives=_always)
        else:
            checkpoint.restore_disk(folder)
            run = Run.restore(checkpoint.engine, disk=disk, zk=checkpoint.zookeeper, survives=_always)
        try:
            return _looked_at(run, inputs, wanted, endpoints)
        except Diverged as error:
            raise Refusal("refusal.bytes_diverge", 409, problem=error.message) from error
        finally:
            run.release()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _looked_at(
    run: Run, inputs: list[Input], wanted: _Wanted, endpoints: Mapping[int, tuple[str, int]]
) -> WireBytes | None:
    run.advertise(endpoints)
    question: Any = None
    first: int | None = None
    if wanted.question_seq:
        first = run.replay(inputs, wanted.question_seq)
        question = run.body_of(wanted.question)
    if run.seq < wanted.seq:
        run.replay(inputs, wanted.seq, first=first)
    return run.wire_bytes(wanted.rpc, question)


def _shown(found: WireBytes) -> Exchanged:
    annotate = annotate_request if found.is_request else annotate_response
    data = found.data[:SHOWN_BYTES]
    fields = annotate(BY_NAME[found.api], found.version, data)
    return Exchanged(found.api, found.version, found.is_request, found.is_real, len(found.data), data.hex(), fields)
