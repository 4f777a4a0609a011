"""The story as the page gets it: a stretch of events with the view before them, and the pace at which it is shown."""

import json
from typing import Any

import msgspec

from broker_core.events import Envelope
from broker_core.events.control import LeaderElected
from broker_core.events.rpc import RpcDropped, RpcSent
from broker_core.events.world import BrokerStarted, BrokerStopped
from broker_core.run import Made
from broker_core.view.fold import empty_view
from broker_core.view.patch import apply
from devtools.hero.story import LESSON, PARTITION, Story
from lab.exercises.loader import exercises

LEAD_US = 3_000
"""How long before the first caption the recording begins."""
FLIGHT_MS = 440
"""Wall time between two visible events while a message is in flight."""
IDLE_MS = 300
"""The longest stretch without a visible event."""
DWELL_MS = 2_300
"""How long a caption's instant stays."""


def recording() -> dict[str, Any]:
    """The content of the file: config, commands and captions; `events` with patches, the `state` before them, and
    `pace`: pairs of wall milliseconds and simulated microseconds, in order. Raises TimeoutError, see `Story.play`.
    """
    story = Story()
    story.play()
    made = story.run.take()
    begin_us = story.captions[0].at_us - LEAD_US
    before = [one for one in made if one[0][1] < begin_us]
    shown = made[len(before) :]
    state = empty_view()
    for _, patch, _ in before:
        apply(state, patch)
    return {
        "lesson": LESSON,
        "partition": PARTITION,
        "era": exercises()[LESSON].era,
        "config": msgspec.to_builtins(story.run.config),
        "commands": [list(command) for command in story.commands],
        "captions": [list(caption) for caption in story.captions],
        "pace": _pace(shown, begin_us, story),
        "first_seq": shown[0][0][0],
        "at_us": begin_us,
        "state": msgspec.to_builtins(state),
        "events": [_wire(one) for one in shown],
    }


def encoded() -> str:
    """The file's text: one line per part, so that a change can be read."""
    parts = [f'"{name}":{_json(value)}' for name, value in recording().items() if name != "events"]
    events = ",\n".join(_json(event) for event in recording()["events"])
    return "{" + ",\n".join([*parts, f'"events":[\n{events}\n]']) + "}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _wire(made: Made) -> list[Any]:
    (seq, at_us, node, cause_seq, event), patch, _ = made
    return [seq, at_us, node, cause_seq, msgspec.to_builtins(event), patch]


def _pace(shown: list[Made], begin_us: int, story: Story) -> list[list[int]]:
    """Visible events are a fixed time apart, events that cannot be seen take little, and each caption can be read."""
    captions = {caption.at_us for caption in story.captions}
    dropped = {event.rpc for (*_, event), _, _ in shown if isinstance(event, RpcDropped)}
    instants = sorted({envelope[1] for envelope, _, _ in shown if _is_visible(envelope, dropped)} | captions)
    wall_ms, before_us = 0, begin_us
    pace = [[0, begin_us]]
    for at_us in [*instants, story.run.now_us]:
        gap_us = at_us - before_us
        if gap_us > 0:
            wall_ms += min(FLIGHT_MS if gap_us < 20_000 else IDLE_MS, max(120, gap_us // 2))
            pace.append([wall_ms, at_us])
        if at_us in captions:
            wall_ms += DWELL_MS
            pace.append([wall_ms, at_us])
        before_us = at_us
    return pace


def _is_visible(envelope: Envelope, dropped: set[str]) -> bool:
    """Whether the picture changes by it. Repeated requests to a broker that is down do not count."""
    event = envelope[4]
    if isinstance(event, BrokerStopped | BrokerStarted):
        return True
    if isinstance(event, LeaderElected):
        return event.partition == PARTITION
    if isinstance(event, RpcSent):
        return event.api in ("Fetch", "Produce") and event.rpc not in dropped
    return getattr(event, "replica", "").startswith(f"{PARTITION}@")
