"""A recording, or an excerpt of it, for a page that plays it by itself."""

import asyncio
import time
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async

from lab import selectors
from lab.archives.excerpt import Excerpt
from lab.models import Branch
from lab.recordings.timeline import fold_version
from lab.runtime.host import Host


class PageContent(NamedTuple):
    """The contents of the page. `about`: its description; `bookmarks`: marks in addition to those of events."""

    excerpt: Excerpt
    about: dict[str, Any]
    bookmarks: list[dict[str, Any]]


async def excerpt_of(host: Host, branch: Branch, from_us: int | None, to_us: int | None) -> PageContent:
    """The branch from one instant to another as it is now; None: from its beginning, to its newest event. Raises
    Refusal for an excerpt without events.
    """
    _, bookmarks = await sync_to_async(selectors.branches_and_bookmarks)(branch)
    run = branch.run
    lab = await host.lab(run.slug, branch.name)
    excerpt = await asyncio.to_thread(Excerpt, lab.recording, from_us, to_us)
    about = {
        "run": run.slug,
        "name": run.name,
        "branch": branch.name,
        "era": run.era,
        "brokers": run.brokers,
        "seed": run.seed,
        "saved_ms": int(time.time() * 1000),
        "events": excerpt.last_seq - excerpt.first_seq + 1,
        "branch_events": lab.recording.last_seq,
        "from_us": excerpt.from_us,
        "to_us": excerpt.to_us,
        "start_wall_ms": lab.recording.config["start_wall_ms"],
        "core": fold_version(),
    }
    named = [
        {"seq": one.seq, "at_us": one.at_us, "kind": "Bookmark", "values": {"name": one.name}} for one in bookmarks
    ]
    return PageContent(excerpt, about, named)
