"""Runs one cluster of a study. Uses the core but not Django, because it also runs in Spark's Python processes."""

import hashlib
import time
from collections.abc import Sequence

import msgspec

from broker_core.events import Envelope
from broker_core.events.console import CommandCompleted, CommandPrinted, shown
from broker_core.texts import Rejection, code_of
from lab.runtime.headless.booted import RunConfig
from lab.studies.definition import Cell, Line, Result
from lab.studies.measures import Watch
from lab.trials.trial import Ended, Limits, Trial

MAX_WHY = 500


def key_of(cell: Cell, engine: str) -> str:
    """The key of a result: cluster, workload, seed, and version of the code (`lab.studies.version`).

    Line numbers in the file are not part of it.
    """
    parts = (
        engine, cell.seed, cell.era, cell.brokers, sorted(cell.settings.items()), [line.text for line in cell.lines],
        cell.measured_from, cell.max_events, cell.max_simulated_s,
    )  # fmt: skip
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:24]


def run_cell(cell: Cell, engine: str) -> Result:
    """Simulates the cluster, executes the lines and measures. Errors in the study's file do not raise."""
    began_s = time.process_time()
    heard = _Heard()
    trial: Trial | None = None
    watch: Watch | None = None
    line = Line(0, "")
    why = ""
    try:
        config = RunConfig(
            name="study", seed=cell.seed, era=cell.era, brokers=tuple(range(1, cell.brokers + 1)),
            broker_config=dict(cell.settings),
        )  # fmt: skip
        trial = Trial(config, [heard.see], Limits(cell.max_events, cell.max_simulated_s * 1_000_000))
        for place, line in enumerate(cell.lines):
            if place == cell.measured_from:
                watch = _begin(trial)
            trial.type(line.text)
            if heard.failed:
                why = heard.said or "exit code is not 0"
                break
    except Ended as error:
        why = error.why.code
    except Rejection as error:
        line, why = Line(0, ""), code_of(error.what)
    except ValueError as error:
        line, why = Line(0, ""), str(error)[:MAX_WHY]
    return Result(
        key=key_of(cell, engine),
        point=cell.point,
        seed=cell.seed,
        state="stopped" if why else "finished",
        digest=trial.run.digest().hex() if trial is not None else "",
        events=trial.run.seq if trial is not None else 0,
        simulated_us=trial.now_us if trial is not None else 0,
        cpu_us=round((time.process_time() - began_s) * 1e6),
        values={} if why or watch is None or trial is None else watch.values(trial.now_us),
        why=why,
        line=line.number if why else 0,
    )


def _begin(trial: Trial) -> Watch:
    # `view` lets the watchers see the earlier events first.
    watch = Watch(trial.now_us, trial.view)
    trial.watchers.append(watch.see)
    return watch


class _Heard:
    """Whether a line has failed, and what it printed."""

    def __init__(self) -> None:
        self.failed = False
        self.said = ""

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        event = envelope[4]
        if isinstance(event, CommandPrinted) and not self.failed and event.lines:
            self.said = _reason([shown(line).removeprefix("! ").removeprefix("* ").strip() for line in event.lines])
        elif isinstance(event, CommandCompleted) and event.exit_code != 0:
            self.failed = True


def _reason(lines: Sequence[str]) -> str:
    """What went wrong: tools of Kafka begin with it, and end with the cause and the stack trace."""
    said = [line for line in lines if line]
    cause = next((line for line in said[1:] if line.startswith("Caused by: ")), "")
    return " ".join([*said[:1], *([cause] if cause else [])])[:MAX_WHY]
