"""Compares the files of a replayed golden case with those of a real broker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from broker_core.log.files.directory_files import CLEAN_SHUTDOWN_FILE, META_PROPERTIES, parse_properties
from broker_core.records.record_batch import BatchHeader, Record, iterate, iterate_batches, iterate_records
from broker_core.sim.disk import Disk
from devtools.oracle.golden_broker import DIRECTORY, Mismatch

_OFFSET_CHECKPOINT = "-offset-checkpoint"
_SIZED = ("log", "index", "timeindex")
"""Files whose bytes depend on the sizes of batches."""


def compare_root(disk: Disk, root: Path, case: Mapping[str, Any]) -> None:
    """Compares everything below `root` (a case, or one of its earlier instants). Raises Mismatch at a difference."""
    for directory in sorted((root / "log").iterdir()):
        _compare_partition(disk, directory, case)
    for file in sorted((root / "checkpoints").iterdir()):
        _compare_broker_file(disk, file, case)
    if not (root / "checkpoints" / CLEAN_SHUTDOWN_FILE).exists() and disk.exists(f"{DIRECTORY}/{CLEAN_SHUTDOWN_FILE}"):
        raise Mismatch(f"{CLEAN_SHUTDOWN_FILE} is there, the real broker left none")


def _compare_partition(disk: Disk, expected: Path, case: Mapping[str, Any]) -> None:
    exact: list[str] = case["byte_exact"]
    directory = f"{DIRECTORY}/{expected.name}"
    found_names = {name for name in disk.list(directory) if _kind(name) in exact}
    expected_names = {path.name for path in expected.iterdir() if _kind(path.name) in exact}
    for name in sorted(found_names ^ expected_names):
        state = "is missing" if name in expected_names else "is there, the real broker has none"
        raise Mismatch(f"{expected.name}/{name} {state}")
    by_batches = _is_recompressed(expected, case)
    for name in sorted(expected_names):
        found, wanted = disk.read_file(f"{directory}/{name}"), (expected / name).read_bytes()
        if not (by_batches and _kind(name) in _SIZED):
            _compare_bytes(f"{expected.name}/{name}", found, wanted)
        elif found != wanted and _kind(name) == "log":
            _compare_batches(f"{expected.name}/{name}", found, wanted)
    _compare_metadata(disk, directory, expected)
    if "log" not in exact:
        _compare_records(disk, directory, expected)


def _is_recompressed(expected: Path, case: Mapping[str, Any]) -> bool:
    """Whether the cleaner recompressed batches: another release of the codec may produce other bytes."""
    if not any("cleaned" in step for step in case["steps"]):
        return False
    logs = (path.read_bytes() for path in sorted(expected.glob("*.log")))
    return any(header.compression for data in logs for _, header in iterate_batches(data))


def _compare_batches(name: str, found: bytes, expected: bytes) -> None:
    """Compares all but what depends on the compressor: lengths, CRCs, the compressed bytes themselves."""
    mine = [(_comparable(header), list(iterate_records(found, header, at))) for at, header in iterate_batches(found)]
    theirs = [
        (_comparable(header), list(iterate_records(expected, header, at))) for at, header in iterate_batches(expected)
    ]
    for here, there in zip(mine, theirs, strict=False):
        if here != there:
            raise Mismatch(f"{name}: the batch is {here}, expected {there}")
    if len(mine) != len(theirs):
        raise Mismatch(f"{name} has {len(mine)} batches, expected {len(theirs)}")


def _comparable(header: BatchHeader) -> BatchHeader:
    return structs.replace(header, length=0, crc=0)


def _kind(name: str) -> str:
    """What `byte_exact` calls a file: its suffix, or its name when it has none."""
    return name if name.startswith("leader-epoch") else name.partition(".")[2]


def _compare_bytes(name: str, found: bytes, expected: bytes) -> None:
    if found == expected:
        return
    shorter = min(len(found), len(expected))
    at = next((i for i in range(shorter) if found[i] != expected[i]), shorter)
    here, there = found[at : at + 8].hex() or "its end", expected[at : at + 8].hex() or "its end"
    raise Mismatch(
        f"{name} differs at byte {at} of {len(expected)}: {here}, expected {there} (it has {len(found)} bytes)"
    )


def _compare_metadata(disk: Disk, directory: str, expected: Path) -> None:
    name = "partition.metadata"
    if (expected / name).exists():
        if not disk.exists(f"{directory}/{name}"):
            raise Mismatch(f"{expected.name}/{name} is missing")
        _compare_bytes(f"{expected.name}/{name}", disk.read_file(f"{directory}/{name}"), (expected / name).read_bytes())


def _compare_records(disk: Disk, directory: str, expected: Path) -> None:
    """Compressed bytes may differ; the records may not."""
    wanted = [record for path in sorted(expected.glob("*.log")) for record in iterate(path.read_bytes())]
    names = [name for name in disk.list(directory) if name.endswith(".log")]
    found = [record for name in names for record in iterate(disk.read_file(f"{directory}/{name}"))]
    for mine, theirs in zip(found, wanted, strict=False):
        if mine != theirs:
            raise Mismatch(f"{expected.name}: the record is {_short(mine)}, expected {_short(theirs)}")
    if len(found) != len(wanted):
        raise Mismatch(f"{expected.name} has {len(found)} records, expected {len(wanted)}")


def _compare_broker_file(disk: Disk, expected: Path, case: Mapping[str, Any]) -> None:
    path = f"{DIRECTORY}/{expected.name}"
    if not disk.exists(path):
        raise Mismatch(f"{expected.name} is missing")
    found, wanted = disk.read_file(path), expected.read_bytes()
    if expected.name.endswith(_OFFSET_CHECKPOINT):
        mine, theirs = _checkpoint_lines(found, case), _checkpoint_lines(wanted, case)
        if mine != theirs:
            extra, missing = sorted(mine - theirs), sorted(theirs - mine)
            raise Mismatch(f"{expected.name} has the lines {_lines(extra)}, expected {_lines(missing)}")
    elif expected.name == META_PROPERTIES:
        mine_properties, their_properties = parse_properties(found), parse_properties(wanted)
        if mine_properties.keys() != their_properties.keys():
            raise Mismatch(
                f"{expected.name} has the keys {sorted(mine_properties)}, expected {sorted(their_properties)}"
            )
        if mine_properties["version"] != their_properties["version"]:
            raise Mismatch(
                f"{expected.name} has version {mine_properties['version']}, expected {their_properties['version']}"
            )
    else:
        _compare_bytes(expected.name, found, wanted)


def _checkpoint_lines(content: bytes, case: Mapping[str, Any]) -> set[bytes]:
    """The lines as a set, without those of partitions that the case does not include; the count is adjusted.

    A checkpoint that was only created equals one without entries: when it is first written depends on the start of the
    broker, which no step records.
    """
    lines = content.splitlines() or [b"0", b"0"]
    foreign = [line for line in lines[2:] if "-".join(line.decode().split()[:2]) not in case["topic_ids"]]
    if foreign:
        lines[1] = b"%d" % (len(lines) - 2 - len(foreign))
    return set(lines).difference(foreign)


def _lines(lines: list[bytes]) -> str:
    return ", ".join(repr(line.decode("utf-8", "replace")) for line in lines[:3]) or "none"


def _short(record: Record) -> str:
    text = repr(record)
    return text if len(text) <= 160 else text[:160] + "..."
