"""Compares the output of our dump tool with that of Kafka's for the same files.

    python -m devtools.oracle.golden_dump --dir DIR [--cases 01-plain,02]

The folder `dump/` of a golden case has the output of DumpLogSegments for each of its points in time. One line a case is
printed; the exit status is 1 if any text differs, 2 if there was nothing to compare.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from broker_core.log.dump import DumpOptions, Files, LocalFiles, Thrown, dump
from broker_core.log.dump.files import LocalFile, ReadableFile
from broker_core.partitions import topic_of
from broker_core.topics import OFFSETS_TOPIC, TRANSACTION_TOPIC
from devtools.oracle.golden_broker import Mismatch

_DECODED = ".decoded"
_DECODERS = {OFFSETS_TOPIC: "offsets", TRANSACTION_TOPIC: "transaction-log"}


class _LocalFolder(LocalFiles):
    """Files below a folder, by their relative paths, as in the recorded output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, path: str) -> ReadableFile:
        return LocalFile(str(self._folder / path))

    def absolute(self, path: str) -> str:
        return path


def compare_dumps(folder: Path) -> int:
    """Dumps every file of a case that has recorded output; returns the number of files. Raises Mismatch at a
    difference.
    """
    texts = sorted(folder.glob("**/dump/*/*.txt"))
    for text in texts:
        root = text.parents[2]
        found = _dump(_LocalFolder(root / "log"), *_dumped_file(text))
        _compare(str(text.relative_to(folder)), found, _lines(text))
    return len(texts)


def _dumped_file(text: Path) -> tuple[str, str]:
    """Which file an output is of, and the decoder that was used."""
    partition, name = text.parent.name, text.stem
    if not name.endswith(_DECODED):
        return f"{partition}/{name}", ""
    return f"{partition}/{name.removesuffix(_DECODED)}", _DECODERS[topic_of(partition)]


def _dump(files: Files, path: str, decoder: str) -> list[str]:
    options = DumpOptions(print_data_log=True, decoder=decoder)
    parts: list[str] = []
    try:
        # Standard error is not part of the recorded output.
        for part in dump([path], options, files, lambda _: None):
            parts.append(part)
    except Thrown as thrown:
        parts.append(f"EXCEPTION {thrown.java_class}: {'null' if thrown.message is None else thrown.message}\n")
    return "".join(parts).split("\n")


def _lines(text: Path) -> list[str]:
    return text.read_bytes().decode().split("\n")


def _compare(name: str, found: list[str], wanted: list[str]) -> None:
    for number, (mine, theirs) in enumerate(zip(found, wanted, strict=False), 1):
        if mine != theirs:
            raise Mismatch(f"{name}, line {number}: {_short(mine)}, expected {_short(theirs)}")
    if len(found) != len(wanted):
        raise Mismatch(f"{name} has {len(found)} lines, expected {len(wanted)}")


def _short(line: str) -> str:
    return repr(line if len(line) <= 240 else line[:240] + "...")


def _judge(folder: Path, prefixes: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """One line per case, with its result."""
    for case in sorted(path for path in folder.iterdir() if path.is_dir()):
        if prefixes and not case.name.startswith(tuple(prefixes)):
            continue
        try:
            count = compare_dumps(case)
        except Mismatch as difference:
            yield f"FAIL {case.name}: {difference}", False
        except (OSError, UnicodeDecodeError) as error:
            yield f"FAIL {case.name}: it cannot be read: {error}", False
        else:
            if count:
                yield f"ok {case.name}: {count} dumps", True


def run(folder: Path, prefixes: Sequence[str]) -> int:
    """Compares and prints; returns the exit status."""
    if not folder.is_dir():
        print(f"{folder} is not a folder. Expected a folder with golden cases.", file=sys.stderr)
        return 2
    fine = []
    for line, is_fine in _judge(folder, prefixes):
        print(line, flush=True)
        fine.append(is_fine)
    if not fine:
        print(f"There is no dump in {folder}. Expected texts such as CASE/dump/orders-0/*.log.txt", file=sys.stderr)
        return 2
    return 0 if all(fine) else 1


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="golden_dump", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dir", type=Path, required=True, help="the folder that holds the cases")
    parser.add_argument("--cases", default="", help="prefixes of names, with commas between; default: all")
    arguments = parser.parse_args(argv)
    return run(arguments.dir, [prefix.strip() for prefix in arguments.cases.split(",") if prefix.strip()])


if __name__ == "__main__":
    sys.exit(main())
