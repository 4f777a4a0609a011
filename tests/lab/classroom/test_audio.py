"""Pieces of sound: slices in any order, slices that never come, passages off the record, and what is no sound."""

import hashlib
import random
import shutil
from pathlib import Path

import pytest

from lab.classroom.audio import pieces, store
from lab.classroom.audio.ebml import element, elements
from lab.classroom.audio.pieces import make_piece
from lab.classroom.audio.wave import wave
from lab.classroom.audio.webm import read_webm
from lab.texts.refusal import Refusal
from tests.support.classroom.sound import LENGTH_US, SLICES

ABOUT = store.Arriving(at_us=7_000, type="audio/webm")


def box(kind: bytes, content: bytes = b"....") -> bytes:
    return (8 + len(content)).to_bytes(4, "big") + kind + content


MP4 = box(b"ftyp") + box(b"moov") + box(b"moof") + box(b"mdat")
SCALE = 48_000
FRAGMENTED = [
    box(b"ftyp") + box(b"moov", box(b"trak", box(b"mdia", box(b"mdhd", bytes(12) + SCALE.to_bytes(4, "big"))))),
    *(
        box(b"moof", box(b"traf", box(b"tfdt", b"\1\0\0\0" + (2 * n * SCALE).to_bytes(8, "big"))))
        + box(b"mdat", b"%d" % n)
        for n in range(5)
    ),
]
"""The head, and five fragments of two seconds."""


def put(folder: Path, index: int, data: bytes) -> None:
    store.put_slice(folder, 7, index, ABOUT, data, hashlib.sha256(data).hexdigest())


def test_a_piece_has_the_same_sound_with_duration_and_a_cue_every_five_seconds() -> None:
    made = make_piece("audio/webm", 0, 0, SLICES, [])
    sound = read_webm([made.data])
    assert sound == read_webm([b"".join(SLICES)])
    assert (made.length_us, made.lost, sound.head[9]) == (LENGTH_US, [], 1)
    segment = list(elements(made.data))[1]
    body = made.data[segment.start :]
    inner = list(elements(made.data, segment.start))
    assert [hex(one.id) for one in inner] == [
        "0x114d9b74", "0x1549a966", "0x1654ae6b", "0x1f43b675", "0x1f43b675", "0x1c53bb6b",
    ]  # fmt: skip
    cues = [list(elements(made.data, one.start, one.end)) for one in elements(made.data, inner[-1].start)]
    for cue in cues:
        position = list(elements(made.data, cue[1].start, cue[1].end))[1]
        at = int.from_bytes(made.data[position.start : position.end], "big")
        assert body[at : at + 4] == bytes.fromhex("1f43b675"), "a cue leads to a cluster"
    assert len(cues) == 2


@pytest.mark.parametrize("seed", range(5))
def test_any_order_and_any_repetition_make_the_same_bytes(tmp_path: Path, seed: int) -> None:
    order = list(range(len(SLICES))) * 2
    random.Random(seed).shuffle(order)
    for index in order:
        put(tmp_path, index, SLICES[index])
    assert store.missing(tmp_path, 7, len(SLICES)) == []
    assert store.finish(tmp_path, 7, len(SLICES), LENGTH_US, []) is not None
    piece, path = store.file_of(tmp_path, 7)
    assert path.read_bytes() == make_piece("audio/webm", 0, 0, SLICES, []).data
    assert (piece.at_us, piece.length_us) == (7_000, LENGTH_US)
    put(tmp_path, 2, SLICES[2])
    assert store.arriving(tmp_path) == [] and store.finish(tmp_path, 7, 6, LENGTH_US, []) is None


@pytest.mark.parametrize("lost", range(len(SLICES)))
def test_missing_slice_loses_only_its_own_sound(lost: int) -> None:
    made = make_piece(
        "audio/webm", 60_000_000, LENGTH_US, [None if n == lost else one for n, one in enumerate(SLICES)], []
    )
    whole, left = read_webm([b"".join(SLICES)]).packets, read_webm([made.data]).packets
    assert set(left) < set(whole) and len(whole) - len(left) <= 20
    gone_us = sum(to_us - from_us for from_us, to_us in made.lost)
    assert gone_us <= 1_200_000 and all(60_000_000 <= from_us < to_us for from_us, to_us in made.lost)


def test_sound_off_the_record_is_in_no_piece() -> None:
    made = make_piece("audio/webm", 60_000_000, LENGTH_US, SLICES, [(62_000_000, 63_000_000)])
    said = [one.at_ms for one in read_webm([made.data]).packets]
    assert not [at_ms for at_ms in said if 1_740 < at_ms < 3_200] and len(said) > 50 and made.lost == []
    everything = make_piece("audio/webm", 60_000_000, LENGTH_US, SLICES, [(0, 90_000_000)])
    assert everything.data == b"" and everything.lost == []
    tone = make_piece("audio/wav", 0, 0, [wave(b"\x10" * 16_000)], [(1_000_000, 1_200_000)])
    assert tone.data[44 + 6_400 : 44 + 11_200] == b"\x80" * 4_800 and tone.data[44] == 0x10
    assert make_piece("audio/mp4", 0, 900, [MP4], [(100, 200)]).data == b""
    # Of a page that was reloaded: its slices may be longer than two seconds.
    assert make_piece("audio/mp4", 0, 0, [MP4], [(3_000_000, 10_000_000)]).data == b""


def test_mp4_without_fragments_is_kept_as_it_is_or_lost() -> None:
    length_us = 900_000
    assert make_piece("audio/mp4", 0, length_us, [MP4[:20], MP4[20:]], []) == (MP4, length_us, [])
    for broken in ([MP4[20:]], [MP4[:20], None], [MP4[:-1]], [box(b"ftyp"), box(b"mdat")]):
        assert make_piece("audio/mp4", 500, length_us, broken, []) == (b"", 0, [(500, 900_500)])
    assert make_piece("audio/mp4", 0, 2 * length_us, [MP4], [(0, 10_000)]).lost == [(210_000, 1_800_000)]
    # A page that was reloaded does not know how long it recorded: its slices last two seconds.
    assert make_piece("audio/mp4", 0, 0, [MP4[:20], MP4[20:]], []).length_us == 4_000_000


def test_of_mp4_the_whole_fragments_that_arrived_and_are_on_the_record_are_kept() -> None:
    head, *fragments = FRAGMENTED
    slices = [head + fragments[0], *fragments[1:]]
    at_us, length_us = 60_000_000, 10_100_000
    assert make_piece("audio/mp4", at_us, length_us, slices, []).data == b"".join(FRAGMENTED)
    # The recorder stops when the class goes off the record, a moment later.
    made = make_piece("audio/mp4", at_us, length_us, slices, [(70_000_000, 90_000_000)])
    assert made == (b"".join(FRAGMENTED[:5]), 8_000_000, [(68_000_000, 69_800_000)])
    made = make_piece("audio/mp4", at_us, length_us, slices, [(63_000_000, 63_100_000)])
    assert made.data == head + fragments[0] + b"".join(fragments[2:]) and made.length_us == length_us
    assert made.lost == [(62_000_000, 62_800_000), (63_300_000, 64_000_000)]
    made = make_piece("audio/mp4", at_us, length_us, [slices[0], slices[1], None, *slices[3:]], [])
    assert made == (head + fragments[0], 2_000_000, [(62_000_000, 70_100_000)])
    assert make_piece("audio/mp4", at_us, length_us, slices, [(0, 90_000_000)]) == (b"", 0, [])


@pytest.mark.parametrize("seed", range(30))
def test_corrupt_sound_is_dropped_and_the_rest_is_kept(seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(b"".join(SLICES))
    for _ in range(chance.randrange(1, 40)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    made = make_piece("audio/webm", 0, LENGTH_US, [bytes(data[: chance.randrange(1, len(data))])], [])
    assert made.length_us <= pieces.MAX_PIECE_US
    if made.data:
        assert read_webm([made.data]).length_us == made.length_us
    assert make_piece("audio/webm", 0, 5_000, [chance.randbytes(900)], []).lost == [(0, 5_000)]


@pytest.mark.parametrize("part", [0.1, 0.35, 0.5, 0.8, 0.99])
def test_truncated_sound_keeps_every_packet_before_the_cut(part: float) -> None:
    data = b"".join(SLICES)
    data = data[: int(len(data) * part)]
    whole = read_webm([b"".join(SLICES)]).packets
    made = make_piece("audio/webm", 60_000_000, LENGTH_US, [data], [])
    kept = read_webm([made.data]).packets
    assert kept == whole[: len(kept)] and 0 < len(kept) < len(whole)
    assert all(packet.data not in data for packet in whole[len(kept) :])
    assert made.length_us == read_webm([made.data]).length_us
    # What is missing in the end of a whole recording is the delay of the recorder's last event.
    is_lost = LENGTH_US - made.length_us > pieces.SLICE_US
    assert made.lost == ([(60_000_000 + made.length_us, 60_000_000 + LENGTH_US)] if is_lost else [])
    assert is_lost == (part <= 0.5)


@pytest.mark.parametrize("ticks", [200_000, 2**40, 2**64 - 1])
def test_a_packet_at_an_absurd_time_is_left_out(ticks: int) -> None:
    whole = read_webm([b"".join(SLICES)])
    cluster = element(0x1F43B675, element(0xE7, ticks.to_bytes(8, "big")), element(0xA3, b"\x81\0\0\x80\x78abc"))
    made = make_piece("audio/webm", 0, LENGTH_US, [*SLICES, cluster], [])
    assert read_webm([made.data]) == whole
    assert (made.length_us, made.lost) == (LENGTH_US, [])


def test_a_piece_is_kept_once_if_the_server_ends_before_its_slices_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for index, data in enumerate(SLICES):
        put(tmp_path, index, data)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.finish(tmp_path, 7, len(SLICES), LENGTH_US, [])
    assert store.arriving(tmp_path) == [7]
    assert store.finish(tmp_path, 7, len(SLICES), LENGTH_US, []) is None
    assert len(store.heard(tmp_path).pieces) == 1 and store.arriving(tmp_path) == []


def test_slices_that_are_too_large_altered_or_without_disk_space_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(index: int, data: bytes, digest: str = "") -> int:
        with pytest.raises(Refusal) as refused:
            store.put_slice(tmp_path, 7, index, ABOUT, data, digest or hashlib.sha256(data).hexdigest())
        return refused.value.status

    put(tmp_path, 0, SLICES[0])
    assert [status(1, bytes(300_000)), status(1, b""), status(100, b"a")] == [413, 413, 413]
    assert [status(1, b"a", "0" * 64), status(0, b"other")] == [400, 409]
    monkeypatch.setattr(store, "MIN_FREE_BYTES", 1 << 60)
    assert status(1, SLICES[1]) == 507
    assert store.missing(tmp_path, 7, 2) == [1]


def test_passages_of_speech_are_joined(tmp_path: Path) -> None:
    store.add_voice(tmp_path, [(5, 9), (1, 3)])
    store.add_voice(tmp_path, [(3, 5), (20, 30)])
    assert store.heard(tmp_path).voice == [(1, 9), (20, 30)]
    with pytest.raises(Refusal):
        store.add_voice(tmp_path, [(9, 5)])
