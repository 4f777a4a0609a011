"""The dump tool prints what a real Kafka's prints of sound and of damaged files, and takes the same memory for all."""

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broker_core.events.console import CommandPrinted
from broker_core.log.dump import DumpOptions, LocalFiles, Thrown, dump
from broker_core.log.dump.java import decode, decode_in_pieces, scala_hash_order, split
from broker_core.log.dump.metadata_frames import CLUSTER_TYPES, metadata_parser
from broker_core.log.dump.records import DumpedRecord
from broker_core.records.compression import CompressionType
from broker_core.records.record import record_parts
from broker_core.records.record_batch import build_batch
from broker_core.shell.grammar.parser import ParsedOptions
from broker_core.shell.tools.kafka.dump_log import OPTIONS, dump_options
from devtools.oracle.golden_dump import compare_dumps, main
from tests.support.log_files import GOOD, batch_of, dump_command
from tests.support.paths import DATA, ROOT
from tests.support.shell_runs import ShellRun

CASES = sorted({path.parents[2] for path in DATA.glob("*/*/dump/*/*.txt")})
ANSWERS: list[dict[str, Any]] = json.loads((DATA / "dump" / "answers.json").read_text(encoding="utf-8"))
NAME = "00000000000000000000.log"
MIB = 1 << 20
GIB = 1 << 30
MAX_MEMORY = 250 * MIB


def dumped(path: Path, *options: str) -> tuple[str, list[str], Thrown | None]:
    """Standard output, standard error, and what the tool died of."""
    text: list[str] = []
    errors: list[str] = []
    parsed = dump_options(ParsedOptions(OPTIONS).parse(options))
    try:
        for part in dump([str(path)], parsed, LocalFiles(), errors.append):
            text.append(part)
    except Thrown as thrown:
        return "".join(text), errors, thrown
    return "".join(text), errors, None


# what a real Kafka's tool printed


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_dump_matches_the_output_recorded_beside_real_files(case: Path) -> None:
    assert compare_dumps(case) > 0


@pytest.mark.parametrize("number", range(len(ANSWERS)), ids=lambda number: f"{ANSWERS[number]['kind']}-{number}")
def test_dump_of_damaged_files_matches_the_real_tool(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ANSWERS[number]
    for name, content in answer["files"].items():
        (tmp_path / name).write_bytes(base64.b64decode(content))
    monkeypatch.chdir(tmp_path)
    text, errors, thrown = dumped(Path(answer["file"]), *answer["options"])
    here = str(tmp_path)
    assert text.replace(here, "<dir>") == answer["out"]
    assert "".join(f"{line}\n" for line in errors).replace(here, "<dir>") == answer["err"]
    assert ("" if thrown is None else str(thrown)).replace(here, "<dir>") == answer["exception"]
    if thrown is not None:
        assert answer["file"] in thrown.sentence


def test_comparison_detects_a_different_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = shutil.copytree(DATA / "golden" / "01-plain", tmp_path / "01-plain")
    assert main(["--dir", str(tmp_path)]) == 0
    text = sorted(case.glob("dump/*/*.log.txt"))[0]
    text.write_text(text.read_text().replace("isvalid: true", "isvalid: false", 1))
    assert main(["--dir", str(tmp_path)]) == 1
    assert f"FAIL 01-plain: {text.relative_to(case)}, line 3:" in capsys.readouterr().out
    assert main(["--dir", str(tmp_path), "--cases", "99"]) == 2
    assert main(["--dir", str(tmp_path / "none")]) == 2


def test_text_is_decoded_as_java_does() -> None:
    # Recorded from `new String(bytes, UTF_8)`.
    assert decode(b"a\xed\xa0\x80b") == "a\ufffdb"
    assert decode(b"\xed\xa0") == "\ufffd"
    assert decode(b"\xed\xa0a") == "\ufffda"
    assert decode(b"\xe2\x28\xa1") == "\ufffd(\ufffd"
    assert decode(b"\xf0\x9f\x98") == "\ufffd"
    assert decode(b"\xc0\x80") == "\ufffd\ufffd"
    assert decode("é组😀".encode()) == "é组😀"


def test_long_text_is_truncated_between_characters() -> None:
    text = "ab😀" * MIB
    pieces = list(decode_in_pieces(text.encode()))
    assert len(pieces) > 4
    assert "".join(pieces) == text


def test_order_and_format_match_scala_and_java() -> None:
    assert scala_hash_order([17, 1, 0, 33, -1], 16) == [4, 2, 1, 0, 3]
    assert (split(",a,,b,,", ","), split(",,", ","), split("", ",")) == (["", "a", "", "b"], [], [""])


# the command


def test_command_line_outside_the_lab(tmp_path: Path) -> None:
    partition = DATA / "golden" / "01-plain" / "log" / "plain-0"
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "dump_log", "plain-0/" + NAME],
        cwd=partition.parent,
        capture_output=True,
        check=False,
    )
    wanted = (DATA / "golden" / "01-plain" / "dump" / "plain-0" / f"{NAME}.txt").read_bytes()
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == wanted


def test_closed_pipe_ends_the_dump_without_a_traceback(tmp_path: Path) -> None:
    log = tmp_path / NAME
    log.write_bytes(build_batch([(0, None, b"v" * 90, ())] * 20_000))
    dump_log = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "dump_log", str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert dump_log.stdout is not None and dump_log.stderr is not None
    dump_log.stdout.readline()
    dump_log.stdout.close()
    assert dump_log.stderr.read() == b""
    assert dump_log.wait() == 1


def test_with_files_the_command_behaves_as_the_original(tmp_path: Path) -> None:
    log = tmp_path / NAME
    log.write_bytes(build_batch([(5, b"k", b"v", ())])[:-1])
    code, out, err = dump_command("--files", str(log))
    assert (code, err) == (0, "")
    assert out.splitlines()[2] == f"Found 69 invalid bytes at the end of {NAME}"
    missing = tmp_path / "00000000000000000009.index"
    code, out, err = dump_command("--files", f"{log},{missing}")
    assert code == 1
    assert out.splitlines()[-1] == f"Dumping {missing}"
    log_path = f"{tmp_path}/00000000000000000009.log"
    assert err.splitlines() == [
        f'Exception in thread "main" java.nio.file.NoSuchFileException: {log_path}',
        f"{log_path}: there is no such file.",
    ]


def test_files_alone_are_dumped_with_their_records(tmp_path: Path) -> None:
    log = tmp_path / NAME
    log.write_bytes(build_batch([(5, b"k", b"v", (("h", b"1"), ("g", None)))]))
    code, out, err = dump_command(str(log), str(tmp_path / "1.log"))
    assert code == 1
    assert out.splitlines()[3] == (
        "| offset: 0 CreateTime: 5 keySize: 1 valueSize: 1 sequence: -1 headerKeys: [h,g] key: k payload: v"
    )
    assert out.splitlines()[-1] == f"EXCEPTION java.nio.file.NoSuchFileException: {tmp_path / '1.log'}"
    assert err == f"{tmp_path / '1.log'}: there is no such file.\n"


def test_invalid_arguments_are_reported(tmp_path: Path) -> None:
    assert dump_command("--version") == (0, "3.9.1\n", "")
    for arguments, first in (
        ((), 'Missing required argument "[files]"'),
        (("--help",), "This tool helps to parse a log file"),
        (("--nonsense",), 'Exception in thread "main" joptsimple.UnrecognizedOptionException: nonsense is not'),
        (("--cluster-metadata-decoder",), 'Missing required argument "[files]"'),
    ):
        code, out, err = dump_command(*arguments)
        assert (code, out) == (1, "")
        assert err.startswith(first)
    (tmp_path / NAME).write_bytes(b"")
    code, out, err = dump_command("--files", str(tmp_path / NAME), "--max-bytes", "much")
    assert (code, out) == (1, f"Dumping {tmp_path / NAME}\n")
    assert err.splitlines()[0].endswith("Cannot parse argument 'much' of option max-bytes")


# bad input


RECORD = b"".join(record_parts(0, 0, b"k", b"v"))

BAD: dict[str, tuple[str, bytes, str]] = {
    "no suffix": ("00000000000000000000", b"", "the name must have a suffix"),
    "no offset": ("orders.log", b"", "the name must begin with an offset and a dot"),
    "too large an offset": ("9223372036854775808.log", b"", "the name must begin with an offset"),
    "a short length": (NAME, b"\0" * 8 + b"\0\0\0\x03" + b"\0" * 60, ", byte 0: the length field of a batch says at"),
    "behind a sound one": (
        NAME,
        GOOD + b"\0" * 70,
        f", byte {len(GOOD)}: the length field of a batch says at least 14",
    ),
    "an unknown codec": (NAME, batch_of(RECORD, CompressionType(4)).replace(b"\0\x04", b"\0\x06", 1), "codecs have"),
    "a count below zero": (NAME, batch_of(RECORD, count=-1), ", byte 0: a batch has 0 records or more"),
    "too many records": (NAME, batch_of(RECORD, count=2), "the batch ends before its last record"),
    "too few records": (NAME, batch_of(RECORD * 2), "bytes follow the last of 1 records"),
    "too long a record": (NAME, batch_of(b"\x7e" + RECORD), "a record claims 63 bytes, 9 are left"),
    "no gzip": (NAME, batch_of(b"rubbish rubbish", CompressionType.GZIP), "the gzip data of the batch is damaged"),
    "half a gzip": (
        NAME,
        batch_of(gzip.compress(RECORD * 9)[:20], CompressionType.GZIP, 9),
        "(Unexpected end of ZLIB input stream)",
    ),
    "no lz4": (NAME, batch_of(b"rubbish rubbish", CompressionType.LZ4), "(Stream unsupported (invalid magic bytes))"),
    "no zstd": (NAME, batch_of(b"rubbish rubbish", CompressionType.ZSTD), "the zstd data of the batch is damaged"),
    "no snappy": (
        NAME,
        batch_of(b"rubbish rubbish", CompressionType.SNAPPY),
        "the snappy data of the batch is damaged",
    ),
    "an index without a log": ("00000000000000000007.index", bytes(8), "00000000000000000007.log: there is no such"),
    "a control record without key": (
        NAME,
        build_batch([(0, None, b"v", ())], is_control=True, is_transactional=True),
        "a control record has a key and a value",
    ),
    "another version of aborted transactions": (
        "0.txnindex",
        b"\1" + bytes(33),
        ", byte 0: the version of an entry is 0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_error_names_file_position_and_rule(name: str, tmp_path: Path) -> None:
    file, content, rule = BAD[name]
    (tmp_path / file).write_bytes(content)
    code, out, err = dump_command(str(tmp_path / file))
    assert code == 1
    assert out.splitlines()[-1].startswith("EXCEPTION java.") or "EXCEPTION org." in out.splitlines()[-1]
    assert err.startswith(str(tmp_path / file).rpartition("/")[0])
    assert rule in err
    assert err.count("\n") == 1 and err.endswith(".\n")


def test_file_that_is_not_a_log_has_no_batches(tmp_path: Path) -> None:
    text = b"2026-01-01 INFO nothing here is a batch of records\n" * 9
    (tmp_path / NAME).write_bytes(text)
    code, out, _ = dump_command("--files", str(tmp_path / NAME))
    assert code == 0
    assert out.splitlines()[-1] == f"Found {len(text)} invalid bytes at the end of {NAME}"


def test_index_that_belongs_to_another_log(tmp_path: Path) -> None:
    golden = DATA / "golden" / "03-roll-size" / "log"
    indexes = [path for path in sorted(golden.glob("*/*.index")) if path.stat().st_size]
    log = tmp_path / NAME
    log.write_bytes(GOOD)
    shutil.copy(indexes[-1], tmp_path / "00000000000000000000.index")
    code, _, err = dump_command("--files", f"{tmp_path}/00000000000000000000.index")
    assert code == 1
    assert "00000000000000000000.index, byte 0: the entry says offset" in err
    assert "is past the end of the log, which has 70 bytes." in err


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_paths_that_are_not_regular_files_are_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / NAME)
    code, _, err = dump_command(str(tmp_path / NAME))
    assert (code, err) == (1, f"{tmp_path / NAME}: this is no regular file.\n")


def test_file_of_more_than_two_gibibytes(tmp_path: Path) -> None:
    log = tmp_path / NAME
    log.touch()
    os.truncate(log, 2 * GIB)
    _, _, thrown = dumped(log)
    assert thrown is not None
    assert thrown.message == (
        f"The size of segment {log} (2147483648) is larger than the maximum allowed segment size of 2147483647"
    )


# in a run


def test_tool_in_a_run() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 2")
    shell.at("kafka-console-producer.sh --topic orders", "one", "two\\nlines")
    printed = shell.at(f"kafka-dump-log.sh --files broker-2/orders-0/{NAME} --print-data-log")
    assert printed[0] == f"Dumping broker-2/orders-0/{NAME}"
    assert printed[1] == "Log starting offset: 0"
    assert printed[-1].endswith("payload: two\\nlines")
    assert shell.exit_code == 0
    for outside in ("../../etc/0.log", "/etc/0.log", f"broker-2/../broker-2/orders-0/{NAME}", "broker-2/orders-0"):
        printed = shell.at(f"kafka-dump-log.sh --files {outside}")
        assert shell.exit_code == 1
        assert printed[-1].startswith(("! java.nio.file.NoSuchFileException", "! java.lang.StringIndexOutOf"))


def test_long_dump_in_a_run_comes_in_parts() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1")
    shell.at("kafka-console-producer.sh --topic orders", *(f"value-{number}" for number in range(700)))
    number = shell.run.submit(f"kafka-dump-log.sh --files broker-1/orders-0/{NAME} --print-data-log", "test")
    began = shell.run.view["console"][str(number)]
    assert began["state"] == "running"
    shell.after(0.1)
    done = shell.run.view["console"][str(number)]
    assert (done["state"], done["exit_code"]) == ("done", 0)
    parts = [event.lines for event in shell.events(CommandPrinted) if event.command == number]
    assert len(parts) > 1
    assert sum("payload: value-" in line for lines in parts for line in lines) == 700


def test_completion_of_files() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1")
    line = "kafka-dump-log.sh --files "
    complete = shell.run.complete
    assert complete(line, len(line))[1] == ["broker-1/", "broker-2/", "broker-3/"]
    line += "broker-1/orders-0/000"
    folder = "broker-1/orders-0/00000000000000000000"
    assert complete(line, len(line))[1] == [f"{folder}.index", f"{folder}.log", f"{folder}.timeindex"]
    line = f"kafka-dump-log.sh --files {folder}.log,broker-1/o"
    assert complete(line, len(line))[1] == [f"{folder}.log,broker-1/orders-0/"]
    line = "kafka-dump-log.sh --print-data-log --value-decoder-class org.apache.kafka.tools.api.L"
    assert complete(line, len(line))[1] == ["org.apache.kafka.tools.api.LongDecoder"]


def test_unsupported_options_are_reported() -> None:
    assert DumpOptions().max_bytes() == (1 << 31) - 1
    printed = ShellRun().at("help kafka-dump-log.sh")
    assert any("--transaction-log-decoder" in line for line in printed)


def test_numbers_of_a_metadata_frame_are_wrapped_to_a_short() -> None:
    """0x80010001 is negative, so no limit refuses it, and a short of it is frame version 1."""
    record = DumpedRecord(0, 0, None, b"\x81\x80\x84\x80\x08", -1, 5)
    _, says = metadata_parser("", CLUSTER_TYPES, copies_value=False)(record)
    assert says is not None and "".join(says) == "Error at 0, skipping. Error while reading type"
