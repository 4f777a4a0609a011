"""A line of the shell grammar, typed or made of a click, becomes an input of the run."""

from broker_core.refusals import ShellError
from lab.protocol.frames import Do, Done
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.texts.refusal import Refusal

MAX_LINE_LENGTH = 8_000


async def submit_command(lab: Lab, source: str, frame: Do) -> Done:
    """Accepts the line of `source` (selectors.source_of); what it prints arrives as events. Raises Refusal for one that
    cannot be run.
    """
    seq, command = await submit_line(lab, source, frame.line)
    return Done(frame.id, seq, command)


async def submit_line(lab: Lab, source: str, line: str) -> tuple[int, int]:
    """(last event, number of the command). Raises Refusal for a line that cannot be run, and for any line while a class
    has stopped the run, because every command adds an event, also one from staff.
    """
    line = line.strip()
    if not line:
        raise Refusal("shell.line_empty")
    if len(line) > MAX_LINE_LENGTH:
        raise Refusal("refusal.line_too_long", length=len(line), max=MAX_LINE_LENGTH)
    # Checked before waking the engine, and again in its thread, because the class may stop the run in between.
    lab.pacer.ensure_not_stopped()

    def job(live: LiveRun) -> tuple[int, int]:
        live.pacer.ensure_not_stopped()
        command = live.run.submit(line, source)
        return live.run.seq, command

    try:
        return await lab.act(job)
    except ShellError as error:
        raise Refusal.of(error.what, error.expected, error.todo) from None
