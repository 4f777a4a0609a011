"""Pause, play, step, speed: control of simulated time by the watchers."""

from lab.protocol.frames import MAX_RATE, MIN_RATE, Done, Time
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.texts.refusal import Refusal


async def control_time(lab: Lab, frame: Time) -> Done:
    """Applies it; all watchers get a clock frame. Raises Refusal for a rate outside 1/1000 to 100."""
    rate = frame.value
    if frame.op == "rate" and rate is None:
        raise Refusal("refusal.no_rate", min=f"{MIN_RATE:g}", max=f"{MAX_RATE:g}")
    if rate is not None and not MIN_RATE <= rate <= MAX_RATE:
        raise Refusal("refusal.invalid_rate", rate=rate, min=f"{MIN_RATE:g}", max=f"{MAX_RATE:g}")
    if lab.core == "recorded" and frame.op in ("pause", "now"):
        return Done(frame.id, lab.ring.last_seq)

    def job(live: LiveRun) -> Done:
        pacer = live.pacer
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
            case "rate" | "now":
                pass
        return Done(frame.id, live.run.seq)

    done = await lab.act(job)
    lab.time_changed()
    return done
