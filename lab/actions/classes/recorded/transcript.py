"""The transcript of a recorded class: what was said, asked and run, and what happened in its labs, by time."""

from collections.abc import Sequence

import msgspec

from lab.actions.classes.recorded.search import Found, all_instants, matcher
from lab.actions.classes.recordings import look_into
from lab.models import Participant

MAX_LINES = 5_000
"""The most lines of one page. A class of 90 minutes has some 1,500 captions."""


class Part(msgspec.Struct):
    """A chapter and its lines; the first has no title if it precedes all chapters."""

    at_us: int
    title: str
    lines: list[Found] = []


class Transcript(msgspec.Struct):
    """`left`: number of lines left out. `spoken`: the language of its captions; empty if there are none."""

    parts: list[Part]
    left: int
    spoken: str
    languages: list[str]


async def transcript_of(me: Participant, language: str, spoken: str, query: str) -> Transcript:
    """The lines with all words of a query, or all lines; captions in `spoken`, or in the other language if there are
    none. Notes are not included. Raises Refusal for a query that is too long.
    """
    matches = matcher(query)
    found = [one async for one in all_instants(me, language) if one.kind != "note"]
    off_record = await look_into(me.classroom, lambda playback: playback.off_record)
    found += [Found(since, "off_record", "") for since, _ in off_record]
    there = sorted({one.language for one in found if one.kind == "caption"})
    said_in = spoken if spoken in there else next(iter(there), "")
    lines = sorted(
        (one for one in found if one.kind != "caption" or one.language == said_in),
        key=lambda one: (one.at_us, one.kind != "chapter"),
    )
    shown = [one for one in lines if one.kind == "chapter" or matches(one.text)]
    return Transcript(_parts(shown[:MAX_LINES], matches("")), max(0, len(shown) - MAX_LINES), said_in, there)


def _parts(lines: Sequence[Found], keeps_empty: bool) -> list[Part]:
    parts = [Part(0, "")]
    for one in lines:
        if one.kind == "chapter":
            parts.append(Part(one.at_us, one.text))
        else:
            parts[-1].lines.append(one)
    return [part for part in parts if part.lines or (keeps_empty and part.title)]
