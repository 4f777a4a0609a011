"""Files that exist until they have been sent."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO


async def written(write: Callable[[IO[bytes]], object]) -> IO[bytes]:
    """An unnamed temporary file with what `write` writes, at its start; the caller closes it. Raises what `write`
    raises.
    """
    return await asyncio.to_thread(_written, write)


def _written(write: Callable[[IO[bytes]], object]) -> IO[bytes]:
    with ExitStack() as stack:
        target = stack.enter_context(TemporaryFile())
        write(target)
        target.seek(0)
        stack.pop_all()
        return target
