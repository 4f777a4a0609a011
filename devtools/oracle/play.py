"""Plays scripts of the shell grammar without a page, and prints their transcripts.

The outputs in a `.scenario` file are ignored; any other file has one command per line, with `< input` below it. It runs
the same code as the page's console.
"""

import argparse
import sys
from pathlib import Path

from msgspec import structs

from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.grammar.transcript import TranscriptError, parse_transcript, ready_line, run_command, shown_raw
from devtools.oracle.scenarios import config_of
from lab.runtime.headless.rehearsal import pageless_run, stores
from lab.runtime.zookeeper.server import ZookeeperError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `manage.py play`."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a .scenario or a .lab file")
    parser.add_argument("--store", choices=["memory", "zookeeper"], default="memory", help="where the znodes are kept")
    parser.add_argument("--seed", type=int, default=0, help="of the clusters")
    parser.add_argument("--journal", type=Path, metavar="OUT", help="write the events here, one a line")


def play_files(files: list[Path], store: str, seed: int, journal: Path | None) -> int:
    """Plays each file on a new cluster. Returns the exit code: 2 for a file or a line that cannot be played."""
    events: list[bytes] = []
    place = ""
    is_writable = False
    try:
        if journal is not None:
            journal.open("ab").close()
            is_writable = True
        with stores(store) as open_store:
            for path in files:
                place = str(path)
                is_script = path.suffix != ".scenario"
                transcript = parse_transcript(path.read_text(encoding="utf-8"), is_script=is_script)
                config = config_of(transcript, path.stem, seed)
                if is_script:
                    # Kafka's own defaults, as when the page starts a run.
                    config = structs.replace(config, broker_config=transcript.config)
                run = pageless_run(config, open_store())
                kept: list[bytes] = events if journal is not None else []
                run_command(run, ready_line(transcript.brokers), keep=kept)
                for step in transcript.steps:
                    place = f"{path}, line {step.number}"
                    printed, exit_code = run_command(run, step.line, step.stdin, keep=kept)
                    print("\n".join(shown_raw(step, printed, exit_code)), flush=True)
    except ShellError as error:
        print(f"{place}: {error.what}\n{error.expected}\n{error.todo}", file=sys.stderr)
        return 2
    except OSError as error:
        where = error.filename or place
        print(f"{where}: {error.strerror}. Expected a readable file. Name another one.", file=sys.stderr)
        return 2
    except UnicodeDecodeError:
        print(f"{place} is not valid UTF-8. Expected a .scenario or .lab file. Name one.", file=sys.stderr)
        return 2
    except (TranscriptError, ZookeeperError) as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        if journal is not None and is_writable:
            journal.write_bytes(b"".join(event + b"\n" for event in events))
    return 0
