"""What the panel of a lesson asks over HTTP: the causal chain of its debrief."""

import asyncio

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from broker_core.events import Envelope
from broker_core.events.envelope import sentence
from lab.api.history import for_branch, json_answer, number_of
from lab.exercises.chain import chain_of
from lab.models import Branch
from lab.preferences import preferences_of
from lab.recordings.recording import Recording
from lab.runtime.lab import Lab
from lab.texts.refusal import Refusal


@require_GET
@for_branch("see")
async def chain(request: HttpRequest, branch: Branch, lab: Lab) -> HttpResponse:
    """The event `seq` and what led to it, newest first: number, instant and sentence of each."""
    seq = number_of(request, "seq")
    if seq is None or not 1 <= seq <= lab.recording.last_seq:
        raise Refusal("refusal.instant_missing")
    language = preferences_of(request).language
    found = await asyncio.to_thread(_chain, lab.recording, seq)
    return json_answer(
        [{"seq": one[0], "at_us": one[1], "sentence": sentence(one[4], language)} for one in found],
    )


def _chain(recording: Recording, seq: int) -> list[Envelope]:
    def event(number: int) -> Envelope | None:
        return next(iter(recording.events(number, number)), None)

    return chain_of(event, seq)
