"""Exported runs with made-up inputs, for imports."""

import io
from pathlib import Path

from msgspec.structs import replace

from broker_core.run import Input
from lab.archives.manifest import ArchivedBranch
from lab.archives.pack import RunFacts, pack_run
from tests.support.recorded_runs import begin

ENDLESS_STEPS = 1_000_000
"""More than the shortened limit allows; few enough for a test to end without a limit."""
ENDLESS = Input(ENDLESS_STEPS, 10**6, 10**9, "command", "test", "wait 1s")


def file_with(folder: Path, made_up: Input | None) -> bytes:
    """An exported run with an added input, at the end if the input has no step."""
    recording, live = begin(folder)
    if made_up is not None:
        if not made_up.step:
            end = {"step": live.run._kernel.steps, "seq": live.run.seq, "at_us": live.run.now_us}
            made_up = replace(made_up, **end)
        recording.append_inputs([(made_up.at_us, made_up.encode())])
    live.close()
    target = io.BytesIO()
    facts = RunFacts("Made up", "3.9", 5, 3)
    pack_run(facts, [(recording, ArchivedBranch("main", 0))], target)
    recording.close()
    return target.getvalue()
