"""Opus in WebM, as browsers record it: read from a stream with possible gaps, and written with duration and cues.

A browser writes neither, because it does not know the duration in advance; a player needs both to seek.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lab.classroom.audio.ebml import BrokenElement, Element, element, elements, integer, number, text, unsigned

CLUSTER_MS = 5_000
"""A seek lands at the begin of a cluster."""
_TRACK = 1

_EBML, _SEGMENT, _SEEK_HEAD, _INFO, _TRACKS, _CLUSTER, _CUES = (
    0x1A45DFA3, 0x18538067, 0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1F43B675, 0x1C53BB6B,
)  # fmt: skip
_DOC_TYPE, _SCALE, _DURATION, _APP, _WRITER = 0x4282, 0x2AD7B1, 0x4489, 0x4D80, 0x5741
_TRACK_ENTRY, _TRACK_NUMBER, _TRACK_UID, _TRACK_TYPE, _CODEC, _PRIVATE = 0xAE, 0xD7, 0x73C5, 0x83, 0x86, 0x63A2
_CODEC_DELAY, _PRE_ROLL, _AUDIO, _RATE, _CHANNELS = 0x56AA, 0x56BB, 0xE1, 0xB5, 0x9F
_TIMECODE, _SIMPLE_BLOCK, _BLOCK_GROUP, _BLOCK = 0xE7, 0xA3, 0xA0, 0xA1
_SEEK, _SEEK_ID, _SEEK_POSITION = 0x4DBB, 0x53AB, 0x53AC
_CUE, _CUE_TIME, _CUE_POSITIONS, _CUE_TRACK, _CUE_CLUSTER = 0xBB, 0xB3, 0xB7, 0xF7, 0xF1
_CLUSTER_ID = _CLUSTER.to_bytes(4, "big")
_MONO = b"OpusHead" + bytes((1, 1)) + (312).to_bytes(2, "little") + (48_000).to_bytes(4, "little") + bytes(3)


class NotOpus(ValueError):
    """The bytes are not a WebM file with one Opus track. The message describes them."""


class Packet(NamedTuple):
    """An Opus packet at `at_ms` of its piece."""

    at_ms: int
    data: bytes

    @property
    def length_us(self) -> int:
        return packet_us(self.data)


class Sound(NamedTuple):
    """What was recorded: the head that describes it to a decoder, and packets in order."""

    head: bytes
    packets: list[Packet]

    @property
    def length_us(self) -> int:
        return self.packets[-1].at_ms * 1_000 + self.packets[-1].length_us if self.packets else 0


def read_webm(runs: Sequence[bytes], has_begin: bool = True) -> Sound:
    """The sound of a stream with possible gaps: `runs` are the contiguous ranges of bytes. After a gap, data is skipped
    up to the next cluster; without the start of the stream (`has_begin`) mono is assumed. Raises NotOpus.
    """
    head, scale = _MONO, 1_000_000
    packets: list[Packet] = []
    for number_of_run, data in enumerate(runs):
        try:
            if number_of_run == 0 and has_begin:
                head, scale, start = _begin(data)
            else:
                start = data.find(_CLUSTER_ID)
            if start >= 0:
                packets += _packets(data, start, scale)
        except BrokenElement as error:
            raise NotOpus(str(error)) from error
    return Sound(head, sorted(packets, key=lambda packet: packet.at_ms))


def _begin(data: bytes) -> tuple[bytes, int, int]:
    """The decoder's header, the nanoseconds per tick, and the position of the first cluster."""
    outer = list(elements(data))
    if not outer or outer[0].id != _EBML or _child(data, outer[0], _DOC_TYPE) != b"webm":
        raise NotOpus("no WebM file")
    segment = next((one for one in outer if one.id == _SEGMENT), None)
    if segment is None:
        raise NotOpus("a WebM file without a segment")
    head, scale = b"", 1_000_000
    for one in elements(data, segment.start, segment.end):
        if one.id == _INFO:
            scale = unsigned(_child(data, one, _SCALE) or b"\x0f\x42\x40")
        elif one.id == _TRACKS:
            head = _head(data, one)
        elif one.id == _CLUSTER:
            if not head:
                break
            return head, scale, data.rfind(_CLUSTER_ID, segment.start, one.start)
    if not head:
        raise NotOpus("a WebM file without a track of Opus")
    return head, scale, -1


def _head(data: bytes, tracks: Element) -> bytes:
    entries = [one for one in elements(data, tracks.start, tracks.end) if one.id == _TRACK_ENTRY]
    if len(entries) != 1 or _child(data, entries[0], _CODEC) != b"A_OPUS":
        raise NotOpus("a WebM file with something else than one track of Opus")
    head = _child(data, entries[0], _PRIVATE)
    if not head.startswith(b"OpusHead") or len(head) < 19 or head[9] not in (1, 2):
        raise NotOpus("a track of Opus without its head")
    return head


def _child(data: bytes, parent: Element, id: int) -> bytes:
    """The body of the first child with this id; empty if there is none."""
    found = next((one for one in elements(data, parent.start, parent.end) if one.id == id), None)
    return data[found.start : found.end] if found else b""


def _packets(data: bytes, start: int, scale: int) -> Iterator[Packet]:
    base = 0
    at = start
    while at < len(data):
        # A cluster without a size ends where the next one begins, so its children are read as its siblings.
        for one in elements(data, at):
            at = one.end
            if one.id == _CLUSTER or (one.id == _BLOCK_GROUP and one.is_whole):
                at = one.start
                break
            if one.id == _TIMECODE:
                base = unsigned(data[one.start : one.end])
            elif one.id in (_SIMPLE_BLOCK, _BLOCK) and one.is_whole:
                yield _packet(data[one.start : one.end], base, scale)
        else:
            return


def _packet(block: bytes, base: int, scale: int) -> Packet:
    if len(block) < 5 or block[0] != 0x80 | _TRACK or block[3] & 0x06:
        raise NotOpus("a block of another track, or with laces")
    ticks = base + int.from_bytes(block[1:3], "big", signed=True)
    packet = Packet(max(0, ticks * scale // 1_000_000), block[4:])
    if packet_us(packet.data) > 120_000:
        raise NotOpus("a packet of more than 120 ms")
    return packet


def packet_us(data: bytes) -> int:
    """Duration of an Opus packet (RFC 6716, 3.1)."""
    config, count = data[0] >> 3, data[0] & 3
    if config < 12:
        frame_us = (10_000, 20_000, 40_000, 60_000)[config % 4]
    elif config < 16:
        frame_us = (10_000, 20_000)[config % 2]
    else:
        frame_us = (2_500, 5_000, 10_000, 20_000)[config % 4]
    frames = (1, 2, 2, (data[1] & 0x3F) if len(data) > 1 else 0)[count]
    return frame_us * frames


def without(sound: Sound, passages: Iterable[tuple[float, float]]) -> Sound:
    """The sound without the packets that overlap these passages, given in microseconds of the piece."""
    left_out = list(passages)
    kept = [
        one
        for one in sound.packets
        if not any(
            one.at_ms * 1_000 < to_us and from_us < one.at_ms * 1_000 + one.length_us for from_us, to_us in left_out
        )
    ]
    return Sound(sound.head, kept)


def write_webm(sound: Sound) -> bytes:
    """A complete file with all sizes, the duration, and a cue for each cluster. Deterministic."""
    info = element(
        _INFO,
        integer(_SCALE, 1_000_000),
        number(_DURATION, sound.length_us / 1_000),
        text(_APP, "Highwater"),
        text(_WRITER, "Highwater"),
    )
    tracks = element(_TRACKS, _track(sound.head))
    clusters = [_cluster(group) for group in _groups(sound.packets)]
    head_bytes = len(_seek_head(0, 0, 0))
    begin = head_bytes + len(info) + len(tracks)
    cues, at = [], begin
    for at_ms, cluster in clusters:
        position = element(_CUE_POSITIONS, integer(_CUE_TRACK, _TRACK), integer(_CUE_CLUSTER, at))
        cues.append(element(_CUE, integer(_CUE_TIME, at_ms), position))
        at += len(cluster)
    seek = _seek_head(head_bytes, head_bytes + len(info), at)
    body = [seek, info, tracks, *(cluster for _, cluster in clusters), element(_CUES, *cues)]
    return _ebml_head() + element(_SEGMENT, *body)


def _ebml_head() -> bytes:
    numbers = [integer(id, value) for id, value in ((0x4286, 1), (0x42F7, 1), (0x42F2, 4), (0x42F3, 8))]
    return element(_EBML, *numbers, text(_DOC_TYPE, "webm"), integer(0x4287, 4), integer(0x4285, 2))


def _seek_head(info: int, tracks: int, cues: int) -> bytes:
    return element(
        _SEEK_HEAD,
        *(
            element(_SEEK, element(_SEEK_ID, id.to_bytes(4, "big")), integer(_SEEK_POSITION, position, 4))
            for id, position in ((_INFO, info), (_TRACKS, tracks), (_CUES, cues))
        ),
    )


def _track(head: bytes) -> bytes:
    skipped_ns = int.from_bytes(head[10:12], "little") * 1_000_000_000 // 48_000
    return element(
        _TRACK_ENTRY,
        integer(_TRACK_NUMBER, _TRACK),
        integer(_TRACK_UID, _TRACK),
        integer(_TRACK_TYPE, 2),
        text(_CODEC, "A_OPUS"),
        element(_PRIVATE, head),
        integer(_CODEC_DELAY, skipped_ns),
        integer(_PRE_ROLL, 80_000_000),
        element(_AUDIO, number(_RATE, 48_000.0), integer(_CHANNELS, head[9])),
    )


def _groups(packets: Sequence[Packet]) -> Iterator[list[Packet]]:
    group: list[Packet] = []
    for packet in packets:
        if group and packet.at_ms - group[0].at_ms >= CLUSTER_MS:
            yield group
            group = []
        group.append(packet)
    if group:
        yield group


def _cluster(group: Sequence[Packet]) -> tuple[int, bytes]:
    begin = group[0].at_ms
    blocks = (
        element(_SIMPLE_BLOCK, bytes((0x80 | _TRACK,)), (one.at_ms - begin).to_bytes(2, "big"), b"\x80", one.data)
        for one in group
    )
    return begin, element(_CLUSTER, integer(_TIMECODE, begin), *blocks)
