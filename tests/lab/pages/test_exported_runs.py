"""A run is exported as one file and imported elsewhere; a file that is not such an export leaves nothing behind."""

import io
import json
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from broker_core.records.record_batch import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    HEADER_BYTES,
    crc32c_of,
    iterate_batches,
)
from lab.archives import manifest as format
from lab.archives import zips
from lab.management.commands import dump_log
from lab.texts.refusal import Refusal
from lab.web import body_limit
from tests.support.lab_server import LabServer, Visitor

SCRIPT = (
    "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
    "producer open p1 --acks all",
    "producer send p1 orders-0 k:first k:second",
)
Entries = dict[str, bytes]


@pytest.fixture(scope="module")
def exported(lab_server: LabServer) -> tuple[str, bytes]:
    """A run with a fork and a bookmark, and its file."""
    visitor = Visitor(lab_server).sign_in()
    run = visitor.new_run(name="Carried ünd run", seed="7")
    with visitor.socket(run) as socket:
        socket.play(SCRIPT)
    commands = visitor.get(f"/api/runs/{run}/main/commands").json
    bookmark = {"seq": commands[1]["seq"], "name": "here"}
    assert visitor.post_json(f"/api/runs/{run}/main/bookmark", bookmark).status == 200
    assert visitor.post_json(f"/api/runs/{run}/main/fork", {"seq": commands[2]["seq"]}).status == 200
    answer = visitor.get(f"/runs/{run}/export")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="Carried-nd-run.hwrun"')
    return run, answer.body


def entries_of(data: bytes) -> Entries:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def packed(entries: Entries) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return target.getvalue()


def described(entries: Entries, **changes: Any) -> Entries:
    """With a manifest that matches the entries."""
    files = {
        name: {"bytes": len(content), "sha256": format.digest_of(io.BytesIO(content)).sha256}
        for name, content in entries.items()
        if name != format.MANIFEST
    }
    manifest = {**json.loads(entries[format.MANIFEST]), "files": files, **changes}
    return {**entries, format.MANIFEST: json.dumps(manifest).encode()}


def test_imported_run_is_the_one_that_was_exported(visitor: Visitor, exported: tuple[str, bytes]) -> None:
    run, data = exported
    answer = visitor.post_file("/runs/import", data)
    assert answer.status == 200 and "/main" in answer.url, answer.text
    imported = re.findall(r"/r/([a-z0-9]+)/main", answer.url)[0]
    assert imported != run
    before, after = (visitor.get(f"/api/runs/{one}/main/contents").json for one in (run, imported))
    assert after == before and after["orders-0@b1"] == {"0": "k:first", "1": "k:second"}
    for what in ("commands", "segments/0.json"):
        assert visitor.get(f"/api/runs/{imported}/main/{what}").body == visitor.get(f"/api/runs/{run}/main/{what}").body
    again = visitor.get(f"/runs/{imported}/export").body
    assert entries_of(again)[format.MANIFEST] == entries_of(data)[format.MANIFEST]
    assert json.loads(entries_of(data)[format.MANIFEST])["branches"][0]["bookmarks"][0]["name"] == "here"
    # It continues where it was: the cluster is rebuilt from the inputs.
    with visitor.socket(imported, "main-2") as socket:
        socket.play(["producer send p1 orders-0 k:third"])


def test_log_in_an_exported_file_is_read_by_the_dump_tool(
    exported: tuple[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "branches/main/events-0/00000000000000000000.log"
    log = tmp_path / "events-0" / Path(name).name
    log.parent.mkdir()
    log.write_bytes(entries_of(exported[1])[name])
    with pytest.raises(SystemExit) as ended:
        dump_log.Command().run_from_argv(["manage.py", "dump_log", "--files", str(log), "--print-data-log"])
    assert ended.value.code == 0
    assert '"ZnodeCreated","/brokers/topics/orders"' in capsys.readouterr().out


def test_export_needs_the_right_to_it(exported: tuple[str, bytes], other_visitor: Visitor) -> None:
    assert other_visitor.get(f"/runs/{exported[0]}/export").status == 404


def _link(entries: Entries) -> bytes:
    target = io.BytesIO(packed(entries))
    with zipfile.ZipFile(target, "a") as archive:
        entry = zipfile.ZipInfo("branches/main/identity.json2")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return target.getvalue()


def _cut_log(entries: Entries) -> Entries:
    name = "branches/main/events-0/00000000000000000000.log"
    return described({**entries, name: entries[name][:-10]})


def _flipped_log(entries: Entries, at: float = 0.5) -> Entries:
    name = "branches/main/events-0/00000000000000000000.log"
    content = bytearray(entries[name])
    content[int(len(content) * at)] ^= 1
    return described({**entries, name: bytes(content)})


def _damaged(entries: Entries) -> bytes:
    """Damaged where it is compressed."""
    data = bytearray(packed(entries))
    name = b"branches/main/events-0/00000000000000000000.log"
    at = data.index(name) + len(name)
    data[at : at + 8] = b"\xff" * 8
    return bytes(data)


def _of_many_records(entries: Entries) -> Entries:
    """A batch that says to have more records than it has; its digest is right."""
    name = "branches/main/events-0/00000000000000000000.log"
    log = entries[name]
    (*_, (position, header)) = iterate_batches(log)
    end = position + header.size
    batch = bytearray(log[position:end])
    batch[HEADER_BYTES - 4 : HEADER_BYTES] = (header.record_count + 50).to_bytes(4, "big")
    batch[CRC_POSITION : CRC_POSITION + 4] = crc32c_of(bytes(batch), ATTRIBUTES_POSITION, len(batch)).to_bytes(4, "big")
    return described({**entries, name: bytes(batch) + log[end:]})


def _odd_header(entries: Entries) -> Entries:
    return {**entries, "branches/main/events-0/00000000000000000001.log": b""}


BAD: dict[str, Callable[[Entries], Entries | bytes]] = {
    "not a zip": lambda entries: b"PK nothing",
    "cut": lambda entries: packed(entries)[:-200],
    "no manifest": lambda entries: {name: content for name, content in entries.items() if name != format.MANIFEST},
    "rubbish manifest": lambda entries: {**entries, format.MANIFEST: b"[1"},
    "newer": lambda entries: described(entries, version=2),
    "another kind": lambda entries: described(entries, kind="highwater class"),
    "unknown era": lambda entries: described(entries, era="9.9"),
    "dots": lambda entries: described({**entries, "branches/../../up.log": b"x"}),
    "absolute": lambda entries: described({**entries, "/tmp/up.log": b"x"}),
    "pickle": lambda entries: described({**entries, "branches/main/checkpoints/1.checkpoint": b"cos\nsystem\n"}),
    "undeclared": lambda entries: {**entries, "branches/main/vocabulary.jsonl": b"{}"},
    "other branch": lambda entries: described({**entries, "branches/else/identity.json": b"{}"}),
    "fork of nothing": lambda entries: described(entries, branches=[{"name": "main", "last_seq": 5, "parent": "x"}]),
    "link": _link,
    "torn log": _cut_log,
    "flipped digit": _flipped_log,
    **{f"flipped digit at {at} %": partial(_flipped_log, at=at / 100) for at in range(1, 100, 7)},
    "undeclared segment": _odd_header,
    "damaged where it is compressed": _damaged,
    "fewer records than said": _of_many_records,
    "nested manifest": lambda entries: {**entries, format.MANIFEST: b'{"x":' + b"[" * 100_000},
    "nested vocabulary": lambda entries: described(
        {**entries, "branches/main/vocabulary.jsonl": b'{"x":' + b"[" * 100_000}
    ),
    "many": lambda entries: {**entries, **{f"branches/b{n}/identity.json": b"" for n in range(format.MAX_FILES)}},
}


@pytest.fixture
def untouched() -> Iterator[None]:
    """No folder may be left."""
    before = sorted(settings.RUNS.iterdir())
    yield
    assert sorted(settings.RUNS.iterdir()) == before


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_an_exported_run_is_refused_and_leaves_nothing(
    name: str, visitor: Visitor, exported: tuple[str, bytes], untouched: None
) -> None:
    damaged = BAD[name](entries_of(exported[1]))
    answer = visitor.post_file("/runs/import", damaged if isinstance(damaged, bytes) else packed(damaged))
    assert answer.status == 400, answer.url
    assert 'id="import-error"' in answer.text and "refusal." not in answer.text
    assert str(settings.RUNS) not in answer.text


def test_archive_that_unpacks_to_more_than_declared_is_stopped(
    visitor: Visitor, exported: tuple[str, bytes], untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = entries_of(exported[1])
    name = "branches/main/vocabulary.jsonl"
    bomb = {**described(entries), name: b" " * 30_000_000}
    assert "differs" in visitor.post_file("/runs/import", packed(bomb)).text
    monkeypatch.setattr(zips, "MAX_BYTES", 1000)
    assert "unpacks to" in visitor.post_file("/runs/import", exported[1]).text


def test_import_without_a_file_and_a_body_beyond_the_limit_are_refused(
    visitor: Visitor, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No file was chosen" in visitor.post("/runs/import").text
    monkeypatch.setattr(body_limit, "MAX_BODY_BYTES", 100_000)
    assert visitor.post_file("/runs/import", b"x" * 200_000).status == 413


def test_zip_with_a_position_before_its_beginning_is_refused(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("manifest.json", b"{}")
    data = bytearray(made.getvalue())
    at = data.rindex(b"PK\x05\x06") + 16
    data[at : at + 4] = (5_000).to_bytes(4, "little")
    file = tmp_path / "run.zip"
    file.write_bytes(data)
    for source in (io.BytesIO(data), file.open("rb")):
        with source, pytest.raises(Refusal) as refused, zips.opened_zip(source) as archive:
            archive.read("manifest.json")
        assert refused.value.status == 400
