"""The part of WebVTT that captions of a class need: cues with an identifier, times and plain text.

Files are uploaded or imported by people. Markup is rejected, and cue settings are ignored. Source: W3C, WebVTT: The Web
Video Text Tracks Format, sections 4 and 6.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import msgspec

from lab.texts.refusal import Refusal

Source: TypeAlias = Literal["typed", "file", "recognised"]
"""Where a caption came from: staff, an uploaded file, or the speech recognition of a browser."""

MAX_CUES = 20_000
"""The most captions of one language."""
MAX_TEXT = 500
MAX_CUE_US = 120_000_000
_MS = 1_000
_TIME = r"(?:(\d{2,4}):)?([0-5]\d):([0-5]\d)\.(\d{3})"
_TIMES = re.compile(rf"\s*{_TIME}[ \t]+-->[ \t]+{_TIME}(?:[ \t].*)?")
_ID = re.compile(rf"([1-9]\d{{0,6}}) ({'|'.join(get_args(Source))})")
_NO_CUE = re.compile(r"(NOTE|STYLE|REGION)(?:[ \t].*)?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WRITTEN = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": "\N{NO-BREAK SPACE}", "&lrm;": "", "&rlm;": ""}
_ESCAPE = re.compile("|".join(_WRITTEN))


class Cue(msgspec.Struct, frozen=True):
    """A caption, shown between two instants of class time, both in whole milliseconds. `cue` is its number."""

    cue: int
    from_us: int
    to_us: int
    text: str
    source: Source


class _Line(NamedTuple):
    number: int
    text: str


def parse(data: bytes, length_us: int) -> list[Cue]:
    """The cues of a file, by time; they do not overlap. A cue that exceeds the recording ends with it.

    Raises Refusal with the number of the line that is wrong: invalid UTF-8, not WebVTT, invalid times, overlapping
    captions, markup, empty or too long text, too many cues.
    """
    cues: list[Cue] = []
    ended_at = 0
    for block in _blocks(_lines(data)):
        if (found := _cue(block, length_us)) is None:
            continue
        line, cue = found
        if cues and cue.from_us < cues[-1].to_us:
            raise Refusal("refusal.caption_overlap", field="file", line=line, other=ended_at)
        if len(cues) >= MAX_CUES:
            raise Refusal("refusal.caption_many", 413, field="file", line=line, max=MAX_CUES)
        cues.append(cue)
        ended_at = line
    return _numbered(cues)


def write(cues: Iterable[Cue]) -> bytes:
    """A file with these cues, each identified by its number and source."""
    blocks = [
        f"{cue.cue} {cue.source}\n{_shown(cue.from_us)} --> {_shown(cue.to_us)}\n{_escaped(cue.text)}\n" for cue in cues
    ]
    return "\n".join(["WEBVTT\n", *blocks]).encode()


def plain(text: str) -> str:
    """The text of a caption: trimmed lines without empty ones."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def is_text(text: str) -> bool:
    """Whether this is a valid text for a caption."""
    return 1 <= len(text) <= MAX_TEXT and not _CONTROL.search(text)


def whole_ms(us: int) -> int:
    """Microseconds rounded to the milliseconds of captions."""
    return us // _MS * _MS


def _lines(data: bytes) -> list[_Line]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Refusal("refusal.caption_encoding", field="file", line=line) from None
    lines = [_Line(*one) for one in enumerate(re.split(r"\r\n|\n|\r", text), 1)]
    if not re.fullmatch(r"WEBVTT(?:[ \t].*)?", lines[0].text):
        raise Refusal("refusal.caption_header", field="file", line=1)
    return lines


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """The blocks after the header, which are separated by empty lines."""
    block: list[_Line] = []
    is_head = True
    for line in (*lines, _Line(0, "")):
        if line.text.strip():
            block.append(line)
            continue
        if block and not is_head:
            yield block
        elif block:
            yield from _of_head(block)
        block, is_head = [], False


def _of_head(block: Sequence[_Line]) -> Iterator[list[_Line]]:
    # Without the empty line after WEBVTT the first cue would be part of the header.
    misplaced = next((line for line in block if "-->" in line.text), None)
    if misplaced is not None:
        raise Refusal("refusal.caption_timing", field="file", line=misplaced.number)
    return iter(())


def _cue(block: Sequence[_Line], length_us: int) -> tuple[int, Cue] | None:
    """A cue and the line number of its times; None for a comment."""
    first = block[0]
    if (other := _NO_CUE.fullmatch(first.text)) is not None:
        if other[1] == "NOTE":
            return None
        raise Refusal("refusal.caption_markup", field="file", line=first.number)
    known = _ID.fullmatch(first.text)
    times, *texts = block if "-->" in first.text else (block[1:] or [first])
    from_us, to_us = _times(times, length_us)
    for line in texts:
        if "-->" in line.text:
            raise Refusal("refusal.caption_timing", field="file", line=line.number)
        if "<" in line.text:
            raise Refusal("refusal.caption_markup", field="file", line=line.number)
    text = plain(_ESCAPE.sub(lambda found: _WRITTEN[found[0]], "\n".join(line.text for line in texts)))
    if not is_text(text):
        raise Refusal("refusal.caption_length", field="file", line=times.number, length=len(text), max=MAX_TEXT)
    number, source = (int(known[1]), known[2]) if known is not None else (0, "file")
    return times.number, Cue(number, from_us, to_us, text, source)  # type: ignore[arg-type]


def _times(line: _Line, length_us: int) -> tuple[int, int]:
    found = _TIMES.fullmatch(line.text)
    if found is None:
        raise Refusal("refusal.caption_timing", field="file", line=line.number)
    from_us, to_us = _us(*found.groups()[:4]), _us(*found.groups()[4:])
    if not from_us < to_us <= from_us + MAX_CUE_US:
        raise Refusal("refusal.caption_ends", field="file", line=line.number, max=MAX_CUE_US // 1_000_000)
    if from_us >= length_us:
        raise Refusal("refusal.caption_beyond", field="file", line=line.number, length=_shown(length_us))
    return from_us, min(to_us, max(from_us + _MS, whole_ms(length_us)))


def _us(hours: str | None, minutes: str, seconds: str, ms: str) -> int:
    return (((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000 + int(ms)) * _MS


def _shown(us: int) -> str:
    ms = us // _MS
    minutes, seconds = divmod(ms // 1_000, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}.{ms % 1_000:03d}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _numbered(cues: Sequence[Cue]) -> list[Cue]:
    """Cues of a file written by this module keep their numbers; others are numbered by time."""
    numbers = {cue.cue for cue in cues}
    if 0 not in numbers and len(numbers) == len(cues):
        return list(cues)
    return [msgspec.structs.replace(cue, cue=number) for number, cue in enumerate(cues, 1)]
