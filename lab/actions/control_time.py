"""Pause, play, step, speed: control of simulated time by the watchers."""

from broker_core.view.tree import View
from lab.exercises.pause_conditions import forms, stop_at
from lab.protocol.frames import MAX_RATE, MIN_RATE, Done, Time
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.runtime.stops import Stop
from lab.texts.refusal import Refusal

MAX_CONDITION_LENGTH = 200


async def control_time(lab: Lab, frame: Time) -> Done:
    """Applies it; all watchers get a clock frame. Raises Refusal for a rate outside 1/1000 to 100, for
    a condition that cannot be awaited, and for what would move a run that a class has stopped.
    """
    rate, condition = frame.value, " ".join(frame.condition.split())
    if frame.op == "rate" and rate is None:
        raise Refusal("refusal.no_rate", min=f"{MIN_RATE:g}", max=f"{MAX_RATE:g}")
    if rate is not None and not MIN_RATE <= rate <= MAX_RATE:
        raise Refusal("refusal.invalid_rate", rate=rate, min=f"{MIN_RATE:g}", max=f"{MAX_RATE:g}")
    moves_time = frame.op not in ("pause", "rate", "now")
    if moves_time:
        lab.pacer.ensure_not_stopped()
    if lab.core == "recorded" and frame.op in ("pause", "now"):
        return Done(frame.id, lab.ring.last_seq)

    def job(live: LiveRun) -> Done:
        pacer = live.pacer
        if moves_time:
            pacer.ensure_not_stopped()
        if rate is not None:
            pacer.set_rate(rate)
        match frame.op:
            case "pause" | "play" | "event_paced":
                pacer.set_mode(frame.op)
            case "step_event":
                pacer.set_mode("pause")
                live.run.step_event()
            case "step_rpc":
                pacer.set_mode("pause")
                live.run.step_rpc()
            case "pause_when":
                live.set_pause(condition, _stop(condition, live.run.view) if condition else None)
            case "rate" | "now":
                pass
        return Done(frame.id, live.run.seq)

    done = await lab.act(job)
    lab.time_changed()
    return done


def _stop(condition: str, view: View) -> Stop:
    """Raises Refusal for an invalid condition."""
    if len(condition) > MAX_CONDITION_LENGTH:
        raise Refusal("refusal.invalid_pause", condition=f"{condition[:40]}…", forms=forms())
    try:
        return stop_at(condition, view)
    except ValueError:
        raise Refusal("refusal.invalid_pause", condition=condition, forms=forms()) from None
