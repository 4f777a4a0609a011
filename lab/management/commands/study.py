"""`manage.py study FILE`: runs a study's clusters, and shows what they found."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from broker_core.texts import render
from lab.analytics.cli.making import spark, store_at
from lab.analytics.jvm import SparkError
from lab.studies.compiler import MAX_CELLS, read_study
from lab.studies.definition import Result, Study
from lab.studies.gold import publish_study
from lab.studies.results import Finished, write_whole
from lab.studies.runner import AllStopped, Progress, SparkWorkers, ThisProcess, Workers, run_study
from lab.studies.summary import Found, series_of, summarize
from lab.studies.version import code_version
from lab.texts.refusal import Refusal


class Command(BaseCommand):
    """Ctrl-C keeps finished results; the same command continues from there."""

    help = "Run a study: many simulated clusters that differ in a few settings, as tasks of Spark."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the study, a .toml or .json file")
        parser.add_argument("--seeds", type=int, help="so many seeds instead of those of the file")
        parser.add_argument("--no-spark", action="store_true", help="run the clusters one by one in this process")
        parser.add_argument("--check", action="store_true", help="only read the file, and say what it asks for")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write the result to this .json file, too")
        parser.add_argument(
            "--tables-at",
            metavar="PLACE",
            help="folder of the tables, or s3://bucket/folder; default: HIGHWATER_TABLES",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            study = _with_seeds(read_study(path), options["seeds"])
        except Refusal as error:
            raise CommandError(" ".join(render(one) for one in (error.what, error.expected, error.todo))) from None
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path} cannot be read: {error}. Expected a .toml or .json file.") from None
        sizes = " x ".join(f"{len(values)} {name}" for name, values in study.axes.items())
        self.stdout.write(f"{study.slug}: {sizes} x {len(study.seeds)} seeds, {len(study.cells)} clusters.")
        if options["check"]:
            return
        try:
            self._run(path, study, options)
        except KeyboardInterrupt:
            said = "Cancelled. What is finished is kept; the same command runs the rest."
            raise CommandError(said, returncode=130) from None
        except SparkError as error:
            raise CommandError(f"Spark did not start: {error} --no-spark does without.") from None
        except OSError as error:
            raise CommandError(
                f"Results cannot be written: {error}. What is finished is kept; the same command runs the rest."
            ) from None

    def _run(self, path: Path, study: Study, options: dict[str, Any]) -> None:
        folder = Path(settings.DATA) / "studies" / study.slug
        engine = code_version()
        try:
            with _workers(in_process=options["no_spark"]) as workers:
                results = run_study(study, engine, Finished(folder / "cells"), workers, self._say)
        except AllStopped as error:
            raise CommandError(f"{_why(error.result, study, path)} No cluster came to its end.") from None
        found = summarize(study, engine, results)
        data = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
        write_whole(folder / "result.json", data)
        if options["out"]:
            write_whole(options["out"], data)
        build = publish_study(store_at(options["tables_at"]), study, results, found).number
        for line in printed(found):
            self.stdout.write(line)
        stopped = next((one for one in results if one.state == "stopped"), None)
        if stopped is not None:
            self.stdout.write(f"The first of them: {_why(stopped, study, path)}")
        self.stdout.write(
            f"Published build {build} with gold.study_cells and gold.study_points; the whole result is in {folder}."
        )

    def _say(self, progress: Progress) -> None:
        done = progress.kept + progress.run
        every = progress.kept + progress.to_run
        stopped = f", {progress.stopped} stopped" if progress.stopped else ""
        self.stdout.write(f"{done} of {every} clusters{stopped}")


def _why(stopped: Result, study: Study, path: Path) -> str:
    """Why a cluster was stopped, and where in the grid and the file."""
    place = ", ".join(f"{name} {value}" for name, value in study.points[stopped.point].place.items())
    at = f"{path.name}, line {stopped.line}: " if stopped.line else ""
    return f"{at}{stopped.why} (with {place}, seed {stopped.seed})."


def printed(found: Found) -> Iterator[str]:
    """The comparison as lines: for each measure and series, the median along the axis with its interval."""
    for measure in found.measures:
        yield f"\n{measure} by {found.x}: median [95 % interval]"
        for name, points in series_of(found).items():
            cells = []
            for point in points:
                spread = point.measures.get(measure)
                said = "-" if spread is None else f"{spread.median:g} [{spread.low:g}, {spread.high:g}]"
                cells.append(f"{point.place[found.x]}: {said}")
            yield f"  {name + ': ' if name else ''}{'; '.join(cells)}"
    stopped = sum(point.stopped for point in found.points)
    if stopped:
        yield f"\n{stopped} of {sum(point.runs for point in found.points)} clusters were stopped and are left out."


@contextmanager
def _workers(*, in_process: bool) -> Iterator[Workers]:
    if in_process:
        yield ThisProcess()
        return
    with spark() as session:
        yield SparkWorkers(session())


def _with_seeds(study: Study, seeds: int | None) -> Study:
    """The same with its first seeds only, or with more."""
    if seeds is None:
        return study
    if seeds < 1:
        raise CommandError(f"--seeds is {seeds}. Expected a number from 1 on.")
    if seeds * len(study.points) > MAX_CELLS:
        raise CommandError(
            f"--seeds is {seeds}: the study would need {seeds * len(study.points)} clusters; at most {MAX_CELLS} are "
            "allowed."
        )
    cells = tuple(
        msgspec.structs.replace(cell, seed=seed)
        for cell in study.cells
        if cell.seed == study.seeds[0]
        for seed in range(1, seeds + 1)
    )
    return msgspec.structs.replace(study, seeds=tuple(range(1, seeds + 1)), cells=cells)
