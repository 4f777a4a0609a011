"""`manage.py analytics`: builds the tables over recordings, and reads them."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from broker_core.texts import LANGUAGES, render
from lab.analytics.build.events import STORED
from lab.analytics.cli import making, reading
from lab.analytics.cli.making import AnalyticsError
from lab.analytics.failures import explained
from lab.analytics.jvm import SparkError
from lab.analytics.store.csv_text import as_csv, csv_of
from lab.analytics.store.objects import PlaceError
from lab.analytics.store.publish import ConflictError
from lab.analytics.store.vacuum import vacuum
from lab.analytics.tables.described import described


class Command(BaseCommand):
    """Each verb ends with a sentence and an exit code; `--json` prints what machines read."""

    help = "Build tables from the recordings with Spark, and read them."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--tables-at",
            metavar="PLACE",
            help="folder of the tables, or s3://bucket/folder; default: HIGHWATER_TABLES",
        )
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

        def verb(name: str, help: str) -> argparse.ArgumentParser:
            added = verbs.add_parser(name, help=help)
            added.add_argument("--json", action="store_true", help="print JSON")
            return added

        build = verb("build", "bring the tables up to the recordings")
        build.add_argument("--runs", help="short names of runs, with commas between; default: all")
        build.add_argument("--class", dest="classes", help="short names of classes, with commas between; default: all")
        build.add_argument(
            "--tables",
            action="append",
            default=[],
            metavar="PATTERN",
            help="such as 'gold.*'; bronze.events: only reads",
        )
        build.add_argument(
            "--recordings", metavar="PLACE", help="folder of runs, or s3://bucket/folder; default: those of this lab"
        )
        build.add_argument("--full", action="store_true", help="make all tables again")
        verb("status", "what has been read, how large the tables are, what could not be read")
        tables = verb("tables", "list the tables")
        tables.add_argument("--columns", action="store_true", help="with the columns of each and their units")
        tables.add_argument("--language", choices=LANGUAGES, default=LANGUAGES[0], help="of the descriptions")
        verb("explain", "a table's columns, units, checks and sources").add_argument("table")
        show = verb("show", "print stored rows, without Spark")
        show.add_argument("table")
        show.add_argument("--runs")
        show.add_argument("--limit", type=int, default=20)
        sql = verb("sql", "ask Spark SQL, as in: select * from gold.run_summary")
        sql.add_argument("query")
        sql.add_argument("--csv", action="store_true", help="print CSV")
        sql.add_argument("--no-spark", action="store_true", help="ask DuckDB, at once, as the page of the tables does")
        export = verb("export", "write a table as .csv or .parquet")
        export.add_argument("table")
        export.add_argument("--to", required=True, metavar="FILE")
        export.add_argument("--runs")
        export.add_argument(
            "--no-people", action="store_true", help="leave out columns that lead to a person, and groups below five"
        )
        clean = verb("vacuum", "delete builds that nobody needs, and rows older than HIGHWATER_TABLE_DAYS")
        clean.add_argument("--keep", type=int, default=3)
        pin = verb("pin", "have vacuum keep a build")
        pin.add_argument("build", type=int)
        pin.add_argument("--off", action="store_true", help="let it go")
        forget = verb("forget", "take a run out of the tables, or a person for good")
        what = forget.add_mutually_exclusive_group(required=True)
        what.add_argument("--run")
        what.add_argument("--person", metavar="NAME", help="what the person signs in with")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except AnalyticsError as error:
            raise CommandError(str(error)) from None
        except SparkError as error:
            raise CommandError(f"Spark did not start: {error}") from None
        except PlaceError as error:
            raise CommandError(str(error)) from None
        except CommandError:
            raise
        except KeyboardInterrupt:
            said = "Cancelled. What was published before stays, and what was not is deleted; the same command goes on."
            raise CommandError(said, returncode=130) from None
        except Exception as error:
            # The errors of a build are reported to all users, and so is what other verbs that write may meet.
            if options["verb"] != "build" and not isinstance(error, OSError | ConflictError):
                raise
            place = options["tables_at"] or str(settings.TABLES)
            refusal = explained(error, place, Path(settings.DATA) / "spark.log")
            raise CommandError(" ".join(map(render, refusal.codes.values()))) from error

    def _build(self, options: dict[str, Any]) -> None:
        say = (lambda line: None) if options["json"] else self.stdout.write
        outcome, took_s = making.build_tables(
            _listed(options["runs"]),
            options["tables"],
            say,
            classes=_listed(options["classes"]),
            is_full=options["full"],
            recorded_at=options["recordings"],
            place=options["tables_at"],
        )
        held = [f"{one.table}: {one.rule} does not hold in {one.failed} of {one.rows} rows" for one in outcome.held]
        if options["json"]:
            self._json({"builds": outcome.published, "seconds": round(took_s, 2), "held": held})
        elif outcome.published:
            self.stdout.write(f"Published build {outcome.published[-1]} after {took_s:.1f} s.")
        else:
            self.stdout.write("The tables are up to date.")
        if held:
            raise CommandError("Some units keep what they had. " + "; ".join(held))

    def _status(self, options: dict[str, Any]) -> None:
        found = reading.status(options["tables_at"])
        if options["json"]:
            self._json(found)
            return
        for name, size in found["tables"].items():
            self.stdout.write(f"{name:<28}{size['rows']:>12,} rows {size['bytes']:>14,} bytes")
        for one in found["branches"]:
            self.stdout.write(f"{one['branch']:<28}{one['events']:>12,} events, {one['state']}")
            for lost in one["damage"]:
                what = f"events {lost['from_seq']} to {lost['to_seq']} of {lost['segment']}"
                self.stdout.write(f"  could not be read ({lost['reason']}): {what}")
        self.stdout.write(f"Build {found['build']} is the newest.")

    def _tables(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self._json(described(STORED, options["language"]))
            return
        for table in described(STORED, options["language"]):
            self.stdout.write(f"{table['name']:<28}{table['doc']}")
            if options["columns"]:
                self.stdout.write(f"  unit {table['unit']}, key {', '.join(table['key'])}")
                for column in table["columns"]:
                    unit = f" [{column['unit']}]" if column["unit"] else ""
                    personal = ", personal" if column["personal"] else ""
                    self.stdout.write(f"  {column['name']:<24}{column['type']:<16}{column['doc']}{unit}{personal}")
        self.stdout.write(f"{len(STORED)} tables.")

    def _explain(self, options: dict[str, Any]) -> None:
        for line in reading.explain(options["table"]):
            self.stdout.write(line)

    def _show(self, options: dict[str, Any]) -> None:
        table = reading.show(options["table"], _listed(options["runs"]), options["tables_at"])
        shown = reading.with_texts(table.slice(0, max(options["limit"], 0)))
        if options["json"]:
            self._json(shown.to_pylist())
            return
        self.stdout.write(as_csv(shown), ending="")
        self.stdout.write(f"{shown.num_rows} of {table.num_rows} rows.")

    def _sql(self, options: dict[str, Any]) -> None:
        ask = reading.sql_without_spark if options["no_spark"] else reading.sql
        columns, rows = ask(options["query"], options["tables_at"])
        if options["csv"]:
            self.stdout.write(csv_of(columns, rows), ending="")
            return
        if options["json"]:
            self._json([dict(zip(columns, row, strict=True)) for row in rows])
            return
        for row in (columns, *rows):
            self.stdout.write("\t".join("" if value is None else str(value) for value in row))
        self.stdout.write(f"{len(rows)} rows.")

    def _export(self, options: dict[str, Any]) -> None:
        target = Path(options["to"])
        runs = _listed(options["runs"])
        count = reading.export(
            options["table"], target, runs, options["tables_at"], has_people=not options["no_people"]
        )
        self.stdout.write(f"Wrote {count} rows to {target}.")

    def _vacuum(self, options: dict[str, Any]) -> None:
        expired = making.expire(options["tables_at"])
        done = vacuum(making.store_at(options["tables_at"]), options["keep"])
        if expired:
            days = settings.TABLE_DAYS
            self.stdout.write(f"Took {expired} branches and logs out, of which nothing was recorded for {days} days.")
        self.stdout.write(f"Deleted {done.builds} builds and {done.files} files of {done.bytes:,} bytes.")

    def _pin(self, options: dict[str, Any]) -> None:
        number = options["build"]
        try:
            making.store_at(options["tables_at"]).pin(number, is_pinned=not options["off"])
        except FileNotFoundError:
            raise CommandError(f"There is no build {number}. `manage.py analytics status` names the newest.") from None
        self.stdout.write(f"Build {number} is {'no longer ' if options['off'] else ''}pinned.")

    def _forget(self, options: dict[str, Any]) -> None:
        if options["person"] is not None:
            count = making.forget_person(options["person"], options["tables_at"])
            self.stdout.write(f"Took {count} acts out of the tables. `analytics build` makes the rest again.")
            return
        count = making.forget_run(options["run"], options["tables_at"])
        self.stdout.write(f"Took {count} branches of {options['run']} out of the tables.")

    def _json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, ensure_ascii=False, default=str))


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]
