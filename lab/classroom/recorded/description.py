"""What a page is told of a recorded class before it asks for any part of it."""

from collections.abc import Mapping
from typing import Any

from lab.classroom.audience import Viewer
from lab.classroom.recorded.playback import BUCKET_US, SEGMENT_EVENTS, Playback


def describe(playback: Playback, viewer: Viewer, run_names: Mapping[str, str]) -> dict[str, Any]:
    """The recording as this viewer may see it. `run_names`: by slug, those of the runs that led."""
    return {
        "chapter": playback.state.chapter,
        "length_us": playback.length_us,
        "first_seq": 1,
        "last_seq": playback.last_seq,
        "segment_events": SEGMENT_EVENTS,
        "segments": playback.begins_us,
        "labs": _labs(playback, run_names),
        "off_record": playback.off_record,
        "quiet": playback.quiet,
        "density": {"bucket_us": BUCKET_US, "counts": playback.density},
        "chapters": [
            {"chapter": number, "at_us": at_us, "title": title, "by": "staff"}
            for number, at_us, title in playback.chapters()
        ],
        "people": playback.people(viewer),
        "questions": playback.questions(viewer),
    }


def _labs(playback: Playback, run_names: Mapping[str, str]) -> list[dict[str, Any]]:
    """By number. That of a learner on stage has their name, if they allowed it, and is nameless otherwise."""
    return [
        {
            "n": number,
            "title": (playback.words.name(lab.p) or lab.p) if lab.is_stage else run_names.get(_run(lab.address), ""),
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
