"""HTTP API of lessons: the causal chain of a debrief, the solution of a step, and pause conditions."""

import asyncio

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from broker_core.events.envelope import sentence
from lab.api.history import for_branch, json_answer, number_of
from lab.exercises.chain import chain_of
from lab.exercises.loader import exercises
from lab.exercises.observer import ExerciseObserver
from lab.exercises.pause_conditions import proposals
from lab.exercises.solution import MAX_STEPS, PLAY_US, sections_of
from lab.models import Branch
from lab.preferences import preferences_of
from lab.runtime.lab import Lab
from lab.texts.refusal import Refusal


@require_GET
@for_branch("see")
async def pauses(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """Conditions at which the run can be paused, with their current state."""
    snapshot = await lab.snapshot()
    return json_answer(proposals(msgspec.json.decode(snapshot.state)))


@require_GET
@for_branch("see")
async def chain(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The event `seq` and what led to it, in one part or in two: see `chain_of`. Each event has its number, instant and
    sentence, and whether events between it and the one before are left out.
    """
    seq, via = number_of(request, "seq"), number_of(request, "via") or 0
    if seq is None or not 1 <= seq <= lab.recording.last_seq or not 0 <= via <= lab.recording.last_seq:
        raise Refusal("refusal.instant_missing")
    language = preferences_of(request).language
    parts = await asyncio.to_thread(chain_of, lab.recording.events, seq, via)
    return json_answer(
        [
            [
                {
                    "seq": one[0],
                    "at_us": one[1],
                    "sentence": sentence(one[4], language),
                    "is_after_gap": 0 < part.gap == place,
                }
                for place, one in enumerate(part.events)
            ]
            for part in parts
        ],
    )


@require_GET
@for_branch("act")
async def solution(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The lines that do the step in progress, as `lab.exercises.solution` describes them, and the most that a line of
    them takes: messages of a `step rpc until`, simulated time of a `play`.
    """
    observer = lab.observers.get((await request.auser()).pk or 0)
    if not isinstance(observer, ExerciseObserver):
        raise Refusal("refusal.no_exercise_started", 409)
    shown = observer.shown
    active = next((step["id"] for step in shown.frames["en"]["steps"] if step["state"] == "active"), "")
    sections = sections_of(exercises()[shown.exercise])
    lines = next((one.lines for one in sections if one.step == active), [])
    return json_answer({"step": active, "lines": lines, "max_steps": MAX_STEPS, "play_us": PLAY_US})
