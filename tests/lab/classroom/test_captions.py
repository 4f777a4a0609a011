"""Captions: WebVTT as it is read and written, what is refused and where, and those that are typed in class."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.classroom.captions import store, webvtt
from lab.classroom.captions.webvtt import Cue, parse, write
from lab.texts.refusal import Refusal

S = 1_000_000
LENGTH_US = 600 * S
GOOD = "\N{ZERO WIDTH NO-BREAK SPACE}WEBVTT - a class\r\nKind: captions\r\n\r\nNOTE\r\nby <b>Lin</b>\r\n\r\n" \
    "intro\r\n00:01.000 --> 00:02.500 align:start\r\nb1 &lt; b2 &amp; b3\r\n- so\r\n\r\n" \
    "00:00:02.500 --> 00:09:59.900\r\n".replace("00:09:59.900", "00:01:01.000") + "高水位\r\n"  # fmt: skip


def test_a_file_is_read_as_plain_text_with_times_in_microseconds() -> None:
    assert parse(GOOD.encode(), LENGTH_US) == [
        Cue(1, 1 * S, 2_500_000, "b1 < b2 & b3\n- so", "file"),
        Cue(2, 2_500_000, 61 * S, "高水位", "file"),
    ]
    assert parse(b"WEBVTT", LENGTH_US) == []
    assert parse(GOOD.encode(), 30 * S)[1].to_us == 30 * S, "it ends with the recording"


def test_written_captions_are_read_back_unchanged() -> None:
    drawn, at_us, cues = random.Random(17), 0, []
    for number in range(1, 300):
        from_us = at_us + drawn.randrange(3) * 1_500
        from_us, at_us = webvtt.whole_ms(from_us), webvtt.whole_ms(from_us) + drawn.randrange(1, 9_000) * 1_000
        text = "".join(drawn.choices("ab<>&;-\"' 位", k=drawn.randrange(1, 40))) + "x\n-->"
        cues.append(Cue(1_000 - number, from_us, at_us, webvtt.plain(text), drawn.choice(("typed", "file"))))
    assert parse(write(cues), at_us + 1) == cues


def cue(times: str, text: str = "text") -> str:
    return f"\n{times}\n{text}\n"


FIRST = "WEBVTT\n" + cue("00:01.000 --> 00:02.000")
BAD: dict[str, tuple[str, int, bytes]] = {
    "another file": ("header", 1, b"1\n00:00:01,000 --> 00:00:02,000\nSRT"),
    "empty": ("header", 1, b""),
    "encoding": ("encoding", 7, (FIRST + cue("00:03.000 --> 00:04.000", "é")).encode("latin-1")),
    "in the head": ("timing", 2, b"WEBVTT\n00:01.000 --> 00:02.000\ntext"),
    "comma": ("timing", 7, (FIRST + "\n" + cue("00:03,000 --> 00:04,000")).encode()),
    "61 seconds": ("timing", 6, (FIRST + cue("00:61.000 --> 01:02.000")).encode()),
    "no times": ("timing", 6, (FIRST + "\nonly text\n").encode()),
    "no empty line": ("timing", 5, (FIRST.rstrip("\n") + "\n00:03.000 --> 00:04.000\nmore").encode()),
    "backwards": ("ends", 6, (FIRST + cue("00:04.000 --> 00:03.000")).encode()),
    "nothing": ("ends", 6, (FIRST + cue("00:04.000 --> 00:04.000")).encode()),
    "an hour": ("ends", 6, (FIRST + cue("00:04.000 --> 01:00:04.000")).encode()),
    "after the end": ("beyond", 6, (FIRST + cue("10:00.000 --> 10:01.000")).encode()),
    "overlap": ("overlap", 6, (FIRST + cue("00:01.999 --> 00:03.000")).encode()),
    "not by time": ("overlap", 6, (FIRST + cue("00:00.000 --> 00:00.500")).encode()),
    "tag": ("markup", 7, (FIRST + cue("00:03.000 --> 00:04.000", "<i>so</i>")).encode()),
    "script": ("markup", 8, (FIRST + cue("00:03.000 --> 00:04.000", "a\n<script>alert(1)</script>")).encode()),
    "style sheet": ("markup", 6, (FIRST + "\nSTYLE\n::cue { color: red }\n").encode()),
    "no text": ("length", 6, (FIRST + cue("00:03.000 --> 00:04.000", " ")).encode()),
    "long": ("length", 6, (FIRST + cue("00:03.000 --> 00:04.000", "x" * 501)).encode()),
    "control": ("length", 6, (FIRST + cue("00:03.000 --> 00:04.000", "a\x07b")).encode()),
}  # fmt: skip


@pytest.mark.parametrize("why", sorted(BAD))
def test_a_bad_file_is_refused_with_its_line(why: str) -> None:
    kind, line, data = BAD[why]
    with pytest.raises(Refusal) as refused:
        parse(data, LENGTH_US)
    texts = refused.value.as_json("en"), refused.value.as_json("zh-CN")
    assert refused.value.id == f"refusal.caption_{kind}" and str(line) in texts[0]["what"]
    assert all("{" not in sentence for one in texts for sentence in one.values())


def test_one_caption_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webvtt, "MAX_CUES", 1)
    assert refusal_of(lambda: parse((FIRST + cue("00:03.000 --> 00:04.000")).encode(), LENGTH_US)) == "caption_many"


def test_caption_typed_in_class_ends_the_previous_one(tmp_path: Path) -> None:
    def add(from_s: float, to_s: float, text: str) -> None:
        store.add_spoken(tmp_path, "en", int(from_s * S), int(to_s * S), text, "typed")

    add(1, 9, "one")
    add(4, 6, "two")
    add(4.1, 4.2, "at once by another person")
    shown = [(one.from_us / S, one.to_us / S, one.text) for one in store.read_captions(tmp_path, "en")]
    assert shown == [(1, 4, "one"), (4, 4.5, "two"), (4.5, 5, "at once by another person")]
    assert parse((tmp_path / "captions" / "en.vtt").read_bytes(), LENGTH_US) == store.read_captions(tmp_path, "en")
    assert refusal_of(lambda: add(20, 21, " \n ")) == "caption_text"


def refusal_of(do: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as refused:
        do()
    return refused.value.id.split(".")[1]


def test_a_caption_is_corrected_in_place_and_never_overlaps(tmp_path: Path) -> None:
    store.keep_captions(tmp_path, "en", parse(GOOD.encode(), LENGTH_US))
    store.put_cue(tmp_path, "en", 2, 2_600_999, 3 * S, " high\n\n watermark ")
    added = store.put_cue(tmp_path, "en", None, 0, 1 * S, "<b>zero</b>")
    shown = store.read_captions(tmp_path, "en")
    assert [one.text for one in shown] == ["<b>zero</b>", "b1 < b2 & b3\n- so", "high\nwatermark"]
    assert (shown[2].from_us, shown[2].source, added.source) == (2_600_000, "file", "typed")
    put = store.put_cue
    assert refusal_of(lambda: put(tmp_path, "en", 2, 2 * S, 3 * S, "over the first")) == "caption_beside"
    assert refusal_of(lambda: put(tmp_path, "en", 9, 0, S, "none")) == "no_caption"
    assert refusal_of(lambda: put(tmp_path, "en", 2, 9 * S, 8 * S, "backwards")) == "caption_times"
    assert refusal_of(lambda: put(tmp_path, "en", 2, 0, 10**18, "endless")) == "caption_times"
    assert store.read_captions(tmp_path, "en") == shown
    store.cut_captions(tmp_path, [(0, 999_999), (2_000_000, 2_400_000), (2_700_000, 4_000_000)], 99 * S)
    assert [(one.text, one.to_us) for one in store.read_captions(tmp_path, "en")] == [("high\nwatermark", 2_700_000)]
    store.keep_captions(tmp_path, "en", shown[1:])
    store.cut_captions(tmp_path, [], 2 * S)
    assert [(one.text, one.to_us) for one in store.read_captions(tmp_path, "en")] == [("b1 < b2 & b3\n- so", 2 * S)]
    for one in store.read_captions(tmp_path, "en"):
        store.remove_cue(tmp_path, "en", one.cue)
    assert not (tmp_path / "captions" / "en.vtt").exists()
