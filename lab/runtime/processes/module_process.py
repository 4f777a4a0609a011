"""Runs a module of the lab in a process of its own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def module_process(module: str, *arguments: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of `python -m module arguments` with the lab's settings; at the end it is killed if it still runs.
    `options`: of `create_subprocess_exec`.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "lab.settings"}, **options,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
