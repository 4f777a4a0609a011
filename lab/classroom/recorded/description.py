"""The description of a recorded class, which a page gets before it requests any part of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.classroom.audience import Viewer
from lab.classroom.recorded.playback import SEGMENT_EVENTS, Playback


def describe(playback: Playback, viewer: Viewer, titles: Sequence[str], now_us: int | None = None) -> dict[str, Any]:
    """The recording as this viewer may see it. `titles`: of its labs, by number; `now_us`: class time if the class goes
    on, because what happened last is shown until now.
    """
    length_us = playback.length_us if now_us is None else max(playback.length_us, now_us)
    return {
        "chapter": playback.state.chapter,
        "length_us": length_us,
        "first_seq": 1,
        "last_seq": playback.last_seq,
        "segment_events": SEGMENT_EVENTS,
        "segments": playback.begins_us,
        "labs": _labs(playback, titles),
        "off_record": playback.off_record_until(length_us),
        "quiet": playback.quiet if now_us is None else playback.quiet_until(length_us),
        "density": {"bucket_us": playback.bucket_us, "counts": playback.density},
        "people": playback.people(viewer),
        "questions": playback.questions(viewer),
        "polls": playback.asked_polls(),
    }


def titles_of(playback: Playback, run_names: Mapping[str, str]) -> list[str]:
    """The titles of its labs, by number: for a leading run its name, from `run_names` by slug; for a learner on stage
    their name or number, as they allowed.
    """
    return [
        (playback.words.name(lab.p) or lab.p) if lab.is_stage else run_names.get(_run(lab.address), "")
        for lab in playback.map.labs
    ]


def _labs(playback: Playback, titles: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "n": number,
            "title": titles[number],
            "address": lab.address,
            "stage": lab.is_stage,
            "first_seq": 1,
            "last_seq": playback.map.last_seqs[number],
        }
        for number, lab in enumerate(playback.map.labs)
    ]


def runs_of(playback: Playback) -> set[str]:
    """The slugs of the runs that led."""
    return {_run(lab.address) for lab in playback.map.labs if not lab.is_stage}


def _run(address: str) -> str:
    return address.partition("/")[0]
