"""Completions for a line of the console."""

from lab.protocol.frames import Complete, Completions
from lab.runtime.lab import Lab


async def complete_line(lab: Lab, frame: Complete) -> Completions:
    """Returns nothing while the engine is stopped: completion does not start it."""
    if lab.core == "recorded":
        return Completions(frame.id, frame.cursor, [])
    start, items = await lab.act(lambda live: live.run.complete(frame.line, frame.cursor))
    return Completions(frame.id, start, items)
