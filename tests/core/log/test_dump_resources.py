"""What a dump of large or hostile files takes of memory and time."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import BatchHeader, build_batch, stamp
from broker_core.records.varint import encode_varlong
from tests.support.log_files import GOOD, batch_of, dump_command
from tests.support.paths import ROOT

NAME = "00000000000000000000.log"
MIB = 1 << 20
MAX_MEMORY = 250 * MIB
MISMATCHES = 20_000


def write_sparsely(path: Path, batch: bytes, hole: int, copies: int) -> None:
    """Copies of a batch one behind the other; `hole` bytes at the end of each, which are zero, are not written."""
    header = BatchHeader(*struct.unpack_from(">qiiBIhiqqqhii", batch))
    with path.open("wb") as file:
        for number in range(copies):
            file.seek(number * len(batch))
            file.write(stamp(batch[: len(batch) - hole], number, 0)[:8] + batch[8 : len(batch) - hole])
        file.truncate(copies * len(batch))
    assert header.size == len(batch)


def measured(*arguments: str) -> tuple[int, int, str]:
    """Exit code, most bytes of memory, standard error of a dump whose output goes nowhere."""
    script = (
        "import re, sys\n"
        "from lab.management.commands.dump_log import run\n"
        "code = run(sys.argv[1:], open('/dev/null', 'w'), sys.stderr)\n"
        # not ru_maxrss, which begins with what the process had that started this one
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())\n"
        "print(code, int(peak[1]) * 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    code, most = map(int, done.stdout.split())
    return code, most, done.stderr


def test_memory_of_a_dump_does_not_depend_on_the_size_of_the_log(tmp_path: Path) -> None:
    value = bytes(MIB - 128)
    batch = build_batch([(0, None, value, ())])
    log = tmp_path / NAME
    write_sparsely(log, batch, len(value), 5 * MAX_MEMORY // 4 // len(batch))
    code, most, err = measured("--files", str(log), "--print-data-log")
    assert (code, err) == (0, "")
    assert most < MAX_MEMORY


def test_one_batch_larger_than_the_memory(tmp_path: Path) -> None:
    """Its header can be shown; a record of that size cannot, neither here nor with Kafka's 256 MB."""
    value = 2 * MAX_MEMORY - 4096
    # Attributes, deltas, a null key; then the value's length, the value, and no headers.
    fields = b"\0\0\0\1" + encode_varlong(value)
    head = bytearray(batch_of(encode_varlong(len(fields) + value + 1) + fields))
    total = len(head) + value + 1
    struct.pack_into(">i", head, 8, total - 12)
    log = tmp_path / NAME
    log.write_bytes(head)
    os.truncate(log, total)
    code, most, err = measured("--files", str(log))
    assert (code, err) == (0, "")
    assert most < MAX_MEMORY
    code, most, err = measured("--files", str(log), "--deep-iteration")
    assert code == 1
    assert "java.lang.OutOfMemoryError: Java heap space" in err
    assert f"{log}, byte 0: a record may have 67108864 bytes, this one has" in err
    assert most < MAX_MEMORY


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.ZSTD, CompressionType.LZ4])
def test_small_batch_that_decompresses_to_a_lot(codec: CompressionType, tmp_path: Path) -> None:
    records = [(0, None, bytes(100_000), ())] * 1400
    log = tmp_path / NAME
    log.write_bytes(build_batch(records, compression=codec))
    code, most, err = measured("--files", str(log), "--deep-iteration")
    assert most < 2 * MAX_MEMORY
    if codec is CompressionType.ZSTD:
        assert "the zstd data of a batch may have 134217728 bytes decompressed, it has more" in err
    else:
        assert (code, err) == (0, "")


def test_many_mismatches_do_not_exhaust_memory(tmp_path: Path) -> None:
    log = tmp_path / NAME
    log.write_bytes(b"".join(stamp(GOOD, 2 * number, 0) for number in range(MISMATCHES)))
    code, _, err = dump_command("--files", str(log), "--deep-iteration")
    assert code == 0
    lines = err.splitlines()
    assert lines[0] == f"Non-consecutive offsets in {log}"
    assert lines[1] == f"  {2 * MISMATCHES - 4} is followed by {2 * MISMATCHES - 2}"
    assert lines[-1] == "  0 is followed by 2"
    assert len(lines) == MISMATCHES


def test_time_index_check_of_a_long_log_is_not_quadratic(tmp_path: Path) -> None:
    """Without an offset index every entry would be looked for from the start of the log."""
    batches = 40_000
    log = tmp_path / NAME
    log.write_bytes(b"".join(stamp(GOOD, number, 0) for number in range(batches)))
    (tmp_path / "00000000000000000000.index").touch()
    entries = b"".join(struct.pack(">qi", 5, number) for number in range(1, batches))
    (tmp_path / "00000000000000000000.timeindex").write_bytes(entries)
    code, out, err = dump_command("--files", f"{tmp_path}/00000000000000000000.timeindex")
    assert code == 0
    assert out.count("\n") == batches
    assert err.splitlines()[0] == f"Found out of order timestamp in :{tmp_path}/00000000000000000000.timeindex"
