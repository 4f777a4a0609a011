"""Captions from a speech recogniser that the operator installed on this machine.

The setting `HIGHWATER_RECOGNISER` is its command; nothing that a class or an archive contains can name one. It is run
without a shell for each piece of the sound, with two arguments more: the audio file and the language (`en`, `zh-CN`).
It prints WebVTT, whose times begin with the piece. It has a folder of its own that is deleted, no input, few variables
of the environment, and limits of time, files and output; with it ends all that it has started.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from broker_core.texts import Value
from lab.classroom.captions import confined
from lab.classroom.captions.webvtt import Cue, parse, whole_ms
from lab.texts.refusal import Refusal

MAX_OUTPUT_BYTES = 256 * 1024
"""The most output for one piece, which lasts about a minute."""
MAX_FILE_BYTES = 256 * 1024 * 1024
SECONDS_EACH_SECOND = 10
"""Seconds that it may spend on a second of sound."""
MIN_LIMIT_S = 60.0
"""The minimum for a piece, because models are loaded first."""
MAX_COMPLAINT = 300
"""Maximum number of characters of its standard error that are reported."""
_READ_BYTES = 64 * 1024
_END_S = 5.0
"""How long the pipes of a killed process may stay open."""
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


async def recognise(command: Sequence[str], audio: Path, language: str, length_us: int) -> list[Cue]:
    """The captions of the speech in an audio file. Raises Refusal: the command cannot be started, fails, takes too
    long, prints too much, or prints no WebVTT of this file.
    """
    name, limit_s = Path(command[0]).name, max(MIN_LIMIT_S, SECONDS_EACH_SECOND * length_us / 1_000_000)
    limits = (str(round(limit_s) * (os.cpu_count() or 1)), str(MAX_FILE_BYTES))
    with tempfile.TemporaryDirectory(prefix="highwater-recogniser-", ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", confined.__file__, *limits, *command, str(audio), language,
            stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=folder, env=_environment(folder), start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(limit_s):
                printed, complaint = await _read(process, name)
        except TimeoutError:
            raise _failure("refusal.recogniser_slow", name, seconds=round(limit_s)) from None
        finally:
            await _kill(process)
    said = " ".join(complaint.decode(errors="replace").split())[-MAX_COMPLAINT:] or "-"
    if process.returncode == confined.CANNOT_START:
        raise _failure("refusal.recogniser_missing", name, problem=said)
    if process.returncode:
        raise _failure("refusal.recogniser_failed", name, ended=process.returncode, problem=said)
    try:
        cues = parse(printed, length_us)
    except Refusal as refusal:
        raise _failure("refusal.recogniser_output", name, problem=refusal.what) from None
    return [msgspec.structs.replace(cue, source="recognised") for cue in cues]


def joined(pieces: Sequence[tuple[int, int, Sequence[Cue]]]) -> list[Cue]:
    """Joins the captions of a class's pieces, each with the class time from and to which it was recorded. Where two
    pieces overlap, captions are taken from the first up to the middle of the overlap.
    """
    ends = [(to_us + begins_us) // 2 for (_, to_us, _), (begins_us, _, _) in pairwise(pieces)]
    found: list[Cue] = []
    for number, (at_us, to_us, cues) in enumerate(pieces):
        first_us = max(at_us, ends[number - 1]) if number else at_us
        last_us = min(to_us, ends[number]) if number < len(ends) else to_us
        for cue in cues:
            from_us = whole_ms(at_us + cue.from_us)
            if first_us <= from_us < last_us:
                found.append(msgspec.structs.replace(cue, from_us=from_us, to_us=whole_ms(at_us + cue.to_us)))
    for number, (cue, after) in enumerate(pairwise(found)):
        found[number] = msgspec.structs.replace(cue, to_us=min(cue.to_us, after.from_us))
    return [cue for cue in found if cue.to_us > cue.from_us]


def _failure(why: str, command: str, **values: Value) -> Refusal:
    return Refusal(why, 502, field="", command=command, **values)


def _environment(folder: str) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"}


async def _read(process: Process, name: str) -> tuple[bytes, bytes]:
    """Its standard output, and the end of its standard error."""
    assert process.stdout is not None
    assert process.stderr is not None
    complaining = asyncio.create_task(_last(process.stderr))
    try:
        printed = bytearray()
        while part := await process.stdout.read(_READ_BYTES):
            printed += part
            if len(printed) > MAX_OUTPUT_BYTES:
                raise _failure("refusal.recogniser_large", name, max=MAX_OUTPUT_BYTES // 1024)
        await process.wait()
        return bytes(printed), await complaining
    finally:
        complaining.cancel()
        await asyncio.wait([complaining])


async def _last(stream: asyncio.StreamReader) -> bytes:
    kept = b""
    while part := await stream.read(_READ_BYTES):
        kept = (kept + part)[-4 * MAX_COMPLAINT :]
    return kept


async def _kill(process: Process) -> None:
    """Kills the process and everything in its session, and waits for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # `wait` waits for the end of both pipes too. A pipe that was paused, since more was printed than read, has to be
    # read to see it; one that is held open by a process of another session has none.
    ending: list[asyncio.Task[Any]] = [asyncio.create_task(process.wait())]
    ending += [asyncio.create_task(_drain(stream)) for stream in (process.stdout, process.stderr)]
    _, left = await asyncio.wait(ending, timeout=_END_S)
    for task in left:
        task.cancel()


async def _drain(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(_READ_BYTES):
        pass
