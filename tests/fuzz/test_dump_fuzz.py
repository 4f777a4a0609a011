"""Any bytes in any file of a log: the dump tool and the log's loaders either show the contents or report an error.

Files of real brokers are changed at random; half of the logs get valid CRCs again, so that the code after the check is
met, too. No change may lead to another exception than those that are meant for it, to a hang, or to output without end.
"""

import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import google_crc32c
import pytest

from broker_core.errors import KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.dump import DUMPED_SUFFIXES, DiskFiles, DumpOptions, Thrown, dump
from broker_core.records.record_batch import iterate
from broker_core.sim.disk import SimulatedDisk
from tests.support.paths import DATA

DIRECTORY = "broker-1/orders-0"
CONFIG = LogConfig()
MUTATIONS = 100_000
ROUNDS_A_TEST = 10
MAX_BYTES = 20_000
MAX_OUTPUT = 2_000_000
STUCK_AFTER_READS = 1_000
JAVA_CLASS = re.compile(r"(java|joptsimple|org\.(apache\.kafka|xerial))\.[\w.]+")
SENTENCE = re.compile(rf"{DIRECTORY}/[\w.-]+(, byte \d+)?: .+\.", re.DOTALL)
TELLING_BYTES = (0, 1, 2, 3, 4, 5, 8, 0x10, 0x20, 0x40, 0x7F, 0x80, 0xFE, 0xFF)
DECODERS = ("", "", "", "offsets", "transaction-log")


class Seed(NamedTuple):
    """The files of a partition of a real broker."""

    name: str
    files: dict[str, bytes]


def seeds() -> list[Seed]:
    found = []
    for folder in sorted(DATA.glob("*/*/log/*")):
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        if sum(map(len, files.values())) <= MAX_BYTES:
            found.append(Seed(folder.name, files))
    return found


SEEDS = seeds()


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A few changes: bits, bytes and significant numbers, and pieces that are lost, duplicated or inserted."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(8)
        if change == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif change == 1 and at < len(data):
            data[at] = rng.choice(TELLING_BYTES)
        elif change == 2:
            del data[at:]
        elif change == 3:
            del data[at : at + rng.choice((1, 2, 4, 12, 17, 61))]
        elif change == 4:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 4, 20, 70)))
        elif change == 5:
            data[at:at] = data[at : at + rng.randrange(200)]
        elif change == 6:
            size = rng.choice((2, 4, 8))
            number = rng.choice(
                (0, -1, 1, (1 << 8 * size - 1) - 1, -(1 << 8 * size - 1), rng.getrandbits(8 * size - 1))
            )
            data[at : at + size] = number.to_bytes(size, "big", signed=True)
        else:
            # The header of a batch decides how the rest is read.
            at = min(rng.randrange(64), len(data))
            data[at : at + 1] = bytes((rng.choice(TELLING_BYTES),))
    return bytes(data)


def with_sound_crcs(content: bytes) -> bytes:
    data = bytearray(content)
    position = 0
    while position + 61 <= len(data):
        size = struct.unpack_from(">i", data, position + 8)[0] + 12
        if size < 61 or position + size > len(data):
            break
        if data[position + 16] == 2:
            crc = google_crc32c.value(bytes(data[position + 21 : position + size]))
            struct.pack_into(">I", data, position + 17, crc)
        position += size
    return bytes(data)


def damaged(rng: random.Random) -> tuple[SimulatedDisk, str]:
    """A partition with one file changed, and that file's name."""
    files = dict(rng.choice(SEEDS).files)
    name = rng.choice(list(files))
    content = mutated(files[name], rng)
    files[name] = with_sound_crcs(content) if name.endswith(".log") and rng.random() < 0.5 else content
    disk = SimulatedDisk()
    for each, data in files.items():
        disk.replace_file(f"{DIRECTORY}/{each}", data)
    return disk, name


def check_dump(disk: SimulatedDisk, name: str, rng: random.Random) -> None:
    stem = name.partition(".")[0]
    paths = [f"{DIRECTORY}/{name}"]
    if name.endswith((".log", ".index")):
        paths = [path for path in (f"{DIRECTORY}/{stem}{suffix}" for suffix in DUMPED_SUFFIXES) if disk.exists(path)]
    path = rng.choice(paths)
    options = DumpOptions(
        print_data_log=rng.random() < 0.8,
        deep_iteration=rng.random() < 0.5,
        skip_record_metadata=rng.random() < 0.1,
        index_sanity_check=rng.random() < 0.2,
        verify_index_only=rng.random() < 0.2,
        decoder=rng.choice(DECODERS),
    )
    size = 0
    try:
        for text in dump([path], options, DiskFiles(disk, {}), lambda line: None):
            size += len(text)
            assert size < MAX_OUTPUT
    except Thrown as thrown:
        assert JAVA_CLASS.fullmatch(thrown.java_class)
        assert SENTENCE.fullmatch(thrown.sentence), thrown.sentence


def check_loading(disk: SimulatedDisk, rng: random.Random) -> None:
    """Opening, which reads indexes, snapshots and checkpoints, and repairs; then reading all that is there."""
    is_clean = rng.random() < 0.5
    try:
        log = UnifiedLog.load(
            disk,
            DIRECTORY,
            "orders",
            0,
            CONFIG,
            now_ms=1000,
            clean_shutdown=is_clean,
            recovery_point=rng.choice((0, 0, 20)),
        )
    except KafkaException as refusal:
        assert DIRECTORY in str(refusal), refusal
        return
    offset = log.log_start_offset
    for _ in range(STUCK_AFTER_READS):
        if offset >= log.log_end_offset:
            break
        read = log.read(offset, MAX_BYTES)
        if not is_clean:
            # The checked batch is valid according to its CRC.
            assert read.data or read.next_offset == offset
        try:
            list(iterate(read.data))
        except ValueError as error:
            assert str(error)
        if read.next_offset <= offset:
            break
        offset = read.next_offset


@pytest.mark.soak
@pytest.mark.parametrize("part", range(ROUNDS_A_TEST))
def test_dump_tool_and_loaders_survive_any_bytes(part: int, rounds: Callable[[int], int]) -> None:
    count = rounds(MUTATIONS) // ROUNDS_A_TEST
    for number in range(part * count, (part + 1) * count):
        rng = random.Random(number)
        disk, name = damaged(rng)
        try:
            check_dump(disk, name, rng)
            check_loading(disk, rng)
        except Exception as error:
            raise AssertionError(f"mutation {number} of {name}: {type(error).__name__}: {error}") from error


def test_seeds_include_every_kind_of_file() -> None:
    suffixes = {Path(name).suffix for seed in SEEDS for name in seed.files}
    assert {".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".metadata", ""} <= suffixes
    magics = {
        content[16] for seed in SEEDS for name, content in seed.files.items() if name.endswith(".log") and content
    }
    assert magics == {0, 1, 2}
