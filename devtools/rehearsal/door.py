"""How a rehearsed class begins, and how people come in: by its link, with a name."""

import re
from typing import NamedTuple

from devtools.rehearsal.visitor import Refused, Visitor

_LINK = re.compile(r"/join/([A-Za-z0-9_-]{20,})/")


class StartedClass(NamedTuple):
    """A class whose door is open: its slug, and the key of its link."""

    slug: str
    key: str


async def start_class(instructor: Visitor, title: str, chapter: str = "") -> StartedClass:
    """Starts a class as an instructor who has signed in. Raises Refused."""
    home = await instructor.post("/classes/", "/classes/new", title=title, chapter=chapter)
    found = _LINK.search(home.text)
    if found is None:
        raise Refused(f"{home.url} shows no link.")
    return StartedClass(home.url.rstrip("/").rpartition("/")[2], found[1])


async def join(visitor: Visitor, given: StartedClass, name: str) -> None:
    """Joins as a guest. Raises Refused."""
    page = f"/join/{given.key}/"
    await visitor.post(page, page, name=name, consent="number")
