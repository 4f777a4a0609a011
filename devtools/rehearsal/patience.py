"""How long a rehearsal waits for something, and what it says when that takes too long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from devtools.rehearsal.visitor import Refused

PATIENCE_S = 120.0


@asynccontextmanager
async def patience(awaited: str, seconds: float = PATIENCE_S) -> AsyncIterator[None]:
    """Raises Refused if the block takes longer. `awaited` completes "timed out waiting for"."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise Refused(f"A rehearsal timed out waiting for {awaited} ({seconds:.0f} s).") from None
        raise
